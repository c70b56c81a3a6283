"""Store and Continuation: the saved state of a turn that waits for a client or a person.

A Continuation holds everything the engine needs to resume, so any process that shares the Store can. One turn claims
it, and settles the claim once the answer's effects are recorded; if its worker dies before, it can be claimed again.
Doors see only its unguessable *resume token*, inside call ids (`call_<token>_<n>`), message ids (`msg_<token>_<n>`) and
interrupt ids (`ask_<token>_<n>`).
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

from msgspec import Struct

from rightseat.errors import Conflict, StoreFailed
from rightseat.types.events import CallStart, Interrupt
from rightseat.types.messages import Message
from rightseat.types.tools import Ask
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
CONTINUATION_SECONDS = 3600.0
_ID = re.compile(r"(?:call|msg|ask)_([0-9a-f]{24})_(\d+)")


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


def parse_id(id: str) -> tuple[str, int]:
    """Return the resume token and the number inside one of our ids; an empty token for any other id."""
    match = _ID.fullmatch(id)
    return (match[1], int(match[2])) if match else ("", 0)


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
    may_have_run: bool = False
    """Whether its open question is whether it shall run again: its worker died after it had begun."""

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
    claimed_by: str = ""
    """Worker whose turn resumes it; empty while it waits."""

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
    answered_kind: Literal["ask", "confirm", "form", "call", "answered"] = "ask"
    """Kind of the question, where `kind` says that it is answered."""


@runtime_checkable
class Store(Protocol):
    """Keeps state that outlives a request. The owner is the first part of every key."""

    async def save_continuation(self, continuation: Continuation) -> None: ...

    async def get_continuation(self, owner: Owner, resume_token: str) -> Continuation | None:
        """Return the continuation if it can be claimed now."""
        ...

    async def claim_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        """Claim and return the continuation if `Continuation.is_answered_by` holds, as one atomic operation: a second
        caller gets None while the claimant's worker lives, and one whose answer is for something else changes
        nothing."""
        ...

    async def settle_continuation(self, owner: Owner, resume_token: str) -> None:
        """Delete the continuation that this worker has claimed. One saved since the claim stays."""
        ...

    async def release_continuation(self, owner: Owner, resume_token: str) -> None:
        """Give up this worker's claim: the continuation can be claimed again."""
        ...

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None: ...

    async def get_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None: ...

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None: ...

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        """Keep the results of server calls by call id: a client's history is not trusted for them."""
        ...

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]: ...


@dataclass(slots=True)
class ContinuationClaim:
    """A turn's claim of a continuation. It is settled once, when the calls have run, or released if none has begun."""

    store: Store
    continuation: Continuation
    is_open: bool = True

    async def settle(self) -> None:
        if self.is_open:
            self.is_open = False
            try:
                await self.store.settle_continuation(self.continuation.owner, self.continuation.ticket)
            except StoreFailed:
                # The claim stays: nobody else runs the calls, and their results are kept by themselves.
                log.warning("an answered question is still kept: the store failed")

    async def release(self) -> None:
        if self.is_open:
            self.is_open = False
            await self.store.release_continuation(self.continuation.owner, self.continuation.ticket)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Release the claim if the turn fails before a call has begun: the questions stay open."""
        if error is not None:
            await self.release()


@runtime_checkable
class MonitoredStore(Protocol):
    """Store that says how it is."""

    @property
    def failure(self) -> str:
        """What is wrong and what to do, without names of files; empty if nothing is."""
        ...

    @property
    def usable(self) -> bool:
        """Whether anything can be read or kept at all."""
        ...


@runtime_checkable
class CheckpointStore(Protocol):
    """Keeps checkpoints that survive the process, such as a flow's after each step. Optional for a Store;
    both of ours implement it."""

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        """Keep or replace `body` under the key for `seconds`, else as long as a continuation. Keys that begin
        with a thread's id and a slash are deleted with the thread."""
        ...

    async def update_checkpoint(
        self, owner: Owner, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
    ) -> None:
        """Replace the checkpoint by what `update` makes of it, or delete it where that is None, as one atomic
        operation: no other worker changes it meanwhile. `update` is a quick function without side effects, which may
        run in another thread and more than once; if it raises a RightseatError, nothing is changed."""
        ...

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None: ...

    async def delete_checkpoint(self, owner: Owner, key: str) -> None: ...


class CheckpointChanged(Conflict):
    """Raised inside `replace_checkpoint` when another has written meanwhile."""


async def replace_checkpoint(
    store: CheckpointStore,
    owner: Owner,
    key: str,
    expected: bytes | None,
    body: bytes | None,
    seconds: float | None = None,
) -> bool:
    """Keep `body` under the key, or delete the checkpoint if it is None, where the store has exactly `expected` (None:
    no checkpoint). Return False, and change nothing, if another has written meanwhile."""

    def replace_expected(current: bytes | None) -> bytes | None:
        if current != expected:
            raise CheckpointChanged(f"The checkpoint {key} was changed by another run.")
        return body

    try:
        await store.update_checkpoint(owner, key, replace_expected, seconds)
    except CheckpointChanged:
        return False
    return True


@runtime_checkable
class SharedStore(Protocol):
    """Store that several workers may share."""

    @property
    def worker(self) -> str:
        """Name of this process among those that share the store."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other processes use the store at the same time."""
        ...

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        """Return those of the workers that have ended and never come back: what they had claimed is free."""
        ...


@runtime_checkable
class SharedCheckpointStore(SharedStore, CheckpointStore, Protocol):
    """Store of several workers that keeps checkpoints."""


def get_shared_store(store: object) -> SharedCheckpointStore | None:
    """Return the store if other workers use it now; None where this process is alone."""
    return store if isinstance(store, SharedCheckpointStore) and store.is_shared else None


@runtime_checkable
class ClockedStore(Protocol):
    """Store of several machines that has a clock for all of them."""

    def read_clock(self) -> float:
        """Return the seconds since the epoch by the store's clock."""
        ...
