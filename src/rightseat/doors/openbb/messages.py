"""The posted messages of every era, as what was said and which trips to the client there were.

What cannot be used is left out, not refused: old chats hold what newer servers no longer know. Only what the
assistant wrote may be a call, or anybody could type one.
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
    """A function call and its result: `calls` and `results` belong together one by one."""

    calls: tuple[Due, ...]
    made: tuple[Made, ...]
    results: tuple[Any, ...]
    state: State | None = None


class Batch(Struct, frozen=True):
    """The trips that one answer of the model caused, with what it said before."""

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
    # A task that another agent hands over comes as its words, not as a person's.
    if items and isinstance(last := items[-1], Said) and last.role == "assistant":
        items[-1] = replace(last, role="user")
    return items


def join(items: list[Item], found: Trip) -> None:
    """Adds a trip: to the batch whose next one it is, else as a batch with the words said just before."""
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
    """A tool's message with its call; today's repeats the call, so that it can stand alone."""
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
    """The result for each thing that was asked for, wherever an era puts it."""
    data = message.get("data")
    if data is None or data == []:
        data = message.get("content")
    if count == 1:
        return (data[0] if isinstance(data, list) and len(data) == 1 else data,)
    found = listed(data) if isinstance(data, list) else [data]
    return tuple(found[:count]) + (None,) * (count - len(found))


def call_of(content: Any) -> Call | None:
    """The call that an assistant's content is, whether object, JSON or JSON in a string."""
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
    """Without the marks by which the client remembers where an artifact or a citation stood."""
    return MARKS.sub("", said).strip() if "<|start_" in said else said


def artifact_names(messages: list[Any]) -> set[str]:
    """Of the artifacts that are in the chat: the client tells them apart by name alone."""
    texts = (text(table(message).get("content")) for message in messages)
    return {name for said in texts if "<|start_artifact" in said for name in ARTIFACTS.findall(said)}
