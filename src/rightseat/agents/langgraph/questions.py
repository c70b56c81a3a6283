"""Interrupts of a graph → Interrupt events, and answers → resume values.

Our interrupt id contains the thread, because some clients do not send their thread with an answer.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.types.events import Interrupt
from rightseat.types.tools import APPROVAL, TEXT
from rightseat.types.turn import Answer

_ID = re.compile(r"lg-([0-9a-f]{32})-(.{1,200})", re.DOTALL)
# Keys of an interrupt's value that may hold the question.
_SAID = ("message", "question", "prompt", "text", "description", "title")
VALUE = "__copilotkit_interrupt_value__"
MESSAGES = "__copilotkit_messages__"
BREAKPOINT = "at-"
CANCELLED = {"cancelled": True}


class Open(Struct, frozen=True):
    """An open interrupt: the value passed to `interrupt()`, or a breakpoint at a node."""

    id: str
    value: Any = None
    schema: Any = None

    @property
    def by_copilotkit(self) -> bool:
        return isinstance(self.value, dict) and VALUE in self.value

    @property
    def asked(self) -> Any:
        return self.value[VALUE] if self.by_copilotkit else self.value

    @property
    def calls(self) -> Iterator[dict[str, Any]]:
        """The client tool calls by which CopilotKit's helper asks."""
        messages = self.value.get(MESSAGES) if self.by_copilotkit else None
        for message in messages if isinstance(messages, list) else ():
            for call in (message.get("tool_calls") or ()) if isinstance(message, dict) else ():
                if isinstance(call, dict) and isinstance(call.get("id"), str):
                    yield call


def opened(items: Any) -> Iterator[Open]:
    """Yield the interrupts of an update or a state, in the forms of several LangGraph versions."""
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            id = item.get("id") or item.get("interrupt_id") or str(number)
            yield Open(str(id)[:200], item.get("value"), item.get("response_schema"))


def question(item: Open, thread: uuid.UUID, *, in_words: bool = False) -> Interrupt:
    """Convert to an Interrupt event. `text_only`: the caller does not know this graph, so that without a
    schema the answer is text."""
    id = f"lg-{thread.hex}-{item.id}"
    if item.id.startswith(BREAKPOINT):
        node = item.id.removeprefix(BREAKPOINT)
        return Interrupt(id, "confirm", f"Go on with {node}?", APPROVAL)
    kind, schema = form(item.schema, in_words or isinstance(item.asked, str))
    return Interrupt(id, kind, phrase(item.asked), schema, value=item.asked)


def form(schema: Any, in_words: bool) -> tuple[Literal["ask", "form"], dict[str, Any]]:
    if not isinstance(schema, dict):
        return "ask", TEXT if in_words else {}
    return ("form" if isinstance(schema.get("properties"), dict) else "ask"), schema


def phrase(asked: Any) -> str:
    if isinstance(asked, str):
        return asked
    for key in _SAID if isinstance(asked, dict) else ():
        if isinstance(asked.get(key), str) and asked[key]:
            return str(asked[key])
    return msgspec.json.encode(asked).decode()


def place(interrupt: str) -> tuple[uuid.UUID, str] | None:
    """Return the thread and the graph's own id of an interrupt; None if the id is not ours."""
    found = _ID.fullmatch(interrupt)
    return (uuid.UUID(found[1]), found[2]) if found else None


def matched(answers: Iterable[Answer], waiting: list[Open]) -> dict[str, Any]:
    """Return resume values by the graph's ids. An answer without an id belongs to the first interrupt."""
    known = {item.id for item in waiting}
    found: dict[str, Any] = {}
    for answer in answers:
        where = place(answer.interrupt)
        id = where[1] if where else waiting[0].id if waiting and not answer.interrupt else ""
        if id in known:
            found[id] = value_of(answer)
    return {item.id: spoken(item, found[item.id]) for item in waiting if item.id in found}


def spoken(item: Open, value: Any) -> Any:
    """Wrap the value in a message for CopilotKit's helper, which reads the last message."""
    if not item.by_copilotkit or isinstance(value, list):
        return value
    return [{"type": "human", "content": value if isinstance(value, str) else phrase(value)}]


def value_of(answer: Answer) -> Any:
    """Return an answer's payload, or its text, decoded if that is a JSON object, array or boolean."""
    if answer.status == "cancelled":
        return CANCELLED if answer.payload is None else answer.payload
    if answer.text is None:
        # A graph treats null as no answer.
        return "" if answer.payload is None else answer.payload
    try:
        value = msgspec.json.decode(answer.text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return answer.text
    return value if isinstance(value, dict | list | bool) else answer.text
