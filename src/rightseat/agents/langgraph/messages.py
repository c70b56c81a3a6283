"""Our messages ↔ LangChain's, and the difference between posted messages and those of a thread.

A LangGraph thread keeps its own messages. So only new ones are sent, and if a person edited a message or
asked for another answer, the messages after that point are removed from the thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from rightseat.agents.langgraph.speech import worded
from rightseat.agents.langgraph.wire import texts
from rightseat.types.messages import Call, File, Image, Message, Part, Role, Text, said

_ROLES: dict[str, Role] = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
_TYPES = {"user": "human", "assistant": "ai", "tool": "tool"}
Chain = dict[str, Any]


def chained(message: Message) -> Chain:
    """Convert a message to LangChain's JSON form."""
    made: Chain = {"type": _TYPES.get(message.role, "system"), "content": content(message.parts)}
    if message.id is not None:
        made["id"] = message.id
    if message.name is not None:
        made["name"] = message.name
    if message.role == "tool":
        made["tool_call_id"] = message.call_id
    if message.calls:
        made["tool_calls"] = [
            {"type": "tool_call", "id": call.id, "name": call.name, "args": arguments(call)}
            for call in message.calls
        ]
    return made


def arguments(call: Call) -> dict[str, Any]:
    try:
        made = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return made if isinstance(made, dict) else {}


def content(parts: Sequence[Part]) -> str | list[Chain]:
    if all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [block(part) for part in parts]


def block(part: Part) -> Chain:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(url, detail):
            return {"type": "image_url", "image_url": {"url": url} | ({"detail": detail} if detail else {})}
        case File():
            held = {"filename": part.name, "file_data": part.data, "file_id": part.file_id}
            return {"type": "file", "file": {key: value for key, value in held.items() if value is not None}}


def recalled(values: Any) -> Iterator[Message]:
    """Yield the messages of a thread's state in our form."""
    for item in listed(values):
        role = _ROLES.get(str(item.get("type")))
        if role is None:
            continue
        id = item.get("id") if isinstance(item.get("id"), str) else None
        if role == "tool":
            yield said("tool", worded(item.get("content")), call_id=str(item.get("tool_call_id")), id=id)
        else:
            made = said(role, texts(item.get("content")), id=id)
            yield msgspec.structs.replace(made, calls=tuple(called(item)))


def called(item: Chain) -> Iterator[Call]:
    for call in item.get("tool_calls") or ():
        match call:
            case {"id": str(id), "name": str(name)}:
                yield Call(id, name, msgspec.json.encode(call.get("args") or {}).decode())


def listed(values: Any) -> list[Chain]:
    found = values.get("messages") if isinstance(values, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def unanswered(held: Iterable[Chain]) -> dict[str, str]:
    """Return the names, by id, of a thread's calls without a result."""
    calls = {call.id: call.name for item in held for call in called(item)}
    for item in held:
        calls.pop(str(item.get("tool_call_id")), None)
    return calls


def fresh(posted: Sequence[Message], held: list[Chain], clients: Collection[str]) -> list[Chain]:
    """Return the messages of `posted` that are not in `stored`, after removals of withdrawn ones."""
    if not held:
        return [chained(message) for message in posted]
    if not any(message.id for message in posted):
        return [chained(message) for message in tail(posted)]
    words = {item.get("id"): texts(item.get("content")) for item in held}
    waiting = unanswered(held)
    new = [message for message in posted if is_new(message, words, waiting, clients)]
    return [*taken_back(posted, held, bool(new)), *(chained(message) for message in new)]


def tail(posted: Sequence[Message]) -> Sequence[Message]:
    """Return the messages after the last answer: without ids, these count as new."""
    last = max((n for n, message in enumerate(posted) if message.role == "assistant"), default=-1)
    return posted[last + 1 :]


def is_new(
    message: Message, words: dict[Any, str], waiting: dict[str, str], clients: Collection[str]
) -> bool:
    """Whether a message is a new user message or the result of an open call. The graph has its own output."""
    if message.role == "user":
        return words.get(message.id) != message.text
    if message.role != "tool" or message.call_id not in waiting:
        return False
    # An unanswered call of the graph was shown with an empty result, which does not count.
    return bool(message.text) or waiting[message.call_id] in clients


def taken_back(posted: Sequence[Message], held: list[Chain], anything_new: bool) -> list[Chain]:
    """Remove all after the last common message, if that includes a user message which was not posted again,
    or if nothing is new and the last posted message is the user's (a regeneration)."""
    known = {(message.id, message.text if message.role == "user" else "") for message in posted}
    results = {message.call_id for message in posted if message.call_id}
    both = [n for n, item in enumerate(held) if key(item) in known or item.get("tool_call_id") in results]
    after = held[both[-1] + 1 :] if both else held
    dropped = any(item.get("type") == "human" for item in after)
    again = not anything_new and bool(posted) and posted[-1].role == "user"
    if not (dropped or again):
        return []
    return [{"type": "remove", "id": item["id"], "content": ""} for item in after if item.get("id")]


def key(item: Chain) -> tuple[Any, str]:
    """Return the identity of a stored message: its id and, for a user message (editable), its text."""
    return item.get("id"), texts(item.get("content")) if item.get("type") == "human" else ""
