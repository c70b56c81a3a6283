"""What is kept when a turn stops for the outside, and where it is kept.

A Continuation is everything the engine needs to go on, so that any process that shares the Store can. It is
taken once. Doors hold only its unguessable id, the *ticket*: inside call ids (`call_<ticket>_<n>`), message
ids (`msg_<ticket>_<n>`) and interrupt ids (`ask_<ticket>_<n>`).
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
    """The ids of one run, all with the run's ticket in them. A run that goes on keeps its ticket."""

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
    """The ticket inside one of our ids; None for anybody else's."""
    found = _ID.fullmatch(id) if id else None
    return found[1] if found else None


def theirs(events: Iterable[object]) -> tuple[set[str], set[str]]:
    """The calls of events, and the tickets in all their ids: by these their results and continuations are
    kept."""
    calls = {event.id for event in events if isinstance(event, CallStart | Interrupt)}
    return calls, {ticket for id in calls if (ticket := ticket_of(id))}


class Open(Struct, frozen=True):
    """A question that waits for its answer: which of a Pause's it is, and how often it was put again."""

    interrupt: Interrupt
    ask: Ask
    place: int = 0
    again: int = 0
    given: dict[str, Any] = {}
    """Of a form, what was answered already."""


class Kept(Struct, frozen=True):
    """A call's result, or that it waits, or what its tool left to be called again with."""

    result: str | None = None
    failed: bool = False
    client: bool = False
    open: tuple[Open, ...] = ()
    approved: bool = False
    paused: bool = False
    state: Any = None
    answers: tuple[Any, ...] = ()
    """To the questions of earlier pauses; `fresh` are those to the open ones, by their place."""
    fresh: dict[int, Any] = {}

    @property
    def heard(self) -> tuple[Any, ...]:
        """All answers in the order of the questions, whatever order they came in."""
        return (*self.answers, *(self.fresh[place] for place in sorted(self.fresh)))


class Continuation(Struct, frozen=True, kw_only=True):
    ticket: str
    owner: Owner
    assistant: str
    added: tuple[Message, ...]
    """What this run said so far; the last one is the assistant message with *all* its calls."""
    calls: dict[str, Kept]
    rounds: int
    number: int
    """Of the last id that was given out."""
    digest: str
    expires: float


class Bound(Struct, frozen=True):
    """The question, or the client's call, that a conversation without ids waits on."""

    interrupt: str
    kind: Literal["ask", "confirm", "form", "call"]
    question: str


class Store(Protocol):
    """Keeps what must outlive a request. The owner is the first part of every key."""

    async def save(self, continuation: Continuation) -> None: ...

    async def take(self, owner: Owner, ticket: str) -> Continuation | None:
        """The continuation, once: whoever comes second gets None."""
        ...

    async def bind(self, owner: Owner, conversation: str, bound: Bound) -> None: ...

    async def release(self, owner: Owner, conversation: str) -> Bound | None: ...

    async def remember(self, owner: Owner, results: dict[str, str]) -> None:
        """Keep what server calls gave, by call id: history may name it, but only we say what it was."""
        ...

    async def recall(self, owner: Owner, call_ids: list[str]) -> dict[str, str]: ...


@runtime_checkable
class Notes(Protocol):
    """Keeps how far something has come that must survive the process: a flow, after each of its steps. A
    Store may have it; both of ours do."""

    async def note(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        """Keep this under the key, in place of what was there; for so long, else as long as a continuation.
        What begins with a thread's id and a slash goes with the thread."""
        ...

    async def noted(self, owner: Owner, key: str) -> bytes | None: ...

    async def forget(self, owner: Owner, key: str) -> None: ...
