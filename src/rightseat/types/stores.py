"""Store and Continuation: the saved state of a turn that waits for a client or a person.

A Continuation holds everything the engine needs to resume, so any process that shares the Store can. It is
taken once. Doors see only its unguessable *resume token*, inside call ids (`call_<token>_<n>`), message ids
(`msg_<token>_<n>`) and interrupt ids (`ask_<token>_<n>`).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from rightseat.types.events import CallStart, Interrupt
from rightseat.types.messages import Message
from rightseat.types.tools import Ask
from rightseat.types.turn import Owner

LIFETIME = 3600.0
_ID = re.compile(r"(?:call|msg|ask)_([0-9a-f]{24})_\d+")


class Ids:
    """Generator of one run's ids, all with its resume token in them. A resumed run keeps its token."""

    def __init__(self, ticket: str | None = None, number: int = 0) -> None:
        self.ticket = ticket or secrets.token_hex(12)
        self.number = number

    def _next(self, kind: str) -> str:
        self.number += 1
        return f"{kind}_{self.ticket}_{self.number}"

    def call(self) -> str:
        return self._next("call")

    def message(self) -> str:
        return self._next("msg")

    def ask(self) -> str:
        return self._next("ask")


def ticket_of(id: str | None) -> str | None:
    """Return the resume token inside one of our ids; None for any other id."""
    found = _ID.fullmatch(id) if id else None
    return found[1] if found else None


def theirs(events: Iterable[object]) -> tuple[set[str], set[str]]:
    """Return the call ids of events and the resume tokens in them: the store keys of their results and
    continuations."""
    calls = {event.id for event in events if isinstance(event, CallStart | Interrupt)}
    return calls, {ticket for id in calls if (ticket := ticket_of(id))}


class Open(Struct, frozen=True):
    """Question that waits for its answer. `place`: index in the Pause. `again`: how often it was repeated."""

    interrupt: Interrupt
    ask: Ask
    place: int = 0
    again: int = 0
    given: dict[str, Any] = {}
    """Fields of a form that are answered already."""


class Kept(Struct, frozen=True):
    """State of a tool call: its result, its open questions, or the state of its paused tool."""

    result: str | None = None
    failed: bool = False
    client: bool = False
    open: tuple[Open, ...] = ()
    approved: bool = False
    paused: bool = False
    state: Any = None
    answers: tuple[Any, ...] = ()
    """Answers to earlier pauses; `fresh` has the answers to the open questions, by their place."""
    fresh: dict[int, Any] = {}

    @property
    def heard(self) -> tuple[Any, ...]:
        """All answers in the order of the questions."""
        return (*self.answers, *(self.fresh[place] for place in sorted(self.fresh)))


class Continuation(Struct, frozen=True, kw_only=True):
    ticket: str
    owner: Owner
    assistant: str
    added: tuple[Message, ...]
    """Messages of this run so far; the last is the assistant message with *all* its calls."""
    calls: dict[str, Kept]
    rounds: int
    number: int
    """Number of the last id generated."""
    digest: str
    expires: float


class Bound(Struct, frozen=True):
    """Question or client call that a conversation without ids waits for."""

    interrupt: str
    kind: Literal["ask", "confirm", "form", "call"]
    question: str


class Store(Protocol):
    """Keeps state that outlives a request. The owner is the first part of every key."""

    async def save(self, continuation: Continuation) -> None: ...

    async def take(self, owner: Owner, ticket: str) -> Continuation | None:
        """Remove and return the continuation; a second caller gets None."""
        ...

    async def bind(self, owner: Owner, conversation: str, bound: Bound) -> None: ...

    async def release(self, owner: Owner, conversation: str) -> Bound | None: ...

    async def remember(self, owner: Owner, results: dict[str, str]) -> None:
        """Keep the results of server calls by call id: a client's history is not trusted for them."""
        ...

    async def recall(self, owner: Owner, call_ids: list[str]) -> dict[str, str]: ...


@runtime_checkable
class Notes(Protocol):
    """Keeps checkpoints that survive the process, such as a flow's after each step. Optional for a Store;
    both of ours implement it."""

    async def note(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        """Keep or replace `body` under the key for `seconds`, else as long as a continuation. Keys that begin
        with a thread's id and a slash are deleted with the thread."""
        ...

    async def noted(self, owner: Owner, key: str) -> bytes | None: ...

    async def forget(self, owner: Owner, key: str) -> None: ...
