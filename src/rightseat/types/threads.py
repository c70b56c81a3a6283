"""ThreadStore and the entries of a thread, numbered across its runs.

A thread's log holds events and, before each run, the client's UserInput. Adjacent deltas may be stored as one
EntryRow with the offset of each entry, so that a reader can start at any number.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from typing import Any, Protocol, TypeGuard, runtime_checkable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import Conflict
from rightseat.types.events import (
    CallArgs,
    Custom,
    Event,
    OpenMessageTracker,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
)
from rightseat.types.messages import Message
from rightseat.types.turn import Owner, Turn

MAX_TITLE_CHARS = 80
PAGE_BYTES = 1 << 20
# Numbers that a run reserves when it begins, more than it can use. If its process dies, the thread goes on after them:
# clients may have seen entries that were never stored, and their numbers must not mean anything else.
RUN_NUMBERS = 1 << 20
ANY_FENCE = 0
"""Fence of entries that are stored whoever has the thread. Fences of leases begin at 1."""
TAKE_OVER_NUMBERS = RUN_NUMBERS >> 2
"""Numbers that each worker of a run has. The next worker's entries begin after them: where the store failed, a client
may have seen entries that the store lacks."""
MAX_TAKE_OVERS = 2
"""Workers that a run may lose and go on."""
THREAD_BUSY = "Thread already running. Wait for its answer or stop it."
TRACE_EVENT = "trace"
"""Name of the Custom event, before a run's last one, that says how long each part of the run took."""
RUN_RESTARTED = RunFailed(
    "restarted", "The server was restarted in the middle of this answer. Ask again.", 503, retry_after=2
)


class UserInput(Struct, frozen=True, tag="Posted"):
    """Input of the client for the run that follows."""

    messages: tuple[Message, ...]
    state: Any = None
    """Agent state as the client has it: the base of the run's state deltas."""
    assistant: str = ""
    """Assistant of the run. A thread may have several."""
    after: tuple[str, ...] = ()
    """Ids of the answer that these messages follow. Later entries of the thread are not on the visible branch
    (see http/agui)."""
    resumed: bool = False
    """Whether it answers an interrupt: the branch continues, whatever history is posted with it."""


class Lease(Struct, frozen=True):
    """A run's right to write to its thread, until its end or until another worker takes the thread over."""

    before: int
    """Number of the thread's last entry before the run."""
    fence: int
    """Grows with each lease of the thread. The store refuses entries of an older one."""
    last: int = 0
    """Number after which a run that was taken over goes on; 0: it begins after `before`."""


class LeaseHolder(Struct, frozen=True):
    """Who has a thread: the run, the worker that runs it and its fence."""

    run: str
    worker: str
    fence: int
    before: int = 0
    """Number of the thread's last entry before the run."""


class ThreadBusy(Conflict):
    """Raised when another run has the thread."""

    def __init__(self, holder: LeaseHolder) -> None:
        super().__init__(THREAD_BUSY)
        self.holder = holder


class LeaseLost(Exception):
    """Raised when another worker has taken the thread over: nothing more of this run may be kept or shown."""


class RunEnded(Exception):
    """Raised when a run has ended already: its entries come after `before`, up to `last`."""

    def __init__(self, before: int, last: int) -> None:
        super().__init__(f"The run has ended: {before + 1}-{last}")
        self.before = before
        self.last = last


class OrphanedRun(Struct, frozen=True):
    """Run of a dead worker."""

    owner: Owner
    thread: str
    run: str


class StopPending(Exception):
    """A run that another worker has was asked to stop, and has not ended yet. It will, if the request `is_kept`."""

    def __init__(self, is_kept: bool) -> None:
        super().__init__()
        self.is_kept = is_kept


class RequestedStop(Struct, frozen=True):
    """Run that some worker's client has stopped, and that has not ended yet."""

    owner: Owner
    thread: str
    run: str


