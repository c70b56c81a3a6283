import { useState } from "react";
import { useAgentContext, useFrontendTool, useInterrupt, useRenderTool } from "@copilotkit/react-core/v2";
import { z } from "zod";

import { Approval, OrderCard } from "./cards";
import { Earlier } from "./earlier";

const ORDERS = [
  { number: "A7", item: "Desk lamp", status: "on its way" },
  { number: "B2", item: "Bookshelf", status: "packed" },
  { number: "C9", item: "Armchair", status: "delivered" },
];

export function Desk() {
  const [shown, setShown] = useState("all");
  const orders = ORDERS.filter((order) => shown === "all" || order.status === shown);

  // What the person sees, the model sees.
  useAgentContext({ description: "The orders that the page shows", value: orders });

  // The model may change the page: this runs here, in the browser.
  useFrontendTool({
    name: "show_orders",
    description: "Show only the orders of one status on the page, or all of them.",
    parameters: z.object({ status: z.enum(["all", "packed", "on its way", "delivered"]) }),
    handler: async ({ status }) => {
      setShown(status);
      return `The page shows: ${status}.`;
    },
  });

  // This runs on the server, in shop.py; the page draws it.
  useRenderTool({
    name: "find_order",
    parameters: z.object({ number: z.string() }),
    render: ({ parameters, result }) => <OrderCard number={parameters.number} result={result} />,
  });

  // So does this, but a person is asked first: `@tool(confirm=True)`.
  useInterrupt({
    render: ({ interrupt, resolve }) => (
      <Approval question={interrupt?.message ?? ""} onAnswer={(approved) => resolve({ approved })} />
    ),
  });

  return (
    <main>
      <h1>Order desk</h1>
      <p>
        Showing: <b data-testid="shown">{shown}</b>
      </p>
      <ul data-testid="orders">
        {orders.map(({ number, item, status }) => (
          <li key={number}>
            <b>{number}</b> {item} <i>{status}</i>
          </li>
        ))}
      </ul>
      <p>
        Ask: <q>Where is A7?</q> <q>Show what was delivered.</q> <q>Cancel B2.</q>
      </p>
      <Earlier />
    </main>
  );
}
