"""A peer's interrupts as Interrupt events, and answers in the peer's dialect.

Protocol 1.0 ends a run with the outcome `interrupt`, answered by `resume`. The legacy dialect sends a CUSTOM
event `on_interrupt`, mostly with a JSON text, answered by `forwardedProps.command.resume` without an id.
The id that we give an interrupt holds its dialect and thread.
"""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.types.events import Interrupt
from rightseat.types.tools import APPROVAL, TEXT
from rightseat.types.turn import Answer

_ID = re.compile(r"agui-([0-9a-f]{32})-([01])-(.{1,300})", re.DOTALL)
CANCELLED = {"cancelled": True}
"""Resume value for a cancelled interrupt in the legacy dialect, which has no status for it."""
# Keys of an interrupt's value that may hold the question.
_WORDS = ("message", "question", "prompt", "text", "title")
_APPROVALS = ("confirmation", "tool_call", "approval", "confirm")


class Place(Struct, frozen=True):
    """The parts of our interrupt id."""

    thread: uuid.UUID
    older: bool
    id: str
    """The peer's own id."""


def place(interrupt: str) -> Place | None:
    found = _ID.fullmatch(interrupt)
    return Place(uuid.UUID(found[1]), found[2] == "0", found[3]) if found else None


def thread_of(interrupt: str) -> uuid.UUID | None:
    at = place(interrupt)
    return at.thread if at else None


def asked(found: Any, thread: uuid.UUID) -> Interrupt | None:
    """Convert one interrupt of a run's outcome; None if it has no id."""
    if not isinstance(found, dict) or not isinstance(found.get("id"), str) or not found["id"]:
        return None
    reason = found.get("reason")
    kind, schema = shape(found.get("responseSchema"), reason in _APPROVALS)
    metadata = found.get("metadata")
    value = metadata if isinstance(metadata, dict) and not found.get("message") else found
    call = found.get("toolCallId")
    return Interrupt(
        f"agui-{thread.hex}-1-{found['id']}",
        kind,
        words(value) or str(reason or "") or "Please answer.",
        schema,
        call if isinstance(call, str) else None,
        moment(found.get("expiresAt")),
        found,
    )


def asked_before(value: Any, thread: uuid.UUID) -> Interrupt:
    """Convert the value of a legacy CUSTOM event, which has no reliable id: one is generated."""
    told = decoded(value) if isinstance(value, str) else value
    schema = told.get("responseSchema") or told.get("response_schema") if isinstance(told, dict) else None
    reason = told.get("reason") if isinstance(told, dict) else None
    kind, wanted = shape(schema, reason in _APPROVALS)
    message = words(told) or (value if isinstance(value, str) else msgspec.json.encode(value).decode())
    return Interrupt(f"agui-{thread.hex}-0-{secrets.token_hex(8)}", kind, message, wanted, value=told)


def shape(schema: Any, approval: bool) -> tuple[Literal["ask", "confirm", "form"], dict[str, Any]]:
    """Return the interrupt kind (text, confirmation or form) and the answer's schema."""
    if not isinstance(schema, dict) or not schema:
        return ("confirm", APPROVAL) if approval else ("ask", TEXT)
    if schema.get("type") == "string":
        return "ask", schema
    required = schema.get("required")
    return ("confirm" if required == ["approved"] else "form"), schema


def words(value: Any) -> str:
    """Return the text of an interrupt's value that a person can read, or an empty one."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    return next((value[key] for key in _WORDS if isinstance(value.get(key), str) and value[key]), "")


def moment(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None


def resumed(answers: tuple[Answer, ...]) -> list[dict[str, Any]]:
    """Build `resume` from the answers to protocol 1.0 interrupts."""
    found = [(answer, at) for answer in answers if (at := place(answer.interrupt)) and not at.older]
    return [
        {"interruptId": at.id, "status": "cancelled"}
        if answer.status == "cancelled"
        else {"interruptId": at.id, "status": "resolved", "payload": payload(answer)}
        for answer, at in found
    ]


def commanded(answers: tuple[Answer, ...]) -> dict[str, Any] | None:
    """Build `forwardedProps.command` from the answer to a legacy interrupt, or return None."""
    for answer in answers:
        if (at := place(answer.interrupt)) and at.older:
            return {"resume": CANCELLED if answer.status == "cancelled" else payload(answer)}
    return None


def payload(answer: Answer) -> Any:
    """Return an answer's payload, or its text, decoded if that is a JSON object, array or boolean."""
    if answer.payload is not None or answer.text is None:
        return answer.payload
    made = decoded(answer.text)
    return made if isinstance(made, dict | list | bool) else answer.text


def decoded(text: str) -> Any:
    """Decode JSON; return the text itself if it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
