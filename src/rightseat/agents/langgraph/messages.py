"""Our messages ↔ LangChain's, and which of the posted ones a thread does not have yet.

A LangGraph thread keeps its own messages, with what the graph did besides. So only what is new goes there;
and where a person took something back (edited a message, asked for another answer), what came after it is
removed there too.
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
    """A message as LangChain reads it from JSON."""
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
    """The messages of a thread's state, as clients are shown them."""
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
    """Of the calls in a thread those without a result: their names by their ids."""
    calls = {call.id: call.name for item in held for call in called(item)}
    for item in held:
        calls.pop(str(item.get("tool_call_id")), None)
    return calls


def fresh(posted: Sequence[Message], held: list[Chain], clients: Collection[str]) -> list[Chain]:
    """What is new in `posted` for a thread that holds `held`, and removals of what was taken back."""
    if not held:
        return [chained(message) for message in posted]
    if not any(message.id for message in posted):
        return [chained(message) for message in tail(posted)]
    words = {item.get("id"): texts(item.get("content")) for item in held}
    waiting = unanswered(held)
    new = [message for message in posted if is_new(message, words, waiting, clients)]
    return [*taken_back(posted, held, bool(new)), *(chained(message) for message in new)]


def tail(posted: Sequence[Message]) -> Sequence[Message]:
    """Without ids nothing can be compared: what follows the last answer is new."""
    last = max((n for n, message in enumerate(posted) if message.role == "assistant"), default=-1)
    return posted[last + 1 :]


def is_new(
    message: Message, words: dict[Any, str], waiting: dict[str, str], clients: Collection[str]
) -> bool:
    """A person's words, or the result of a call that waits. What the graph itself said is its own."""
    if message.role == "user":
        return words.get(message.id) != message.text
    if message.role != "tool" or message.call_id not in waiting:
        return False
    # A call that nobody answered was shown with an empty result, which is none.
    return bool(message.text) or waiting[message.call_id] in clients


def taken_back(posted: Sequence[Message], held: list[Chain], anything_new: bool) -> list[Chain]:
    """Removals: of all after the last message that both know, if a person's words are among it that were
    not posted again, or if nothing is new and the last word is the person's."""
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
    """By which a message of a thread is known among the posted ones: a person may change words in place."""
    return item.get("id"), texts(item.get("content")) if item.get("type") == "human" else ""
