"""Parse posted messages, legacy and current, into texts and function call round trips.

Unusable messages are dropped, not refused: old chats hold shapes that newer servers do not know. Only
assistant messages may be calls, or users could type one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.doors.openbb.calls import Made, recalled
from rightseat.doors.openbb.widgets import Offer
from rightseat.doors.openbb.wire import SMUGGLED, Due, State, listed, state_of, table, text, written
from rightseat.types.messages import Role

ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "tool": "tool",
}
MARKS = re.compile(r"<\|start_(?:artifact|citation)_id\|>(.*?)<\|end_(?:artifact|citation)_id\|>", re.DOTALL)
ARTIFACTS = re.compile(r"<\|start_artifact_id\|>(.*?)<\|end_artifact_id\|>", re.DOTALL)
Call = tuple[str, dict[str, Any], State | None]


class Said(Struct, frozen=True):
    role: Role
    text: str


class Trip(Struct, frozen=True):
    """A function call and its result: `calls`, `client_calls` and `results` correspond by index."""

    calls: tuple[Due, ...]
    made: tuple[Made, ...]
    results: tuple[Any, ...]
    state: State | None = None


class Batch(Struct, frozen=True):
    """The round trips that one model answer caused, with the text before its calls."""

    trips: tuple[Trip, ...]
    text: str = ""

    @property
    def later(self) -> tuple[Due, ...]:
        state = self.trips[-1].state
        return state.later if state else ()


Item = Said | Batch


def conversation(messages: list[Any], offers: Mapping[str, Offer]) -> list[Item]:
    items: list[Item] = []
    call: Call | None = None
    for number, raw in enumerate(messages):
        message = table(raw)
        match ROLES.get(text(message.get("role"))):
            case "tool":
                if found := trip(message, call, number, offers):
                    join(items, found)
                call = None
            case "assistant":
                call = call_of(message.get("content"))
                if call is None and (said := clean(spoken(message.get("content")))):
                    items.append(Said("assistant", said))
            case "user":
                call = None
                if said := spoken(message.get("content")):
                    items.append(Said("user", said))
            case _:
                pass
    # A task handed over by another agent is posted as an assistant message: treat it as the user's.
    if items and isinstance(last := items[-1], Said) and last.role == "assistant":
        items[-1] = replace(last, role="user")
    return items


def join(items: list[Item], found: Trip) -> None:
    """Append a round trip to the batch that waits for it, else as a new batch with the preceding assistant
    text."""
    before = items[-1] if items else None
    if isinstance(before, Batch):
        waiting = {due.id for due in before.later}
        if found.state and waiting.issuperset(due.id for due in found.calls):
            items[-1] = replace(before, trips=(*before.trips, found))
            return
    if isinstance(before, Said) and before.role == "assistant":
        items[-1] = Batch((found,), before.text)
        return
    items.append(Batch((found,)))


def trip(message: dict[str, Any], call: Call | None, number: int, offers: Mapping[str, Offer]) -> Trip | None:
    """Parse a tool message and its call. A Workspace message repeats the call; a legacy one does not."""
    function = text(message.get("function"))
    if call is not None and function in ("", call[0]):
        name, arguments, state = call
    elif function:
        name, arguments, state = function, table(message.get("input_arguments")), None
    else:
        return None
    made = tuple(recalled(name, arguments, offers))
    state = state_of(message.get("extra_state")) or state
    if state is not None and len(state.calls) == len(made):
        calls = state.calls
    else:
        state = None
        ids = (f"call_{number}_{place}" for place in range(len(made)))
        calls = tuple(Due(id, one.name, one.arguments) for id, one in zip(ids, made, strict=True))
    return Trip(calls, made, split(message, len(made)), state)


def split(message: dict[str, Any], count: int) -> tuple[Any, ...]:
    """Split a tool message into one result per requested item."""
    data = message.get("data")
    if data is None or data == []:
        data = message.get("content")
    if count == 1:
        return (data[0] if isinstance(data, list) and len(data) == 1 else data,)
    found = listed(data) if isinstance(data, list) else [data]
    return tuple(found[:count]) + (None,) * (count - len(found))


def call_of(content: Any) -> Call | None:
    """Parse an assistant's content as a function call: an object, JSON, or JSON in a JSON string."""
    for _ in range(2):
        if not isinstance(content, str):
            break
        if content.lstrip()[:1] not in ("{", '"'):
            return None
        try:
            content = msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return None
    match content:
        case {"function": str(function), "input_arguments": dict(arguments), **more}:
            return function, arguments, state_of(more.get(SMUGGLED))
        case _:
            return None


def spoken(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return written(content)


def clean(said: str) -> str:
    """Remove the markers that the client leaves for artifacts and citations."""
    return MARKS.sub("", said).strip() if "<|start_" in said else said


def artifact_names(messages: list[Any]) -> set[str]:
    """Find the names of the chat's artifacts, which the client uses as keys."""
    texts = (text(table(message).get("content")) for message in messages)
    return {name for said in texts if "<|start_artifact" in said for name in ARTIFACTS.findall(said)}
