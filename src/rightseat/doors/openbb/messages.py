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

from rightseat.doors.openbb.calls import ClientCall, parse_function_call
from rightseat.doors.openbb.widgets import WorkspaceTool
from rightseat.doors.openbb.wire import (
    ECHOED_ARGUMENTS_KEY,
    EchoedState,
    PendingClientCall,
    as_dict,
    as_list,
    as_text,
    parse_state,
    to_json,
)
from rightseat.types.messages import Role

ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "tool": "tool",
}
MARKERS = re.compile(
    r"<\|start_(?:artifact|citation)_id\|>(.*?)<\|end_(?:artifact|citation)_id\|>", re.DOTALL
)
ARTIFACT_MARKERS = re.compile(r"<\|start_artifact_id\|>(.*?)<\|end_artifact_id\|>", re.DOTALL)
ParsedCall = tuple[str, dict[str, Any], EchoedState | None]


class PostedText(Struct, frozen=True):
    role: Role
    text: str


class RoundTrip(Struct, frozen=True):
    """A function call and its result: `calls`, `client_calls` and `results` correspond by index."""

    calls: tuple[PendingClientCall, ...]
    client_calls: tuple[ClientCall, ...]
    results: tuple[Any, ...]
    state: EchoedState | None = None


class RoundTripBatch(Struct, frozen=True):
    """The round trips that one model answer caused, with the text before its calls."""

    round_trips: tuple[RoundTrip, ...]
    text: str = ""

    @property
    def later_calls(self) -> tuple[PendingClientCall, ...]:
        state = self.round_trips[-1].state
        return state.later if state else ()


ConversationItem = PostedText | RoundTripBatch


def parse_conversation(messages: list[Any], tools: Mapping[str, WorkspaceTool]) -> list[ConversationItem]:
    items: list[ConversationItem] = []
    call: ParsedCall | None = None
    for number, raw in enumerate(messages):
        message = as_dict(raw)
        match ROLES.get(as_text(message.get("role"))):
            case "tool":
                if round_trip := parse_round_trip(message, call, number, tools):
                    append_round_trip(items, round_trip)
                call = None
            case "assistant":
                call = parse_call(message.get("content"))
                if call is None and (content := strip_markers(get_content_text(message.get("content")))):
                    items.append(PostedText("assistant", content))
            case "user":
                call = None
                if content := get_content_text(message.get("content")):
                    items.append(PostedText("user", content))
            case _:
                pass
    # A task handed over by another agent is posted as an assistant message: treat it as the user's.
    if items and isinstance(last := items[-1], PostedText) and last.role == "assistant":
        items[-1] = replace(last, role="user")
    return items


def append_round_trip(items: list[ConversationItem], round_trip: RoundTrip) -> None:
    """Append a round trip to the batch that waits for it, else as a new batch with the preceding assistant
    text."""
    previous = items[-1] if items else None
    if isinstance(previous, RoundTripBatch):
        waiting = {due.id for due in previous.later_calls}
        if round_trip.state and waiting.issuperset(due.id for due in round_trip.calls):
            items[-1] = replace(previous, round_trips=(*previous.round_trips, round_trip))
            return
    if isinstance(previous, PostedText) and previous.role == "assistant":
        items[-1] = RoundTripBatch((round_trip,), previous.text)
        return
    items.append(RoundTripBatch((round_trip,)))


def parse_round_trip(
    message: dict[str, Any], call: ParsedCall | None, number: int, tools: Mapping[str, WorkspaceTool]
) -> RoundTrip | None:
    """Parse a tool message and its call. A Workspace message repeats the call; a legacy one does not."""
    function = as_text(message.get("function"))
    if call is not None and function in ("", call[0]):
        name, arguments, state = call
    elif function:
        name, arguments, state = function, as_dict(message.get("input_arguments")), None
    else:
        return None
    client_calls = tuple(parse_function_call(name, arguments, tools))
    state = parse_state(message.get("extra_state")) or state
    if state is not None and len(state.calls) == len(client_calls):
        calls = state.calls
    else:
        state = None
        ids = (f"call_{number}_{place}" for place in range(len(client_calls)))
        calls = tuple(
            PendingClientCall(id, one.name, one.arguments) for id, one in zip(ids, client_calls, strict=True)
        )
    return RoundTrip(calls, client_calls, split_results(message, len(client_calls)), state)


def split_results(message: dict[str, Any], count: int) -> tuple[Any, ...]:
    """Split a tool message into one result per requested item."""
    data = message.get("data")
    if data is None or data == []:
        data = message.get("content")
    if count == 1:
        return (data[0] if isinstance(data, list) and len(data) == 1 else data,)
    results = as_list(data) if isinstance(data, list) else [data]
    return tuple(results[:count]) + (None,) * (count - len(results))


def parse_call(content: Any) -> ParsedCall | None:
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
            return function, arguments, parse_state(more.get(ECHOED_ARGUMENTS_KEY))
        case _:
            return None


def get_content_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return to_json(content)


def strip_markers(content: str) -> str:
    """Remove the markers that the client leaves for artifacts and citations."""
    return MARKERS.sub("", content).strip() if "<|start_" in content else content


def find_artifact_names(messages: list[Any]) -> set[str]:
    """Find the names of the chat's artifacts, which the client uses as keys."""
    texts = (as_text(as_dict(message).get("content")) for message in messages)
    return {name for said in texts if "<|start_artifact" in said for name in ARTIFACT_MARKERS.findall(said)}
