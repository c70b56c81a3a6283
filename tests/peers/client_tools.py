"""The tools of the server that real clients drive. What must happen once is a line in the file `ledger`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from rightseat.tools.delegate import make_responder_tool
from rightseat.tools.function import tool
from rightseat.types.events import Event, RunFinished, StateSnapshot, StepEnd, StepStart, TextDelta, TextEnd, TextStart
from rightseat.types.tools import Ask, Pause, Result, ToolContext
from rightseat.types.turn import Turn

LEDGER = Path("ledger")
TWIN_TRIPS = asyncio.Barrier(2)


def append_ledger(line: str) -> None:
    with LEDGER.open("a", encoding="utf-8") as ledger:
        ledger.write(f"{line}\n")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def greet(ctx: ToolContext) -> str:
    """Greet the person by name."""
    name = ctx.ask("What is your name?")
    return f"Hello {name}."


@tool(confirm=True)
def book(seat: str) -> str:
    """Book a seat."""
    append_ledger(seat)
    return f"Booked {seat}."


@tool
def charge(order: str) -> str:
    """Charge an order."""
    append_ledger(order)
    return f"Charged {order}."


@tool
async def trip(name: str, ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    """Plan a trip and buy it, as a flow would: steps, a question between them, state carried over it."""
    if not ctx.answers:
        yield StepStart("plan")
        yield StateSnapshot({"planned": name})
        if name.startswith("twins"):
            # Two trips of one turn are inside this step at the same time.
            await TWIN_TRIPS.wait()
        yield StepEnd("plan")
        yield Pause((Ask("Which city?"),), state={"planned": name})
        return
    yield StepStart("buy")
    append_ledger(f"{ctx.state['planned']} to {ctx.answers[0]}")
    yield StepEnd("buy")
    yield Result(f"Bought: {ctx.answers[0]}.")


@tool
async def stumble(ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    """Fail inside a step, so that the step never ends."""
    yield StepStart("walk")
    raise ValueError("no wheels")


@tool
async def stroll(ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    """Ask inside a step: the step is open while the person thinks."""
    yield StepStart("walk")
    if not ctx.answers:
        yield Pause((Ask("Left or right?"),))
        return
    yield StepEnd("walk")
    yield Result(f"Went {ctx.answers[0]}.")


@tool
def describe() -> dict[str, object]:
    """Describe the plant."""
    return {"a": 1, "b": [True, None]}


@tool
def forget() -> None:
    """Do something that gives nothing back."""


async def stream_guide(turn: Turn) -> AsyncIterator[Event]:
    """Somebody else, who answers in a run of its own."""
    yield StepStart("look")
    yield TextStart("g")
    yield TextDelta("g", "Go left.")
    if turn.messages[-1].text == "guide badly":
        raise ValueError("no map")
    yield TextEnd("g")
    yield StepEnd("look")
    yield RunFinished("stop")


guide = make_responder_tool("guide", "Ask the guide.", stream_guide)
TOOLS = (add, greet, book, trip, stumble, stroll, describe, forget, guide)
