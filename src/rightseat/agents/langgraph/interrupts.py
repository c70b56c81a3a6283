"""Interrupts of a graph → Interrupt events, and answers → resume values.

Our interrupt id contains the thread, because some clients do not send their thread with an answer.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct

from rightseat.agents._peer.json_text import decode_answer, dict_items, find_question_text, to_text
from rightseat.types.events import Interrupt
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.tools import APPROVAL_SCHEMA, TEXT_SCHEMA
from rightseat.types.turn import InterruptAnswer

_INTERRUPT_ID = re.compile(r"lg-([0-9a-f]{32})-(.{1,200})", re.DOTALL)
# Keys of an interrupt's value that may hold the question.
_TEXT_KEYS = ("message", "question", "prompt", "text", "description", "title")
COPILOTKIT_VALUE = "__copilotkit_interrupt_value__"
COPILOTKIT_MESSAGES = "__copilotkit_messages__"
BREAKPOINT_PREFIX = "at-"
CANCELLED = {"cancelled": True}


class GraphInterrupt(Struct, frozen=True):
    """An open interrupt: the value passed to `interrupt()`, or a breakpoint at a node."""

    id: str
    value: Any = None
    schema: Any = None

    @property
    def is_copilotkit(self) -> bool:
        return isinstance(self.value, dict) and COPILOTKIT_VALUE in self.value

    @property
    def question(self) -> Any:
        return self.value[COPILOTKIT_VALUE] if self.is_copilotkit else self.value

    @property
    def calls(self) -> Iterator[dict[str, Any]]:
        """The client tool calls by which CopilotKit's helper asks."""
        for message in dict_items(self.value.get(COPILOTKIT_MESSAGES)) if self.is_copilotkit else ():
            yield from (call for call in dict_items(message.get("tool_calls")) if isinstance(call.get("id"), str))


def parse_interrupts(items: Any) -> Iterator[GraphInterrupt]:
    """Yield the interrupts of an update or a state, in the forms of several LangGraph versions."""
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            id = item.get("id") or item.get("interrupt_id") or str(number)
            yield GraphInterrupt(str(id)[:200], item.get("value"), item.get("response_schema"))


def to_interrupt_event(
    item: GraphInterrupt, thread: uuid.UUID, *, text_only: bool = False, language: Language = "en"
) -> Interrupt:
    """Convert to an Interrupt event. `text_only`: the caller does not know this graph, so that without a
    schema the answer is text."""
    id = f"lg-{thread.hex}-{item.id}"
    if item.id.startswith(BREAKPOINT_PREFIX):
        node = item.id.removeprefix(BREAKPOINT_PREFIX)
        return Interrupt(id, "confirm", get_sentence("go_on", language, node=node), APPROVAL_SCHEMA)
    kind, schema = select_answer_form(item.schema, text_only or isinstance(item.question, str))
    return Interrupt(id, kind, format_question(item.question), schema, value=item.question)


def select_answer_form(schema: Any, text_only: bool) -> tuple[Literal["ask", "form"], dict[str, Any]]:
    if not isinstance(schema, dict):
        return "ask", TEXT_SCHEMA if text_only else {}
    return ("form" if isinstance(schema.get("properties"), dict) else "ask"), schema


def format_question(question: Any) -> str:
    return find_question_text(question, _TEXT_KEYS) or to_text(question)


def parse_interrupt_id(interrupt: str) -> tuple[uuid.UUID, str] | None:
    """Return the thread and the graph's own id of an interrupt; None if the id is not ours."""
    match = _INTERRUPT_ID.fullmatch(interrupt)
    return (uuid.UUID(match[1]), match[2]) if match else None


def match_answers(answers: Iterable[InterruptAnswer], interrupts: list[GraphInterrupt]) -> dict[str, Any]:
    """Return resume values by the graph's ids. An answer without an id belongs to the first interrupt."""
    known = {item.id for item in interrupts}
    values: dict[str, Any] = {}
    for answer in answers:
        parsed = parse_interrupt_id(answer.interrupt)
        id = parsed[1] if parsed else interrupts[0].id if interrupts and not answer.interrupt else ""
        if id in known:
            values[id] = decode_resume(answer)
    return {item.id: to_resume_value(item, values[item.id]) for item in interrupts if item.id in values}


def to_resume_value(item: GraphInterrupt, value: Any) -> Any:
    """Wrap the value in a message for CopilotKit's helper, which reads the last message."""
    if not item.is_copilotkit or isinstance(value, list):
        return value
    return [{"type": "human", "content": value if isinstance(value, str) else format_question(value)}]


def decode_resume(answer: InterruptAnswer) -> Any:
    if answer.status == "cancelled":
        return CANCELLED if answer.payload is None else answer.payload
    value = decode_answer(answer)
    # A graph treats null as no answer.
    return "" if value is None else value