@runtime_checkable
class StopRecords(Protocol):
    """Store that keeps which runs shall stop. A message that tells their workers may be lost."""

    async def request_stop(self, owner: Owner, thread: str, run: str) -> bool:
        """Note that a run shall stop; return False if it does not have its thread."""
        ...

    async def list_stop_requests(self) -> list[RequestedStop]:
        """List the runs of this worker that shall stop."""
        ...


@runtime_checkable
class RecordedLeases(Protocol):
    """Store that writes the record of a run (`make_resume_key`) with its lease, in one operation: whoever finds the
    lease of a dead worker finds the record too. The store deletes it when the run has ended."""

    async def begin_recorded_run(
        self, owner: Owner, thread: str, run: str, *, assistant: str, name: str, digest: str, record: bytes
    ) -> Lease:
        """Lease the thread as `ThreadStore.begin_run` does, and keep the record until the run's last event."""
        ...


@runtime_checkable
class LeaseWatch(Protocol):
    """Store that lets entries be shown before they are kept while it is away. It learns later if their lease is
    another's by then."""

    lost_listeners: list[Callable[[str, str, int], None]]
    """Called with the owner's name, the thread and the fence of a lease whose entries were shown and are refused."""


ThreadEntry = Event | UserInput
NumberedEntry = tuple[int, ThreadEntry]
StoredListener = Callable[[int, bool], None]
"""Called when readers may have the entries of a lease up to a number, or if the lease is another's by now: then they
are never shown."""


class EntryLog(Protocol):
    """Log of one lease."""

    def append(self, number: int, entry: ThreadEntry) -> None:
        """Store an entry; its listener is told later, never during this call."""
        ...


@runtime_checkable
class LoggedLeases(Protocol):
    """Store that shows no entry before it is stored, and tells a listener of each lease instead of making futures."""

    def open_entry_log(self, owner: Owner, thread: str, fence: int, listener: StoredListener) -> EntryLog: ...


DeltaEvent = TextDelta | ReasoningDelta | CallArgs


