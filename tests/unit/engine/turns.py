"""A turn run to its end, and what it said of its calls."""

import json
from typing import Any

from rightseat import Runtime, Turn, text_message
from rightseat.types.events import CallResult, Event


async def run_turn(runtime: Runtime, **turn: Any) -> list[Event]:
    turn.setdefault("messages", (text_message("user", "hi"),))
    return [event async for event in runtime.run(Turn(**turn))]


def list_call_results(events: list[Event]) -> list[str]:
    return [event.content for event in events if isinstance(event, CallResult)]


def list_error_codes(events: list[Event]) -> list[str]:
    return [json.loads(text)["error"]["code"] for text in list_call_results(events)]
