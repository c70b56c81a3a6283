"""Interrupts of a graph → questions to a person, and a person's answers → what the graph goes on with.

A question's id has the thread in it, because some clients do not bring their thread along with an answer.
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
# Where a graph puts its question, if it asks with a value of its own shape.
_SAID = ("message", "question", "prompt", "text", "description", "title")
VALUE = "__copilotkit_interrupt_value__"
MESSAGES = "__copilotkit_messages__"
BREAKPOINT = "at-"
CANCELLED = {"cancelled": True}


class Open(Struct, frozen=True):
    """An interrupt that waits: what the graph gave `interrupt()`, or a node that it stops before."""

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
        """The calls that it waits for, where CopilotKit's helper asks by a tool of the page."""
        messages = self.value.get(MESSAGES) if self.by_copilotkit else None
        for message in messages if isinstance(messages, list) else ():
            for call in (message.get("tool_calls") or ()) if isinstance(message, dict) else ():
                if isinstance(call, dict) and isinstance(call.get("id"), str):
                    yield call


def opened(items: Any) -> Iterator[Open]:
    """The interrupts of an update or a state, in the shapes of several versions."""
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            id = item.get("id") or item.get("interrupt_id") or str(number)
            yield Open(str(id)[:200], item.get("value"), item.get("response_schema"))


def question(item: Open, thread: uuid.UUID, *, in_words: bool = False) -> Interrupt:
    """`in_words`: who asks it was not made for this graph, so an answer is words unless a form is given."""
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
    """The thread and the graph's own id of a question of ours."""
    found = _ID.fullmatch(interrupt)
    return (uuid.UUID(found[1]), found[2]) if found else None


def matched(answers: Iterable[Answer], waiting: list[Open]) -> dict[str, Any]:
    """Values by the graph's own ids. An answer without an id is for the first question that waits."""
    known = {item.id for item in waiting}
    found: dict[str, Any] = {}
    for answer in answers:
        where = place(answer.interrupt)
        id = where[1] if where else waiting[0].id if waiting and not answer.interrupt else ""
        if id in known:
            found[id] = value_of(answer)
    return {item.id: spoken(item, found[item.id]) for item in waiting if item.id in found}


def spoken(item: Open, value: Any) -> Any:
    """CopilotKit's helper waits for messages, and takes the last one."""
    if not item.by_copilotkit or isinstance(value, list):
        return value
    return [{"type": "human", "content": value if isinstance(value, str) else phrase(value)}]


def value_of(answer: Answer) -> Any:
    """What a component resolves with is a value, or the JSON of one, or words."""
    if answer.status == "cancelled":
        return CANCELLED if answer.payload is None else answer.payload
    if answer.text is None:
        # A graph takes null for no answer at all.
        return "" if answer.payload is None else answer.payload
    try:
        value = msgspec.json.decode(answer.text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return answer.text
    return value if isinstance(value, dict | list | bool) else answer.text
