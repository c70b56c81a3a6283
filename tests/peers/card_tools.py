"""The tools behind the cards that the playground's tests look at: each leads to one state of a card. Imported by the
server under test, from its own folder."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from rightseat.tools.function import tool
from rightseat.types.events import Artifact, Citations, Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext

ROWS = [
    {"Order": f"A{number}", "Goods": "Desk lamp" if number % 2 else "Office chair", "Days late": number * 7 % 160}
    for number in range(1, 215)
]


@tool
def find_order(number: str) -> dict[str, str]:
    """Find an order."""
    return {"number": number, "goods": "Desk lamp"}


@tool(confirm=True)
def cancel_order(number: str, reason: str) -> str:
    """Cancel an order."""
    return f"{number} is cancelled"


@tool
def broken() -> str:
    """Fails."""
    raise RuntimeError("no such shelf")


@tool
async def search_orders(state: str) -> str:
    """Takes longer than anybody waits."""
    await asyncio.sleep(300)
    return "never"


async def show_sales(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    months = [("Jan", 120), ("Feb", 132), ("Mar", 101), ("Apr", 134), ("May", 190), ("Jun", 230)]
    rows = [{"month": month, "sales": sales} for month, sales in months]
    chart = {"rows": rows, "chart": {"type": "bar", "x": "month", "y": "sales"}}
    yield Artifact("c1", "chart", "Sales, January to June", chart, "thousand €")
    yield Artifact("t1", "table", "Late orders", ROWS)
    yield Artifact("t2", "table", "Lost orders", {"columns": ["Order", "Goods"], "rows": []})
    yield Result("drawn")


async def read_handbook(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    sources = [
        {"title": "Depot Bremen: closure in March", "url": "https://intranet.example/bremen", "description": "14 Mar"},
        {"title": "Customs form 302", "description": "handbook.pdf, page 41"},
    ]
    yield Citations(sources)
    yield Result("read")


TOOLS = [
    find_order,
    cancel_order,
    broken,
    search_orders,
    Tool("show_sales", "Show the sales.", {"type": "object"}, show_sales),
    Tool("read_handbook", "Read the handbook.", {"type": "object"}, read_handbook),
]
