"""A peer's questions as Interrupts, and the answers as the peer wants them, in both dialects.

Protocol 1.0 ends a run with the outcome `interrupt`, and is answered by `resume`. Before, a CUSTOM event
`on_interrupt` asks, mostly with a JSON text, and `forwardedProps.command.resume` answers it without a name.
Which one it was, and in which thread, is told by the id that we give the question.
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
"""What the older dialect is told where the person did not answer: it has no word for it."""
# Under which a question is found in the value that somebody's graph asks with.
_WORDS = ("message", "question", "prompt", "text", "title")
_APPROVALS = ("confirmation", "tool_call", "approval", "confirm")


class Place(Struct, frozen=True):
    """What a question of ours has in its id."""

    thread: uuid.UUID
    older: bool
    id: str
    """The peer's own."""


def place(interrupt: str) -> Place | None:
    found = _ID.fullmatch(interrupt)
    return Place(uuid.UUID(found[1]), found[2] == "0", found[3]) if found else None


def thread_of(interrupt: str) -> uuid.UUID | None:
    at = place(interrupt)
    return at.thread if at else None


def asked(found: Any, thread: uuid.UUID) -> Interrupt | None:
    """One of the outcome's interrupts."""
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
    """The CUSTOM event's value, which has no id of its own that could be trusted to be one."""
    told = decoded(value) if isinstance(value, str) else value
    schema = told.get("responseSchema") or told.get("response_schema") if isinstance(told, dict) else None
    reason = told.get("reason") if isinstance(told, dict) else None
    kind, wanted = shape(schema, reason in _APPROVALS)
    message = words(told) or (value if isinstance(value, str) else msgspec.json.encode(value).decode())
    return Interrupt(f"agui-{thread.hex}-0-{secrets.token_hex(8)}", kind, message, wanted, value=told)


def shape(schema: Any, approval: bool) -> tuple[Literal["ask", "confirm", "form"], dict[str, Any]]:
    """How the answer is asked for: words, yes or no, or a form."""
    if not isinstance(schema, dict) or not schema:
        return ("confirm", APPROVAL) if approval else ("ask", TEXT)
    if schema.get("type") == "string":
        return "ask", schema
    required = schema.get("required")
    return ("confirm" if required == ["approved"] else "form"), schema


def words(value: Any) -> str:
    """What can be shown to a person of what was asked with."""
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
    """`resume`, for the questions of protocol 1.0."""
    found = [(answer, at) for answer in answers if (at := place(answer.interrupt)) and not at.older]
    return [
        {"interruptId": at.id, "status": "cancelled"}
        if answer.status == "cancelled"
        else {"interruptId": at.id, "status": "resolved", "payload": payload(answer)}
        for answer, at in found
    ]


def commanded(answers: tuple[Answer, ...]) -> dict[str, Any] | None:
    """`forwardedProps.command`, for a question of the older dialect."""
    for answer in answers:
        if (at := place(answer.interrupt)) and at.older:
            return {"resume": CANCELLED if answer.status == "cancelled" else payload(answer)}
    return None


def payload(answer: Answer) -> Any:
    """A value as it was given; of words those that are JSON are what they stand for."""
    if answer.payload is not None or answer.text is None:
        return answer.payload
    made = decoded(answer.text)
    return made if isinstance(made, dict | list | bool) else answer.text


def decoded(text: str) -> Any:
    """The text itself, where it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
