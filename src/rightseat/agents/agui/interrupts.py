"""A peer's interrupts as Interrupt events, and answers in the peer's dialect.

Protocol 1.0 ends a run with the outcome `interrupt`, answered by `resume`. The legacy dialect sends a CUSTOM
event `on_interrupt`, mostly with a JSON text, answered by `forwardedProps.command.resume` without an id.
The id that we give an interrupt holds its dialect and thread.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import uuid
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from rightseat.agents._peer.json_text import decode_answer, decode_json_or_text, find_question_text, to_text
from rightseat.types.events import Interrupt
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.text import escape_invisible
from rightseat.types.tools import APPROVAL_SCHEMA, TEXT_SCHEMA
from rightseat.types.turn import InterruptAnswer, Owner

_INTERRUPT_ID = re.compile(r"agui-([0-9a-f]{32})-([01])-(.{1,300})", re.DOTALL)
CANCELLED = {"cancelled": True}
"""Resume value for a cancelled interrupt in the legacy dialect, which has no status for it."""
# Keys of an interrupt's value that may hold the question.
_TEXT_KEYS = ("message", "question", "prompt", "text", "title")
_APPROVAL_REASONS = ("confirmation", "tool_call", "approval", "confirm")
_OWNER_BYTES = 8


class AGUIInterruptId(Struct, frozen=True):
    thread: uuid.UUID
    is_legacy: bool
    id: str
    """The peer's own id."""


def parse_interrupt_id(interrupt: str) -> AGUIInterruptId | None:
    match = _INTERRUPT_ID.fullmatch(interrupt)
    return AGUIInterruptId(uuid.UUID(match[1]), match[2] == "0", match[3]) if match else None


def thread_of_interrupt(interrupt: str) -> uuid.UUID | None:
    parsed = parse_interrupt_id(interrupt)
    return parsed.thread if parsed else None


def interrupt_from_outcome(item: dict[str, Any], thread: uuid.UUID, language: Language) -> Interrupt | None:
    """Convert one interrupt of a run's outcome; None if it has no id."""
    if not isinstance(item.get("id"), str) or not item["id"]:
        return None
    reason = item.get("reason")
    kind, schema = select_answer_form(item.get("responseSchema"), reason in _APPROVAL_REASONS)
    metadata = item.get("metadata")
    value = metadata if isinstance(metadata, dict) and not item.get("message") else item
    call = item.get("toolCallId")
    message = find_question_text(value, _TEXT_KEYS) or str(reason or "") or get_sentence("please_answer", language)
    return Interrupt(
        f"agui-{thread.hex}-1-{item['id']}",
        kind,
        escape_invisible(message, keep="\n") if kind == "confirm" else message,
        schema,
        call if isinstance(call, str) else None,
        parse_timestamp(item.get("expiresAt")),
        item,
    )


def interrupt_from_custom(value: Any, thread: uuid.UUID) -> Interrupt:
    """Convert the value of a legacy CUSTOM event, which has no reliable id: one is generated."""
    content = decode_json_or_text(value) if isinstance(value, str) else value
    fields = content if isinstance(content, dict) else {}
    schema = fields.get("responseSchema") or fields.get("response_schema")
    kind, answer_schema = select_answer_form(schema, fields.get("reason") in _APPROVAL_REASONS)
    message = find_question_text(content, _TEXT_KEYS) or to_text(value)
    if kind == "confirm":
        message = escape_invisible(message, keep="\n")
    return Interrupt(f"agui-{thread.hex}-0-{secrets.token_hex(8)}", kind, message, answer_schema, value=content)


def select_answer_form(schema: Any, approval: bool) -> tuple[Literal["ask", "confirm", "form"], dict[str, Any]]:
    """Return the interrupt kind (text, confirmation or form) and the answer's schema."""
    if not isinstance(schema, dict) or not schema:
        return ("confirm", APPROVAL_SCHEMA) if approval else ("ask", TEXT_SCHEMA)
    if schema.get("type") == "string":
        return "ask", schema
    return ("confirm" if schema.get("required") == ["approved"] else "form"), schema


def parse_timestamp(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None


def build_resume(answers: tuple[InterruptAnswer, ...]) -> list[dict[str, Any]]:
    """Build `resume` from the answers to protocol 1.0 interrupts."""
    return [
        {"interruptId": at.id, "status": "cancelled"}
        if answer.status == "cancelled"
        else {"interruptId": at.id, "status": "resolved", "payload": decode_payload(answer)}
        for answer in answers
        if (at := parse_interrupt_id(answer.interrupt)) and not at.is_legacy
    ]


def build_command(answers: tuple[InterruptAnswer, ...]) -> dict[str, Any] | None:
    """Build `forwardedProps.command` from the answer to a legacy interrupt, or return None."""
    for answer in answers:
        if (at := parse_interrupt_id(answer.interrupt)) and at.is_legacy:
            return {"resume": CANCELLED if answer.status == "cancelled" else decode_payload(answer)}
    return None


def decode_payload(answer: InterruptAnswer) -> Any:
    return decode_answer(answer) if answer.payload is None else answer.payload


def make_peer_thread_id(owner: Owner, thread: str) -> uuid.UUID:
    """Return the id of a thread that a peer sees, distinct for each owner: the peer stores conversations by it."""
    digest = _digest("owner", owner.name) + _digest("thread", owner.name, thread)
    return uuid.UUID(bytes=digest, version=5)


def is_owned_by(thread: uuid.UUID, owner: Owner) -> bool:
    return thread.bytes[:_OWNER_BYTES] == make_peer_thread_id(owner, "").bytes[:_OWNER_BYTES]


def _digest(*parts: str) -> bytes:
    text = "\n".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_OWNER_BYTES]
