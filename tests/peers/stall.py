"""What the playground's tests have behind the page: a shop with tools of every kind, and a script that calls
them. Imported by the server under test, from its own folder."""

from collections.abc import AsyncIterator
from typing import Any

from rightseat.events import Event, StateSnapshot, StepEnd, StepStart
from rightseat.function import tool
from rightseat.tools import Pause, Result, Tool, ToolContext


@tool
def orders() -> list[dict[str, Any]]:
    """All orders."""
    return [{"id": "a-3", "total": 30}, {"id": "a-1", "total": 10}, {"id": "=cmd", "total": 200}]


@tool(confirm=True)
def cancel(id: str) -> str:
    """Cancel an order."""
    return f"{id} is cancelled"


@tool
def broken() -> str:
    """Fails."""
    raise RuntimeError("no such shelf")


@tool
def deliver(ctx: ToolContext) -> str:
    """Ask where to deliver."""
    schema = {
        "type": "object",
        "properties": {
            "street": {"type": "string", "title": "Street"},
            "floor": {"type": "integer", "minimum": 0, "title": "Floor"},
            "fast": {"type": "boolean", "title": "Fast"},
            "day": {"enum": ["Monday", "Tuesday"], "title": "Day"},
        },
        "required": ["street"],
    }
    return f"to {ctx.ask('Where to?', schema)}"


async def walk(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    for number, place in enumerate(("shop", "street")):
        yield StepStart(place)
        yield StateSnapshot({"at": place, "steps": number + 1, "bag": ["book"]})
        yield StepEnd(place)
    yield Result("arrived")


TOOLS = [orders, cancel, broken, deliver, Tool("walk", "Walk home.", {"type": "object"}, walk)]
