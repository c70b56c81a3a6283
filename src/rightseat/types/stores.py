"""Store and Continuation: the saved state of a turn that waits for a client or a person.

A Continuation holds everything the engine needs to resume, so any process that shares the Store can. It is
taken once. Doors see only its unguessable *resume token*, inside call ids (`call_<token>_<n>`), message ids
(`msg_<token>_<n>`) and interrupt ids (`ask_<token>_<n>`).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from rightseat.types.events import CallStart, Interrupt
from rightseat.types.messages import Message
from rightseat.types.tools import Ask
from rightseat.types.turn import Owner

CONTINUATION_SECONDS = 3600.0
_ID = re.compile(r"(?:call|msg|ask)_([0-9a-f]{24})_\d+")


class IdGenerator:
    """Generator of one run's ids, all with its resume token in them. A resumed run keeps its token."""

    def __init__(self, resume_token: str | None = None, last_number: int = 0) -> None:
        self.resume_token = resume_token or secrets.token_hex(12)
        self.last_number = last_number

    def _next(self, kind: str) -> str:
        self.last_number += 1
        return f"{kind}_{self.resume_token}_{self.last_number}"

    def new_call_id(self) -> str:
        return self._next("call")

    def new_message_id(self) -> str:
        return self._next("msg")

    def new_interrupt_id(self) -> str:
        return self._next("ask")


def parse_resume_token(id: str | None) -> str | None:
    """Return the resume token inside one of our ids; None for any other id."""
    match = _ID.fullmatch(id) if id else None
    return match[1] if match else None


def collect_ids_and_tokens(events: Iterable[object]) -> tuple[set[str], set[str]]:
    """Return the call ids of events and the resume tokens in them: the store keys of their results and
    continuations."""
    call_ids = {event.id for event in events if isinstance(event, CallStart | Interrupt)}
    return call_ids, {ticket for id in call_ids if (ticket := parse_resume_token(id))}


class OpenQuestion(Struct, frozen=True):
    """Question that waits for its answer. `place`: index in the Pause. `again`: how often it was repeated."""

    interrupt: Interrupt
    ask: Ask
    place: int = 0
    again: int = 0
    given: dict[str, Any] = {}
    """Fields of a form that are answered already."""


class CallState(Struct, frozen=True):
    """State of a tool call: its result, its open questions, or the state of its paused tool."""

    result: str | None = None
    failed: bool = False
    client: bool = False
    open: tuple[OpenQuestion, ...] = ()
    approved: bool = False
    paused: bool = False
    state: Any = None
    answers: tuple[Any, ...] = ()
    """Answers to earlier pauses; `fresh` has the answers to the open questions, by their place."""
    fresh: dict[int, Any] = {}

    @property
    def all_answers(self) -> tuple[Any, ...]:
        """All answers in the order of the questions."""
        return (*self.answers, *(self.fresh[place] for place in sorted(self.fresh)))


class Continuation(Struct, frozen=True, kw_only=True):
    ticket: str
    owner: Owner
    assistant: str
    added: tuple[Message, ...]
    """Messages of this run so far; the last is the assistant message with *all* its calls."""
    calls: dict[str, CallState]
    rounds: int
    number: int
    """Number of the last id generated."""
    digest: str
    expires: float

    def is_answered_by(self, assistant: str, answered_ids: Collection[str]) -> bool:
        """Whether one of these ids answers an open question or waiting client call of this assistant."""
        return self.assistant == assistant and any(
            (call.client and call.result is None and id in answered_ids)
            or any(question.interrupt.id in answered_ids for question in call.open)
            for id, call in self.calls.items()
        )


class PendingQuestion(Struct, frozen=True):
    """Question or client call that a conversation without ids waits for."""

    interrupt: str
    kind: Literal["ask", "confirm", "form", "call", "answered"]
    question: str
    """Its text as shown, without white space; the next message must follow it."""
    text: str = ""
    """Its text without the hint, to ask again."""
    request: str = ""
    """Hash of the messages whose run asked; the same messages once more are no answer."""
    answers: bool = False
    """Whether these messages answered a question before."""
    earlier: dict[str, str] = {}
    """In a thread: what the run has asked before this text, without white space, each with its interrupt."""
    places: tuple[str, ...] = ()
    """In a thread: hashes of the histories that end with an earlier question; a reply to them is no answer."""


@runtime_checkable
class Store(Protocol):
    """Keeps state that outlives a request. The owner is the first part of every key."""

    async def save_continuation(self, continuation: Continuation) -> None: ...

    async def take_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        """Remove and return the continuation if `Continuation.is_answered_by` holds, as one atomic operation:
        a second caller gets None, and one whose answer is for something else changes nothing."""
        ...

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None: ...

    async def get_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None: ...

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None: ...

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        """Keep the results of server calls by call id: a client's history is not trusted for them."""
        ...

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]: ...


@runtime_checkable
class CheckpointStore(Protocol):
    """Keeps checkpoints that survive the process, such as a flow's after each step. Optional for a Store;
    both of ours implement it."""

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        """Keep or replace `body` under the key for `seconds`, else as long as a continuation. Keys that begin
        with a thread's id and a slash are deleted with the thread."""
        ...

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None: ...

    async def delete_checkpoint(self, owner: Owner, key: str) -> None: ...
