"""One question to a Runtime without a door, and what came of it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from rightseat import Runtime
from rightseat.middleware.guardrails import GuardrailPolicies, GuardrailPolicy
from rightseat.types.events import Event, RunFailed, TextDelta
from rightseat.types.messages import Message, text_message
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn
from tests.kit.house import Lines, Script


@asynccontextmanager
async def place(
    *lines: Script, guard: GuardrailPolicy, tools: Iterable[Tool] = (), store: Store | None = None
) -> AsyncIterator[tuple[Runtime, Lines]]:
    model = Lines(*lines)
    runtime = Runtime(model=model, tools=tools, guards=GuardrailPolicies(guard), store=store)
    try:
        yield runtime, model
    finally:
        await runtime.close()


async def run(runtime: Runtime, *messages: str | Message, **more: Any) -> list[Event]:
    told = tuple(text_message("user", one) if isinstance(one, str) else one for one in messages)
    turn = replace(Turn(messages=told), **more)
    async with closing(runtime.run(turn)) as events:
        return [event async for event in events]


def text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def failed(events: list[Event]) -> tuple[str, str] | None:
    last = events[-1]
    return (last.code, last.message) if isinstance(last, RunFailed) else None