class Thread(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    assistant: str
    created: float
    updated: float
    last: int = 0
    """Number of the newest entry."""
    size: int = 0
    archived: bool = False
    run: str = ""
    """Id of the active run."""


class Retention(Struct, frozen=True):
    """Retention limits. The oldest threads beyond them are deleted; a running thread never is."""

    days: float = 0
    """Days without use; 0: forever."""
    threads: int = 1000
    """Threads per owner."""
    thread_bytes: int = 16 << 20
    bytes: int = 1 << 30


@runtime_checkable
class ThreadStore(Protocol):
    """Keeps threads. The owner is the first part of every key: threads of other owners are invisible."""

    @property
    def worker(self) -> str:
        """Name of this process among those that share the store."""
        ...

    async def has_thread(self, owner: Owner, thread: str) -> bool: ...

    async def begin_run(
        self, owner: Owner, thread: str, run: str, *, assistant: str, name: str, digest: str = ""
    ) -> Lease:
        """Lease the thread to a run of this worker. The next RUN_NUMBERS numbers are the run's, whatever becomes of
        it. Raise ThreadBusy when another run has the thread, RunEnded when a run with this id and digest
        (`hash_input`) has ended in it. Create a missing thread with this name."""
        ...

    async def get_lease_holder(self, owner: Owner, thread: str) -> LeaseHolder | None:
        """Return who has the thread; None if no run has it."""
        ...

    async def list_lease_workers(self) -> set[str]:
        """Return the workers that have threads."""
        ...

    async def list_orphaned_runs(self, dead_workers: Collection[str]) -> list[OrphanedRun]:
        """Return the runs that these workers have."""
        ...

    async def take_over_run(self, owner: Owner, thread: str, holder: LeaseHolder) -> Lease | None:
        """Lease the thread of a dead worker's run to this worker, as one atomic operation: the run keeps its id and
        its entries, and those that the holder appends afterwards are refused. Return None, and change nothing, if
        `holder` has the thread no more."""
        ...

    async def end_orphaned_runs(
        self, dead_workers: Collection[str], keep: Collection[OrphanedRun] = ()
    ) -> list[OrphanedRun]:
        """Take over the threads that these workers have and end their runs as `restarted`, but those of `keep`.
        Entries that such a worker appends afterwards are refused."""
        ...

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
    ) -> asyncio.Future[None] | None:
        """Store entries from number `first` on, if the lease still has this fence. The run's last event ends the
        lease. Raises nothing: a run goes on although it cannot be stored. Readers are shown the entries when the
        returned future is done, or at once if there is none: those a crash may lose, such as deltas, and those that
        are stored already. The future raises LeaseLost if the lease is another's: such entries are never shown."""
        ...

    async def read_entries(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[NumberedEntry]:
        """Return the next page of entries, including all appended so far; empty at the end."""
        ...

    async def run_start(self, owner: Owner, thread: str, number: int) -> int:
        """Return the number before the first entry of the run that `number` belongs to."""
        ...

    async def get_thread(self, owner: Owner, thread: str) -> Thread | None: ...

    async def list_threads(
        self, owner: Owner, *, assistant: str | None = None, archived: bool = False, limit: int = 100, offset: int = 0
    ) -> list[Thread]:
        """Return threads, the newest first."""
        ...

    async def update_thread(
        self, owner: Owner, thread: str, *, name: str | None = None, archived: bool | None = None
    ) -> Thread | None: ...

    async def delete_thread(self, owner: Owner, thread: str) -> bool:
        """Delete the thread with its continuations, tool results and checkpoints."""
        ...

    async def close(self) -> None: ...


_DELTA_TYPES = (TextDelta, ReasoningDelta, CallArgs)
_RUN_END_TYPES = (RunFinished, RunFailed)


def is_delta(entry: ThreadEntry) -> TypeGuard[DeltaEvent]:
    return isinstance(entry, _DELTA_TYPES)


def is_run_end(entry: ThreadEntry) -> bool:
    return isinstance(entry, _RUN_END_TYPES)


def delta_text(entry: DeltaEvent) -> str:
    return entry.json if isinstance(entry, CallArgs) else entry.text


def with_delta_text(entry: DeltaEvent, text: str) -> DeltaEvent:
    return replace(entry, json=text) if isinstance(entry, CallArgs) else replace(entry, text=text)


class EntryRow(Struct, frozen=True):
    """One entry, or several deltas merged; `offsets` has the text length at each number."""

    first: int
    last: int
    entry: ThreadEntry
    offsets: tuple[int, ...] = ()

    def slice(self, after: int, until: int | None = None) -> NumberedEntry | None:
        """Return the part of the row after one number and up to another; None if it has none."""
        last = self.last if until is None else min(self.last, until)
        if last <= after or last < self.first:
            return None
        if not self.offsets or not is_delta(self.entry):
            return last, self.entry
        start = self.offsets[after - self.first] if after >= self.first else 0
        return last, with_delta_text(self.entry, delta_text(self.entry)[start : self.offsets[last - self.first]])


def merge_rows(numbered: Iterable[NumberedEntry]) -> list[EntryRow]:
    """Convert entries to rows; adjacent deltas of the same message or call are merged."""
    groups: list[list[NumberedEntry]] = []
    for item in numbered:
        if groups and is_adjacent(groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [merge_group(group) for group in groups]


def is_adjacent(previous: NumberedEntry, item: NumberedEntry) -> bool:
    """Whether an entry continues the delta before it, so that one row may hold both."""
    last, previous_entry = previous
    number, entry = item
    if type(entry) is TextDelta and type(previous_entry) is TextDelta:
        # Fast path: nearly all entries are text deltas.
        same = entry.id == previous_entry.id and number == last + 1
        return same and entry.logprobs is None and previous_entry.logprobs is None
    if number != last + 1 or type(entry) is not type(previous_entry) or not is_delta(entry):
        return False
    if not is_delta(previous_entry) or entry.id != previous_entry.id:
        return False
    # Log probabilities belong to their own text.
    return getattr(entry, "logprobs", None) is None and getattr(previous_entry, "logprobs", None) is None


def merge_group(group: Sequence[NumberedEntry]) -> EntryRow:
    """Make the row of adjacent entries."""
    (first, entry), (last, _) = group[0], group[-1]
    if len(group) == 1 or not is_delta(entry):
        return EntryRow(first, last, entry)
    pieces = [delta.text for _, delta in group if type(delta) is TextDelta]
    pieces = pieces or [delta_text(delta) for _, delta in group if is_delta(delta)]
    return EntryRow(first, last, with_delta_text(entry, "".join(pieces)), tuple(accumulate(map(len, pieces))))


def is_retryable(entries: Sequence[ThreadEntry]) -> bool:
    """Whether a run failed before it did anything. One that a crash ended may have done something."""
    return all(
        isinstance(entry, UserInput | RunStarted)
        or (isinstance(entry, RunFailed) and entry.code != RUN_RESTARTED.code)
        or (isinstance(entry, Custom) and entry.name == TRACE_EVENT)
        for entry in entries
    )


def make_restart_entries(entries: Iterable[ThreadEntry], thread: str, run: str) -> list[Event]:
    """Return what ends a run that its worker cannot end: the ends of its open messages, and `restarted`."""
    open_messages = OpenMessageTracker()
    events = [entry for entry in entries if not isinstance(entry, UserInput)]
    for event in events:
        open_messages.track(event)
    # RunStarted may not have been written; clients need it before the end.
    run_started: list[Event] = [] if events else [RunStarted(thread, run)]
    return [*run_started, *open_messages.end_events(), RUN_RESTARTED]


def find_take_over_number(before: int, last: int) -> int:
    """Return the number after which the next worker of a run writes. `before`: the last number before the run."""
    return before + ((last - before) // TAKE_OVER_NUMBERS + 1) * TAKE_OVER_NUMBERS


def make_resume_key(thread: str, run: str) -> str:
    """Return the key of the checkpoint that another worker goes on with, if the run's own worker dies."""
    return f"{thread}/resume/{run}"


def make_checkpoint_key(thread: str, run: str) -> str:
    """Return the key of the checkpoint of a model's turn."""
    return f"{thread}/calls/{run}"


def hash_input(turn: Turn) -> str:
    """Hash what a turn's client asks: its messages, the results of its tools, and its answers to questions."""
    messages = [(m.role, m.id, m.call_id, m.text) for m in turn.messages if m.role in ("user", "tool")]
    encoded = msgspec.json.encode([turn.assistant, messages, turn.answers], enc_hook=str)
    return hashlib.sha256(encoded).hexdigest()[:32]


def extract_user_input(turn: Turn, *, new: bool, results: bool = False) -> UserInput:
    """Return the posted messages that the thread does not have: all if it is new, else those after the last
    assistant message. Tool results of ours are in the log already and left out, unless `results` is set: such
    a client gives results of its own calls ids like ours."""
    messages = turn.messages
    last_answer = max((number for number, message in enumerate(messages) if message.role == "assistant"), default=-1)
    start = 0 if new else last_answer + 1
    before = [name for m in messages[start - 1 : start] for name in (m.id, *(c.id for c in m.calls)) if name]
    new_messages: list[Message] = []
    for m in messages[start:]:
        if new or results or m.id is None or m.id != f"result-{m.call_id}":
            new_messages.append(m)
        else:
            before.append(m.id)
    return UserInput(tuple(new_messages), turn.state, turn.assistant or "", tuple(before), bool(turn.answers))


MAX_TITLE_SOURCE = 4000
"""Characters of a message that its title is made from."""


def make_title(messages: Sequence[Message]) -> str:
    """Make the first title of a thread from the first user message."""
    first = next((message.text for message in messages if message.role == "user"), "")
    text = " ".join(first.lstrip()[:MAX_TITLE_SOURCE].split())
    return text if len(text) <= MAX_TITLE_CHARS else f"{text[: MAX_TITLE_CHARS - 1]}…"
