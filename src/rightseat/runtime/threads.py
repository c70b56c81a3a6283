"""Runs that outlive their client: one task writes a thread's log, readers follow it by entry number.

A disconnect cancels nothing; stopping is an explicit call; a run without readers is stopped after a while.
Readers follow an active run in an in-memory ring; older entries come from the ThreadStore. Entries are shown once
they are stored, deltas at once: after a crash the log may lack the last deltas, and contradicts nothing.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import INTERNAL_ERROR, Conflict, RightseatError, StoreDamaged, StoreFailed
from rightseat.runtime.runs import new_id
from rightseat.runtime.trace import RunTrace, current_trace
from rightseat.types.agents import Responder
from rightseat.types.events import Event, OpenMessageTracker, ReasoningDelta, RunFailed, TextDelta
from rightseat.types.live import LivePlane
from rightseat.types.streams import PushStream, closing
from rightseat.types.threads import (
    ANY_FENCE,
    RUN_NUMBERS,
    EntryLog,
    Lease,
    LeaseHolder,
    LeaseLost,
    LoggedLeases,
    NumberedEntry,
    RunEnded,
    ThreadBusy,
    ThreadEntry,
    ThreadStore,
    extract_user_input,
    hash_input,
    is_delta,
    is_run_end,
    make_title,
)
from rightseat.types.turn import Owner, Turn, measure_turn
from rightseat.types.workers import run_sized

if TYPE_CHECKING:
    from rightseat.runtime.takeover import StoredCheckpoints

log = logging.getLogger(__name__)
GetRunner = Callable[[Turn], Responder | None]
"""Returns what runs a turn again from its progress; None where a run cannot go on after its worker has died."""
ThreadKey = tuple[str, str]
RUN_STOPPED = RunFailed("stopped", "The answer was stopped.", 499, "caller")
RUN_BROKEN = RunFailed(INTERNAL_ERROR.code, INTERNAL_ERROR.message)
RUN_TOO_LONG = RunFailed("too_long", "The answer grew beyond what a thread may hold and was stopped.", 500)
MIN_ENTRY_SIZE = 32
# `ring_start` of a run that has not started.
EMPTY_RING = sys.maxsize


class RunLimits(Struct, frozen=True):
    orphan_seconds: float = 300.0
    run_bytes: int = 8 << 20
    ring_size: int = 4096
    """Entries kept in memory."""

    def __post_init__(self) -> None:
        if self.run_bytes // MIN_ENTRY_SIZE >= RUN_NUMBERS // 2:
            raise ValueError(f"run_bytes: a run has numbers for {RUN_NUMBERS // 2 * MIN_ENTRY_SIZE} bytes only")


class RunReader:
    """Reader of a run: the last `number` it has, and the future that wakes it."""

    __slots__ = ("number", "stream", "wakeup")

    def __init__(self, stream: PushStream[NumberedEntry], number: int) -> None:
        self.stream = stream
        self.number = number
        self.wakeup: asyncio.Future[None] | None = None

    def try_push(self, number: int, entry: ThreadEntry) -> bool:
        """Push a text delta directly to the stream's `on_item`; return False if the reader must be woken.
        Waking a task for each delta would double the cost."""
        on_item = self.stream.on_item
        if on_item is None or type(entry) is not TextDelta or not on_item((number, entry)):
            return False
        self.number = number
        return True

    def wake(self) -> None:
        if self.wakeup is not None and not self.wakeup.done():
            self.wakeup.set_result(None)


class ActiveRun:
    """Active run with the newest entries of its thread."""

    def __init__(self, turn: Turn, store: ThreadStore, ring_size: int) -> None:
        self.owner = turn.owner
        self.thread = turn.thread
        self.run = turn.run
        self.store = store
        self.ring: deque[ThreadEntry] = deque(maxlen=ring_size)
        self.before = self.last = self.shown = 0
        self.held = 0
        """Number of the last entry that is shown only when it is stored; 0 if none waits for that."""
        self.log: EntryLog | None = None
        """Takes the entries where the store has such logs; otherwise `append_entries` does."""
        self.unstored: dict[asyncio.Future[None], int] = {}
        """Number of the last entry that each write of the store has."""
        self.news = self.told = 0
        """Number of the newest entry that is no delta, and the last number that other workers were told of."""
        self.followed_until = 0.0
        """Until when another worker has a reader of this run, by the loop's clock."""
        self.ring_start = EMPTY_RING
        """The number before the first entry in the ring."""
        self.size = 0
        self.readers = 0
        self.fence = ANY_FENCE
        self.lease: Lease | None = None
        """Lease of a run that was taken over from a dead worker."""
        self.recording: asyncio.Future[bool] | None = None
        """Whether the run is recorded: another worker can go on with it if this one dies."""
        self.has_recorded_lease = False
        """Whether the store has the record with the lease, and deletes it after the run's end."""
        self.checkpoints: StoredCheckpoints | None = None
        self.is_handed_over = False
        """Whether this worker leaves the run to another one: it ends here without a word."""
        self.is_lost = False
        """Whether another worker has taken the thread over: nothing more is shown from here."""
        self.is_stored = False
        """Whether the store takes entries: not before the thread is leased, and not if the store failed."""
        self.ended = False
        self.rejection: RightseatError | None = None
        self.earlier: RunEnded | None = None
        """Where the run is that has this id and has ended: it is replayed."""
        self.started = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.orphan_timer: asyncio.TimerHandle | None = None
        self.waiting: list[RunReader] = []
        """Readers that have all entries."""
        self.create_future = asyncio.get_running_loop().create_future

    @property
    def is_begun(self) -> bool:
        """Whether the run has its thread. One that was refused has not."""
        return self.started.is_set() and self.rejection is None and self.earlier is None

    def start(self, lease: Lease) -> None:
        self.before = lease.before
        self.last = self.shown = self.ring_start = max(lease.before, lease.last)
        self.fence = lease.fence
        if isinstance(self.store, LoggedLeases):
            self.log = self.store.open_entry_log(self.owner, self.thread, lease.fence, self.on_stored)
        self.started.set()

    def append(self, entry: ThreadEntry) -> None:
        last = self.last + 1
        # Stored first: an entry that cannot be encoded raises here, before readers count on it.
        if self.is_stored:
            if self.log is None:
                self.store_entry(last, entry)
            else:
                self.log.append(last, entry)
                self.held = last
        ring = self.ring
        ring.append(entry)
        self.last = last
        self.ring_start = last - len(ring)
        if type(entry) is TextDelta:
            self.size += len(entry.text) + MIN_ENTRY_SIZE
        else:
            self.size += len(entry.text) + MIN_ENTRY_SIZE if isinstance(entry, ReasoningDelta) else 256
            if not is_delta(entry):
                self.news = last
        if self.held:
            return
        self.shown = last
        for reader in tuple(self.waiting):
            if not reader.try_push(last, entry):
                self.waiting.remove(reader)
                reader.wake()
        self.tell(last)

    def store_entry(self, number: int, entry: ThreadEntry) -> None:
        """Store an entry, and hold it back if readers must wait for that."""
        stored = self.store.append_entries(self.owner, self.thread, number, (entry,), self.fence)
        if stored is not None:
            self.held = number
            # One callback for each write of the store, which may have many entries.
            if stored not in self.unstored:
                stored.add_done_callback(self.on_written)
            self.unstored[stored] = number

    def tell(self, number: int) -> None:
        """Tell other workers that the store has the entries up to a number; here there are none."""

    def append_end(self, entry: ThreadEntry) -> None:
        """Append one of the entries that end a broken run. Readers get it even if the store does not take it."""
        try:
            self.append(entry)
        except Exception:
            log.exception("the end of a run could not be kept")
            self.is_stored = False
            self.append(entry)

    def on_written(self, stored: asyncio.Future[None]) -> None:
        self.on_stored(self.unstored.pop(stored), isinstance(stored.exception(), LeaseLost))

    def on_stored(self, number: int, is_lost: bool) -> None:
        """Show the entries up to a number, and deltas that follow them. If another worker has the thread by now, stop
        the run without a word."""
        if is_lost:
            self.stop_lost()
        if self.is_lost:
            self.wake_readers()
            self.tell(number)
            return
        if number == self.held:
            self.held, self.shown = 0, self.last
        elif number > self.shown:
            self.shown = number
        if self.ended:
            self.wake_readers()
        else:
            for reader in tuple(self.waiting):
                if not self.push_shown(reader):
                    self.waiting.remove(reader)
                    reader.wake()
        if self.told < self.news or self.followed_until:
            self.tell(number)

    def push_shown(self, reader: RunReader) -> bool:
        """Push the entries that a waiting reader may have by now; return False if it must be woken."""
        while (number := reader.number) < self.shown:
            if number < self.ring_start:
                return False
            if number + 1 == self.shown:
                return reader.try_push(self.shown, self.ring[number - self.ring_start])
            if not reader.try_push(*self.read_ring(number)):
                return False
        return True

    def stop_lost(self) -> None:
        """Stop the run, whose thread another worker has by now, without a word."""
        self.lose()
        if self.task is not None:
            self.task.cancel()

    def lose(self) -> None:
        """Leave the run to another worker. Without a ring readers go on with what the store has."""
        self.is_lost = True
        self.is_stored = False
        self.ring, self.last, self.ring_start = deque(maxlen=0), EMPTY_RING, EMPTY_RING
        self.wake_readers()

    def end(self) -> None:
        self.ended = True
        self.started.set()
        self.wake_readers()

    def wake_readers(self) -> None:
        waiting, self.waiting = self.waiting, []
        for reader in waiting:
            reader.wake()

    def read_ring(self, number: int) -> NumberedEntry:
        """Return the ring's next entry after a number; text deltas that a slow reader missed are merged, as
        in the ThreadStore."""
        ring, gone, last = self.ring, self.ring_start, self.shown
        entry = ring[number - gone]
        number += 1
        if type(entry) is not TextDelta or entry.logprobs is not None:
            return number, entry
        texts = [entry.text]
        while number < last:
            next_entry = ring[number - gone]
            if type(next_entry) is not TextDelta or next_entry.id != entry.id or next_entry.logprobs is not None:
                break
            texts.append(next_entry.text)
            number += 1
        return number, TextDelta(entry.id, "".join(texts))


