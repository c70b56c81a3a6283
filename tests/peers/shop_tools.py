"""What the playground's tests have behind the page: a shop with tools of every kind, and a script that calls
them. Imported by the server under test, from its own folder."""

from collections.abc import AsyncIterator
from typing import Any

from rightseat.tools.function import tool
from rightseat.types.events import (
    Artifact,
    Citations,
    Event,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    Suggestions,
)
from rightseat.types.tools import Pause, Result, Tool, ToolContext


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
    """As an agent that is a graph does: node by node, each with what it made of the state."""
    for number, place in enumerate(("shop", "street")):
        yield StepStart(place)
        yield StateSnapshot({"at": place, "steps": number + 1, "bag": ["book"]})
        yield StepEnd(place)
    yield StepStart("home")
    yield StateDelta([{"op": "replace", "path": "/at", "value": "home"}, {"op": "remove", "path": "/bag/0"}])
    # Nothing that all objects share can be reached by a path.
    yield StateDelta([{"op": "add", "path": "/constructor/prototype/hacked", "value": 1}])
    yield StepEnd("home")
    yield Result("arrived")


async def papers(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    """Everything that stands beside words."""
    yield Artifact("f1", "file", "notes.txt", {"media_type": "text/plain", "data": "aGVsbG8=", "size": 5})
    yield Artifact("t1", "text", "Memo", "Some **bold** words")
    yield Citations([{"source_info": {"name": "The law", "url": "https://law.example/1", "description": "§ 1"}}])
    yield Suggestions(("orders", "prose"))
    yield Result("there")


TOOLS = [
    orders,
    cancel,
    broken,
    deliver,
    Tool("walk", "Walk home.", {"type": "object"}, walk),
    Tool("papers", "Show papers.", {"type": "object"}, papers),
]
