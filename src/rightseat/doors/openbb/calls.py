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

from rightseat.doors.openbb.widgets import EXECUTE, LISTS, Key, Offer, slug
from rightseat.doors.openbb.wire import OURS, SMUGGLED, Due, State, listed, table, text


class Made(Struct, frozen=True):
    """One requested item: the function and source as the client sees them, name and arguments as the model
    does."""

    function: str
    source: dict[str, Any]
    name: str
    arguments: dict[str, Any]
    offer: Offer | None = None

    @property
    def digest(self) -> str:
        return digest(self.function, self.source)


def digest(function: str, source: dict[str, Any]) -> str:
    try:
        told = msgspec.json.encode([function, source], order="sorted")
    except (RecursionError, UnicodeEncodeError):
        told = repr(sorted(source)).encode("utf-8", "replace")
    return hashlib.sha256(told).hexdigest()[:16]


# Outgoing calls.


def made(due: Due, offer: Offer, *, old: bool) -> Made:
    source = dict(offer.target) if old else offer.source(due.arguments)
    return Made(offer.function, source, due.name, due.arguments, offer)


def taken(due: Iterable[Due], offers: Mapping[str, Offer], *, old: bool) -> tuple[list[Due], list[Due]]:
    """Split calls into those to send now and those that wait. Calls of tools that no longer exist are
    dropped: the engine reports a missing result for them."""
    known = [one for one in due if one.name in offers]
    if not known:
        return [], []
    function = offers[known[0].name].function
    if old or function not in LISTS:
        return known[:1], known[1:]
    now = [one for one in known if offers[one.name].function == function]
    return now, [one for one in known if one not in now]


def function_call(state: State, offers: Mapping[str, Offer], *, old: bool) -> dict[str, Any]:
    """Make the data of a copilotFunctionCall event for the calls of a state."""
    asked = [made(one, offers[one.name], old=old) for one in state.calls]
    ours = msgspec.to_builtins(state)
    function, source = asked[0].function, asked[0].source
    if old:
        smuggled = {**source, **asked[0].arguments, OURS: ours}
        return {"function": function, "input_arguments": source, SMUGGLED: smuggled}
    if function in LISTS:
        sources = [one.source for one in asked]
        queries = [{"widget_uuid": one.get("widget_uuid", one["id"])} for one in sources]
        extra = {SMUGGLED: {"widget_queries": queries}, OURS: ours}
        return {"function": function, "input_arguments": {"data_sources": sources}, "extra_state": extra}
    extra = {SMUGGLED: {"summary": asked[0].name}, OURS: ours}
    return {"function": function, "input_arguments": source, "extra_state": extra}


def repeated(due: Iterable[Due], offers: Mapping[str, Offer], seen: set[str], *, old: bool) -> bool:
    """Whether all of the calls were already made in this turn, so that the results would be the same."""
    digests = [made(one, offers[one.name], old=old).digest for one in due if one.name in offers]
    return bool(digests) and seen.issuperset(digests)


# Posted calls.


def recalled(function: str, arguments: dict[str, Any], offers: Mapping[str, Offer]) -> list[Made]:
    """Parse a legacy or current function call into one ClientCall for each requested item."""
    by_key: dict[tuple[bool, Key], Offer] = {}
    for offer in offers.values():
        for key in offer.keys:
            by_key.setdefault((offer.function == EXECUTE, key), offer)
    return [_recall(function, source, key, by_key) for source, key in _sources(function, arguments)]


def _recall(
    function: str, source: dict[str, Any], keys: list[Key], by_key: Mapping[tuple[bool, Key], Offer]
) -> Made:
    executes = function == EXECUTE
    offer = next((found for key in keys if (found := by_key.get((executes, key)))), None)
    arguments = table(source.get("parameters" if executes else "input_args"))
    if not (executes or "input_args" in source or "widget_uuid" in source):
        arguments = source
    title = text(source.get("tool_name")) if executes else function
    return Made(function, source, offer.spec.name if offer else slug(title) or "call", arguments, offer)


def _sources(function: str, arguments: dict[str, Any]) -> list[tuple[dict[str, Any], list[Key]]]:
    if function == EXECUTE:
        name = text(arguments.get("tool_name"))
        return [(arguments, [(text(arguments.get("server_id")), name), ("", name)])]
    if found := [table(item) for item in listed(arguments.get("data_sources"))]:
        return [(item, _keys(item)) for item in found]
    if uuids := [uuid for uuid in listed(arguments.get("widget_uuids")) if isinstance(uuid, str)]:
        return [({"widget_uuid": uuid}, [(uuid,)]) for uuid in uuids]
    return [(arguments, _keys(arguments))]


def _keys(source: dict[str, Any]) -> list[Key]:
    return [(text(source.get("widget_uuid")),), (text(source.get("origin")), text(source.get("id")))]


def next_state(state: State, now: list[Due], later: list[Due], digests: Iterable[str]) -> State:
    """Make the state of the next function call, with the call digests so far."""
    seen = tuple(dict.fromkeys((*state.seen, *digests)))[-256:]
    return replace(state, calls=tuple(now), later=tuple(later), seen=seen)
