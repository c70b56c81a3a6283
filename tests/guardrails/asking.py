"""One question to a Runtime without a door, and what came of it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from rightseat import Runtime
from rightseat.continuation import Store
from rightseat.events import Event, RunFailed, TextDelta
from rightseat.layers.guardrails import Guard, Guards
from rightseat.messages import Message, said
from rightseat.streams import closing
from rightseat.tools import Tool
from rightseat.turn import Turn
from tests.kit.house import Lines, Script


@asynccontextmanager
async def place(
    *lines: Script, guard: Guard, tools: Iterable[Tool] = (), store: Store | None = None
) -> AsyncIterator[tuple[Runtime, Lines]]:
    model = Lines(*lines)
    runtime = Runtime(model=model, tools=tools, guards=Guards(guard), store=store)
    try:
        yield runtime, model
    finally:
        await runtime.close()


async def run(runtime: Runtime, *messages: str | Message, **more: Any) -> list[Event]:
    told = tuple(said("user", one) if isinstance(one, str) else one for one in messages)
    turn = replace(Turn(messages=told), **more)
    async with closing(runtime.run(turn)) as events:
        return [event async for event in events]


def text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def failed(events: list[Event]) -> tuple[str, str] | None:
    last = events[-1]
    return (last.code, last.message) if isinstance(last, RunFailed) else None
