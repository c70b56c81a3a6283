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
from tests.kit.app_server import FakeModel, ModelReply


@asynccontextmanager
async def open_guarded_runtime(
    *lines: ModelReply, guard: GuardrailPolicy, tools: Iterable[Tool] = (), store: Store | None = None
) -> AsyncIterator[tuple[Runtime, FakeModel]]:
    model = FakeModel(*lines)
    runtime = Runtime(model=model, tools=tools, guards=GuardrailPolicies(guard), store=store)
    try:
        yield runtime, model
    finally:
        await runtime.close()


async def run_turn(runtime: Runtime, *messages: str | Message, **fields: Any) -> list[Event]:
    turn_messages = tuple(text_message("user", one) if isinstance(one, str) else one for one in messages)
    turn = replace(Turn(messages=turn_messages), **fields)
    async with closing(runtime.run(turn)) as events:
        return [event async for event in events]


def join_text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def get_failure(events: list[Event]) -> tuple[str, str] | None:
    last = events[-1]
    return (last.code, last.message) if isinstance(last, RunFailed) else None
