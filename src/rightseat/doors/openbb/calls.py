"""Convert the model's calls to the client's function calls, and posted function calls back.

The client takes one function call per stream. Calls of several widgets share one; other calls wait in the
state that the client echoes, and are sent when the first result has arrived.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.doors.openbb.widgets import EXECUTE_TOOL, WIDGET_FUNCTIONS, CallKey, WorkspaceTool, slugify
from rightseat.doors.openbb.wire import (
    ECHOED_ARGUMENTS_KEY,
    STATE_KEY,
    EchoedState,
    PendingClientCall,
    as_dict,
    as_list,
    as_text,
)


class ClientCall(Struct, frozen=True):
    """One requested item: the function and source as the client sees them, name and arguments as the model
    does."""

    function: str
    source: dict[str, Any]
    name: str
    arguments: dict[str, Any]
    tool: WorkspaceTool | None = None

    @property
    def digest(self) -> str:
        return hash_call(self.function, self.source)


def hash_call(function: str, source: dict[str, Any]) -> str:
    try:
        encoded = msgspec.json.encode([function, source], order="sorted")
    except (RecursionError, UnicodeEncodeError):
        encoded = repr(sorted(source)).encode("utf-8", "replace")
    return hashlib.sha256(encoded).hexdigest()[:16]


# Outgoing calls.


def make_client_call(pending: PendingClientCall, tool: WorkspaceTool, *, legacy: bool) -> ClientCall:
    source = dict(tool.target) if legacy else tool.to_client_arguments(pending.arguments)
    return ClientCall(tool.function, source, pending.name, pending.arguments, tool)


def split_next_calls(
    pending: Iterable[PendingClientCall], tools: Mapping[str, WorkspaceTool], *, legacy: bool
) -> tuple[list[PendingClientCall], list[PendingClientCall]]:
    """Split calls into those to send now and those that wait. Calls of tools that no longer exist are
    dropped: the engine reports a missing result for them."""
    known = [one for one in pending if one.name in tools]
    if not known:
        return [], []
    function = tools[known[0].name].function
    if legacy or function not in WIDGET_FUNCTIONS:
        return known[:1], known[1:]
    next_calls = [one for one in known if tools[one.name].function == function]
    return next_calls, [one for one in known if one not in next_calls]


def make_function_call(
    state: EchoedState, tools: Mapping[str, WorkspaceTool], *, legacy: bool
) -> dict[str, Any]:
    """Make the data of a copilotFunctionCall event for the calls of a state."""
    client_calls = [make_client_call(one, tools[one.name], legacy=legacy) for one in state.calls]
    encoded_state = msgspec.to_builtins(state)
    function, source = client_calls[0].function, client_calls[0].source
    if legacy:
        echoed = {**source, **client_calls[0].arguments, STATE_KEY: encoded_state}
        return {"function": function, "input_arguments": source, ECHOED_ARGUMENTS_KEY: echoed}
    if function in WIDGET_FUNCTIONS:
        sources = [one.source for one in client_calls]
        queries = [{"widget_uuid": one.get("widget_uuid", one["id"])} for one in sources]
        extra = {ECHOED_ARGUMENTS_KEY: {"widget_queries": queries}, STATE_KEY: encoded_state}
        return {"function": function, "input_arguments": {"data_sources": sources}, "extra_state": extra}
    extra = {ECHOED_ARGUMENTS_KEY: {"summary": client_calls[0].name}, STATE_KEY: encoded_state}
    return {"function": function, "input_arguments": source, "extra_state": extra}


def is_repeated(
    pending: Iterable[PendingClientCall], tools: Mapping[str, WorkspaceTool], seen: set[str], *, legacy: bool
) -> bool:
    """Whether all of the calls were already made in this turn, so that the results would be the same."""
    digests = [
        make_client_call(one, tools[one.name], legacy=legacy).digest for one in pending if one.name in tools
    ]
    return bool(digests) and seen.issuperset(digests)


# Posted calls.


def parse_function_call(
    function: str, arguments: dict[str, Any], tools: Mapping[str, WorkspaceTool]
) -> list[ClientCall]:
    """Parse a legacy or current function call into one ClientCall for each requested item."""
    by_key: dict[tuple[bool, CallKey], WorkspaceTool] = {}
    for offer in tools.values():
        for key in offer.keys:
            by_key.setdefault((offer.function == EXECUTE_TOOL, key), offer)
    return [_match_tool(function, source, key, by_key) for source, key in _split_sources(function, arguments)]


def _match_tool(
    function: str,
    source: dict[str, Any],
    keys: list[CallKey],
    by_key: Mapping[tuple[bool, CallKey], WorkspaceTool],
) -> ClientCall:
    is_tool_call = function == EXECUTE_TOOL
    tool = next((found for key in keys if (found := by_key.get((is_tool_call, key)))), None)
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


def next_state(
    state: EchoedState,
    next_calls: list[PendingClientCall],
    later_calls: list[PendingClientCall],
    digests: Iterable[str],
) -> EchoedState:
    """Make the state of the next function call, with the call digests so far."""
    seen = tuple(dict.fromkeys((*state.seen, *digests)))[-256:]
    return replace(state, calls=tuple(next_calls), later=tuple(later_calls), seen=seen)