class RunDescription(TypedDict):
    """What the store keeps of a run besides its id."""

    assistant: str
    name: str
    digest: str


async def describe_run(turn: Turn) -> RunDescription:
    digest = await run_sized(measure_turn(turn), hash_input, turn)
    return {"assistant": turn.assistant or "", "name": make_title(turn.messages), "digest": digest}


def ignore_unkept() -> None:
    """Count nothing."""


class ThreadRuns:
    """Active runs of this process by thread. A thread has at most one run at a time."""

    plane: LivePlane | None = None
    """Carries messages to the other workers; None where this process is alone."""

    def __init__(self, store: ThreadStore, limits: RunLimits = RunLimits()) -> None:
        self.store = store
        self.limits = limits
        self.active_runs: dict[ThreadKey, ActiveRun] = {}
        self.get_runner: GetRunner | None = None
        """Set by the Runtime: finds what goes on with a run of a dead worker."""
        self.on_unkept: Callable[[], None] = ignore_unkept
        """Called for each run that the store cannot keep."""
        self.keeps_trace = False
        """Whether a run's entries have its trace; set by the Runtime."""
        self.is_leaving = False
        """Whether this worker is about to end: it takes no run over."""
        self.config_digest = ""
        """Digest of the configuration that this worker has, which it tells on request."""

    async def open(self) -> None:
        """Begin to work with other workers, if there are any."""

    def make_run(self, turn: Turn) -> ActiveRun:
        return ActiveRun(turn, self.store, self.limits.ring_size)

    async def start(self, turn: Turn, respond: Responder) -> AsyncIterator[NumberedEntry]:
        """Start a run on its thread and return its entries, from the user input to the end. The same run id
        joins the active run, or replays it after its end; another one on a busy thread raises Conflict."""
        turn = replace(turn, thread=turn.thread or new_id(), run=turn.run or new_id(), recording="never")
        key = (turn.owner.name, turn.thread)
        active = self.active_runs.get(key)
        if active is None:
            active = self.active_runs[key] = self.make_run(turn)
            # A task of its own: the client may disconnect at any time.
            active.task = asyncio.create_task(self.record_run(turn, active, respond))
            self.update_orphan_timer(active)
        elif active.run != turn.run:
            raise ThreadBusy(LeaseHolder(active.run, self.store.worker, active.fence, active.before))
        await active.started.wait()
        if active.rejection is not None:
            raise active.rejection
        if active.earlier is not None:
            return self.replay(turn.owner, turn.thread, active.earlier.before, active.earlier.last)
        return self.subscribe(active, active.before)

    async def record_run(self, turn: Turn, active: ActiveRun, respond: Responder) -> None:
        open_messages = OpenMessageTracker()
        trace = RunTrace(turn)
        current_trace.set(trace)
        failure: RunFailed | None = None
        try:
            await self.begin_run(turn, active)
            async with closing(respond(turn)) as events:
                async for event in events:
                    if type(event) is not TextDelta:
                        open_messages.track(event)
                        self.check_leaving(active, event)
                        self.append_trace(active, trace, event)
                    elif trace.awaits_text:
                        trace.on_first_text()
                    active.append(event)
                    if active.size > self.limits.run_bytes:
                        failure = RUN_TOO_LONG
                        break
        except (Conflict, StoreFailed) as error:
            active.rejection = error
        except RunEnded as ended:
            active.earlier = ended
        except asyncio.CancelledError:
            # Stopped: the entries so far stay, and open messages are ended. Another worker does that itself.
            failure = None if active.is_handed_over else RUN_STOPPED
        except Exception:
            log.exception("an event of a run could not be kept")
            failure = RUN_BROKEN
        finally:
            if failure is not None:
                self.append_failure(active, trace, (*open_messages.end_events(), failure))
            self.remove_run(active)
        await self.settle_progress(turn, active)

    async def settle_progress(self, turn: Turn, active: ActiveRun) -> None:
        """Delete what another worker needs to go on with a run, or leave it to that one; here there is none."""

    def append_failure(self, active: ActiveRun, trace: RunTrace, events: Sequence[Event]) -> None:
        """Append the events that end a broken run, unless it has ended or is another worker's."""
        if active.is_lost or (active.ring and is_run_end(active.ring[-1])):
            return
        for event in events:
            self.append_trace(active, trace, event)
            active.append_end(event)

    def append_trace(self, active: ActiveRun, trace: RunTrace, event: Event) -> None:
        """Note an event in the run's trace, and append the trace before the event that ends the run."""
        trace.on_event(event)
        if self.keeps_trace and is_run_end(event):
            active.append_end(trace.to_event(event))

    def remove_run(self, active: ActiveRun) -> None:
        active.end()
        key = (active.owner.name, active.thread)
        # One that was refused may have been replaced by the run that has the thread.
        if self.active_runs.get(key) is active:
            del self.active_runs[key]
        self.update_orphan_timer(active)

    async def begin_run(self, turn: Turn, active: ActiveRun) -> None:
        """Lease the thread and append the user input. If the store fails, a new question is answered unstored."""
        if active.lease is not None:
            active.is_stored = True
            active.start(active.lease)
            return
        try:
            lease = await self.lease_thread(turn, active)
            active.is_stored = True
        except StoreDamaged:
            # Whether this run has run before cannot be read.
            raise
        except StoreFailed:
            if turn.is_continuation:
                # What it continues is in the store.
                raise
            log.warning("the answer in a thread is not kept: the store failed")
            self.on_unkept()
            lease = Lease(0, ANY_FENCE)
        active.start(lease)
        self.append_user_input(turn, active)

    async def lease_thread(self, turn: Turn, active: ActiveRun) -> Lease:
        """Lease the thread to the run; raises what `ThreadStore.begin_run` does."""
        return await self.store.begin_run(turn.owner, turn.thread, turn.run, **await describe_run(turn))

    def append_user_input(self, turn: Turn, active: ActiveRun) -> None:
        user_input = extract_user_input(turn, new=active.before == 0)
        if user_input.messages or user_input.state:
            active.append(user_input)

    def follow(self, owner: Owner, thread: str, after: int = 0) -> AsyncIterator[NumberedEntry]:
        """Stream a thread's entries after a number, then those of its active run as they come."""
        active = self.active_runs.get((owner.name, thread))
        return self.replay(owner, thread, after) if active is None else self.subscribe(active, after)

    async def replay(
        self, owner: Owner, thread: str, after: int, until: int | None = None
    ) -> AsyncIterator[NumberedEntry]:
        while page := await self.store.read_entries(owner, thread, after, until):
            for item in page:
                yield item
            after = page[-1][0]

    def subscribe(self, active: ActiveRun, after: int) -> AsyncIterator[NumberedEntry]:
        """Return a stream of the thread after a number, up to the end of its active run."""
        push_stream = PushStream[NumberedEntry]()
        push_stream.stream = self.stream_run(active, RunReader(push_stream, after))
        return push_stream

    async def stream_run(self, active: ActiveRun, reader: RunReader) -> AsyncGenerator[NumberedEntry, None]:
        active.readers += 1
        self.update_orphan_timer(active)
        try:
            while not active.is_lost:
                # Inlined: a function or generator of its own would cost time for every token.
                while (number := reader.number) >= active.ring_start:
                    if number + 1 == active.shown:
                        entry = active.ring[number - active.ring_start]
                        reader.number = number = number + 1
                        yield number, entry
                    elif number < active.shown:
                        item = active.read_ring(number)
                        reader.number = item[0]
                        yield item
                    elif active.ended and number >= active.last:
                        return
                    else:
                        reader.wakeup = wakeup = active.create_future()
                        active.waiting.append(reader)
                        await wakeup
                page = await self.store.read_entries(active.owner, active.thread, number)
                for item in page:
                    reader.number = item[0]
                    yield item
                if not page and not active.is_lost:
                    await active.started.wait()
                    # Entries that the store failed to keep are lost: continue with the ring.
                    reader.number = max(number, active.ring_start)
            async with closing(self.stream_lost(active, reader.number)) as items:
                async for item in items:
                    yield item
        finally:
            if reader in active.waiting:
                active.waiting.remove(reader)
            active.readers -= 1
            self.update_orphan_timer(active)

    async def stream_lost(self, active: ActiveRun, after: int) -> AsyncGenerator[NumberedEntry, None]:
        """Stream the rest of a run that another worker has taken over."""
        async with closing(self.replay(active.owner, active.thread, after)) as items:
            async for item in items:
                yield item
                if item[0] > active.before and is_run_end(item[1]):
                    return

    async def read_run_until(self, owner: Owner, thread: str, number: int) -> list[ThreadEntry]:
        """Return the entries of a run up to a number, for the run that this number belongs to."""
        after = await self.store.run_start(owner, thread, number)
        entries: list[ThreadEntry] = []
        while after < number and (page := await self.store.read_entries(owner, thread, after, number)):
            entries += [entry for _, entry in page]
            after = page[-1][0]
        return entries

    async def stop(self, owner: Owner, thread: str) -> bool:
        """Stop the thread's run; return False if none was active. Raise StopPending if it has not ended in time."""
        active = self.active_runs.get((owner.name, thread))
        return active is not None and await self.stop_run(active)

    async def stop_run(self, active: ActiveRun) -> bool:
        # Wait for the lease: otherwise it would never be released.
        await active.started.wait()
        if active.ended or active.task is None:
            return False
        active.task.cancel()
        await asyncio.wait([active.task])
        return True

    async def delete(self, owner: Owner, thread: str) -> bool:
        await self.stop(owner, thread)
        return await self.store.delete_thread(owner, thread)

    def update_orphan_timer(self, active: ActiveRun) -> None:
        """Start or cancel the timer that stops a run without readers."""
        if active.orphan_timer is not None:
            active.orphan_timer.cancel()
            active.orphan_timer = None
        if not active.ended and active.readers == 0:
            loop = asyncio.get_running_loop()
            active.orphan_timer = loop.call_later(self.limits.orphan_seconds, self.stop_orphan, active)

    def stop_orphan(self, active: ActiveRun) -> None:
        if not active.started.is_set():
            self.update_orphan_timer(active)
        elif active.task is not None and active.readers == 0:
            active.task.cancel()

    def check_leaving(self, active: ActiveRun, event: Event) -> None:
        """Raise CancelledError where a run is left to another worker with this event, which is appended."""

    async def hand_over(self, seconds: float) -> None:
        """Leave to other workers what they can go on with, within some seconds."""

    async def leave(self) -> None:
        """Tell the other workers that this one has ended, before it has."""

    async def close(self) -> None:
        """Stop all active runs."""
        await asyncio.gather(*(self.stop_run(live) for live in list(self.active_runs.values())))
