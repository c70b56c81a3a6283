// What the pages of the cases are made of. `log` is what ran, in order.
import {
  CopilotTask,
  useCoAgent,
  useCoAgentStateRender,
  useCopilotAction,
  useCopilotContext,
  useCopilotReadable,
  useLangGraphInterrupt,
} from "@copilotkit/react-core";
import * as later from "@copilotkit/react-core/v2";
import { CopilotTextarea } from "@copilotkit/react-textarea";
import { useCopilotChatSuggestions } from "@copilotkit/react-ui";
import { useEffect, useState } from "react";

export const log = [];

const words = (name) => [{ name, type: "string", description: `The ${name}.` }];

// What the page can do; `result` is a function of what the model gave it.
const ability = (name, parameter, result) => ({
  name,
  description: `The page's ${name}.`,
  parameters: words(parameter),
  handler: async (given) => {
    log.push([name, given]);
    return result(given);
  },
});

export const action = (name, parameter, result, more = {}) =>
  function Action() {
    useCopilotAction({ ...ability(name, parameter, result), ...more });
    return null;
  };

// A card for a tool that runs at the server.
export const card = (name) =>
  function Card() {
    useCopilotAction({
      name,
      available: "disabled",
      render: ({ status, args, result }) => (
        <div data-card={name}>{JSON.stringify({ status, args, result: result ?? null })}</div>
      ),
    });
    return null;
  };

// A card for an action of the page, which notes every status that it was shown with.
export const watched = (name, parameter, result) =>
  action(name, parameter, result, {
    render: ({ status, args, result: given }) => <Watched {...{ name, status, args, given }} />,
  });

function Watched({ name, status, args, given }) {
  const seen = JSON.stringify(args);
  useEffect(() => {
    log.push([status, JSON.parse(seen)]);
  }, [status, seen]);
  return (
    <div data-card={name}>
      {status}: {given === undefined ? "" : String(given)}
    </div>
  );
}

export function Decision() {
  useCopilotAction({
    name: "locate",
    description: "Asks the person.",
    parameters: words("detail"),
    renderAndWaitForResponse: ({ args, status, respond }) => (
      <div data-card="decision">
        {status} {args.detail}
        {status === "executing" && <button onClick={() => respond("Rome")}>Say Rome</button>}
      </div>
    ),
  });
  return null;
}

export const question = (answer) =>
  function Question() {
    useLangGraphInterrupt({
      render: ({ event, resolve }) => (
        <div data-card="question">
          {typeof event.value === "string" ? event.value : JSON.stringify(event.value)}
          <button onClick={() => resolve(answer)}>Answer</button>
        </div>
      ),
    });
    return null;
  };

// The same by the hook of the newest generation.
export const interrupt = (answer) =>
  function Interrupt() {
    later.useInterrupt({
      render: ({ event, resolve }) => (
        <div data-card="question">
          {JSON.stringify(event.value)}
          <button onClick={() => resolve(answer)}>Answer</button>
        </div>
      ),
    });
    return null;
  };

export function State() {
  const { state, running } = useCoAgent({ name: "default", initialState: {} });
  return (
    <div data-card="state">
      {JSON.stringify(state ?? null)} {String(running)}
    </div>
  );
}

// The state as a message of the chat.
export function StateInChat() {
  useCoAgentStateRender({
    name: "default",
    render: ({ state }) => <div data-card="planned">{state?.planned ?? "nothing"}</div>,
  });
  return null;
}

export function Suggestions() {
  useCopilotChatSuggestions({ instructions: "What one says here.", minSuggestions: 2, maxSuggestions: 2 });
  return null;
}

export function Task() {
  const context = useCopilotContext();
  const run = async () => {
    const actions = [ability("locate", "detail", () => "Oslo")];
    await new CopilotTask({ instructions: "Find me.", actions }).run(context);
    log.push(["ran"]);
  };
  return <button onClick={run}>Run the task</button>;
}

export function Textarea() {
  const [value, setValue] = useState("Dear ");
  return (
    <CopilotTextarea
      value={value}
      onValueChange={setValue}
      autosuggestionsConfig={{
        textareaPurpose: "A letter.",
        debounceTime: 20,
        temporarilyDisableNotTrustedEvents: false,
        temporarilyDisableWhenMovingCursorWithoutChangingText: false,
        chatApiConfigs: { suggestionsApiConfig: { maxTokens: 20, stop: ["."] } },
      }}
    />
  );
}

export function Readable() {
  useCopilotReadable({ description: "The person's colour", value: { colour: "mauve" } });
  return null;
}

export const all = (...parts) =>
  function All() {
    return parts.map((Part, number) => <Part key={number} />);
  };
