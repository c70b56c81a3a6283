"""Parse posted messages, legacy and current, into texts and function call round trips, and convert the model's
calls to the client's function calls.

Unusable messages are dropped, not refused: old chats hold shapes that newer servers do not know. Only
assistant messages may be calls, or users could type one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.doors.openbb.wire import (
    ECHOED_ARGUMENTS_KEY,
    STATE_KEY,
    EchoedState,
    PendingClientCall,
    as_dict,
    as_list,
    as_text,
    parse_state,
    to_json,
)
from rightseat.doors.openbb.workspace_tools import (
    EXECUTE_TOOL,
    WIDGET_FUNCTIONS,
    CallKey,
    ToolsByName,
    WorkspaceTool,
    slugify,
)
from rightseat.types.messages import Role
from rightseat.types.text import decode_or_none


class ClientCall(Struct, frozen=True):
    """One requested item: the function and source as the client sees them, name and arguments as the model does."""

    function: str
    source: dict[str, Any]
    name: str
    arguments: dict[str, Any]
    tool: WorkspaceTool | None = None

    @property
    def digest(self) -> str:
        try:
            encoded = msgspec.json.encode([self.function, self.source], order="sorted")
        except (RecursionError, UnicodeEncodeError):
            encoded = repr(sorted(self.source)).encode("utf-8", "replace")
        return hashlib.sha256(encoded).hexdigest()[:16]


def make_client_call(pending: PendingClientCall, tool: WorkspaceTool, *, legacy: bool) -> ClientCall:
    source = dict(tool.target) if legacy else tool.to_client_arguments(pending.arguments)
    return ClientCall(tool.function, source, pending.name, pending.arguments, tool)


def split_next_calls(
    pending: Iterable[PendingClientCall], tools: ToolsByName, *, legacy: bool
) -> tuple[list[PendingClientCall], list[PendingClientCall]]:
    """Split calls into those to send now and those that wait. Calls of tools that no longer exist are
    dropped: the engine reports a missing result for them."""
    known = [call for call in pending if call.name in tools]
    if not known:
        return [], []
    function = tools[known[0].name].function
    if legacy or function not in WIDGET_FUNCTIONS:
        return known[:1], known[1:]
    next_calls = [call for call in known if tools[call.name].function == function]
    return next_calls, [call for call in known if call not in next_calls]


def make_function_call(state: EchoedState, tools: ToolsByName, *, legacy: bool) -> dict[str, Any]:
    """Make the data of a copilotFunctionCall event for the calls of a state."""
    client_calls = [make_client_call(call, tools[call.name], legacy=legacy) for call in state.calls]
    encoded_state = msgspec.to_builtins(state)
    function, source = client_calls[0].function, client_calls[0].source
    if legacy:
        echoed = {**source, **client_calls[0].arguments, STATE_KEY: encoded_state}
        return {"function": function, "input_arguments": source, ECHOED_ARGUMENTS_KEY: echoed}
    if function in WIDGET_FUNCTIONS:
        sources = [call.source for call in client_calls]
        queries = [{"widget_uuid": item.get("widget_uuid", item["id"])} for item in sources]
        extra = {ECHOED_ARGUMENTS_KEY: {"widget_queries": queries}, STATE_KEY: encoded_state}
        return {"function": function, "input_arguments": {"data_sources": sources}, "extra_state": extra}
    extra = {ECHOED_ARGUMENTS_KEY: describe_client_call(client_calls[0]), STATE_KEY: encoded_state}
    return {"function": function, "input_arguments": source, "extra_state": extra}


def describe_client_call(call: ClientCall) -> dict[str, Any]:
    """Describe a call that is not for a widget's data as OpenBB's own agents do, for the client to show."""
    if call.function != EXECUTE_TOOL:
        return call.source
    target = {key: value for key, value in call.source.items() if key != "parameters"}
    return {**target, "tool_args": call.arguments, "summary": call.name}


def is_repeated(pending: Iterable[PendingClientCall], tools: ToolsByName, seen: set[str], *, legacy: bool) -> bool:
    """Whether all of the calls were already made in this turn, so that the results would be the same."""
    known = (call for call in pending if call.name in tools)
    digests = [make_client_call(call, tools[call.name], legacy=legacy).digest for call in known]
    return bool(digests) and seen.issuperset(digests)


def parse_function_call(function: str, arguments: dict[str, Any], tools: ToolsByName) -> tuple[ClientCall, ...]:
    """Parse a legacy or current function call into one ClientCall for each requested item."""
    by_key: dict[tuple[bool, CallKey], WorkspaceTool] = {}
    for offer in tools.values():
        for key in offer.keys:
            by_key.setdefault((offer.function == EXECUTE_TOOL, key), offer)
    return tuple(_match_tool(function, source, key, by_key) for source, key in _split_sources(function, arguments))


def _match_tool(
    function: str, source: dict[str, Any], keys: list[CallKey], by_key: Mapping[tuple[bool, CallKey], WorkspaceTool]
) -> ClientCall:
    is_tool_call = function == EXECUTE_TOOL
    tool = next(filter(None, (by_key.get((is_tool_call, key)) for key in keys)), None)
    arguments = as_dict(source.get("parameters" if is_tool_call else "input_args"))
    if not (is_tool_call or "input_args" in source or "widget_uuid" in source):
        arguments = source
    title = as_text(source.get("tool_name")) if is_tool_call else function
    return ClientCall(function, source, tool.spec.name if tool else slugify(title) or "call", arguments, tool)


def _split_sources(function: str, arguments: dict[str, Any]) -> list[tuple[dict[str, Any], list[CallKey]]]:
    if function == EXECUTE_TOOL:
        name = as_text(arguments.get("tool_name"))
        return [(arguments, [(as_text(arguments.get("server_id")), name), ("", name)])]
    if data_sources := [as_dict(item) for item in as_list(arguments.get("data_sources"))]:
        return [(item, _source_keys(item)) for item in data_sources]
    if uuids := [uuid for uuid in as_list(arguments.get("widget_uuids")) if isinstance(uuid, str)]:
        return [({"widget_uuid": uuid}, [(uuid,)]) for uuid in uuids]
    return [(arguments, _source_keys(arguments))]


def _source_keys(source: dict[str, Any]) -> list[CallKey]:
    return [(as_text(source.get("widget_uuid")),), (as_text(source.get("origin")), as_text(source.get("id")))]


ROLES: dict[str, Role] = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "tool": "tool"}
MARKERS = re.compile(r"<\|start_(?:artifact|citation)_id\|>(.*?)<\|end_(?:artifact|citation)_id\|>", re.DOTALL)
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


def parse_conversation(messages: list[Any], tools: ToolsByName) -> list[ConversationItem]:
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
    """Append a round trip to the batch that waits for it, else as a new batch with the preceding assistant text."""
    previous = items[-1] if items else None
    if isinstance(previous, RoundTripBatch):
        waiting = {due.id for due in previous.later_calls}
        if round_trip.state and waiting.issuperset(due.id for due in round_trip.calls):
            items[-1] = replace(previous, round_trips=(*previous.round_trips, round_trip))
            return
    if isinstance(previous, PostedText) and previous.role == "assistant":
        items[-1] = RoundTripBatch((round_trip,), previous.text)
    else:
        items.append(RoundTripBatch((round_trip,)))


def parse_round_trip(
    message: dict[str, Any], call: ParsedCall | None, number: int, tools: ToolsByName
) -> RoundTrip | None:
    """Parse a tool message and its call. A Workspace message repeats the call; a legacy one does not."""
    function = as_text(message.get("function"))
    if call is not None and function in ("", call[0]):
        name, arguments, state = call
    elif function:
        name, arguments, state = function, as_dict(message.get("input_arguments")), None
    else:
        return None
    client_calls = parse_function_call(name, arguments, tools)
    state = parse_state(message.get("extra_state")) or state
    if state is not None and len(state.calls) == len(client_calls):
        calls = state.calls
    else:
        state = None
        ids = (f"call_{number}_{place}" for place in range(len(client_calls)))
        calls = tuple(PendingClientCall(id, c.name, c.arguments) for id, c in zip(ids, client_calls, strict=True))
    return RoundTrip(calls, client_calls, split_results(message, len(client_calls)), state)


def split_results(message: dict[str, Any], count: int) -> tuple[Any, ...]:
    """Split a tool message into one result per requested item."""
    data = message.get("data")
    if data is None or data == []:
        data = message.get("content")
    if count == 1:
        return (data[0] if isinstance(data, list) and len(data) == 1 else data,)
    results = data if isinstance(data, list) else [data]
    return tuple(results[:count]) + (None,) * (count - len(results))


def parse_call(content: Any) -> ParsedCall | None:
    """Parse an assistant's content as a function call: an object, JSON, or JSON in a JSON string."""
    for _ in range(2):
        if not isinstance(content, str):
            break
        if content.lstrip()[:1] not in ("{", '"'):
            return None
        content = decode_or_none(content)
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
    return {name for text in texts if "<|start_artifact" in text for name in ARTIFACT_MARKERS.findall(text)}
