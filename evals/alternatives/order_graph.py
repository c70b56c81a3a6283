"""The order as a LangGraph graph: two effects at an HTTP API, then words. Run by LangGraph's own environment."""

import importlib
import os
from typing import Any

from typing_extensions import TypedDict

# Only the peer's environment has them; the type checker's has not.
graphs: Any = importlib.import_module("langgraph.graph")
httpx: Any = importlib.import_module("httpx")


class OrderState(TypedDict, total=False):
    steps: list[str]


async def post_effect(state: OrderState, path: str) -> dict[str, Any]:
    async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
        await client.post(f"{os.environ['SINK_URL']}{path}")
    return {"steps": [*state.get("steps", []), path]}


async def order(state: OrderState) -> dict[str, Any]:
    return await post_effect(state, "/orders")


async def mail(state: OrderState) -> dict[str, Any]:
    return await post_effect(state, "/mails")


async def tell(state: OrderState) -> dict[str, Any]:
    return {"steps": [*state.get("steps", []), "told"]}


builder = graphs.StateGraph(OrderState)
builder.add_node("order", order)
builder.add_node("mail", mail)
builder.add_node("tell", tell)
builder.add_edge(graphs.START, "order")
builder.add_edge("order", "mail")
builder.add_edge("mail", "tell")
builder.add_edge("tell", graphs.END)
graph = builder.compile()
