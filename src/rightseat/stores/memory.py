"""MemoryStore: a bounded store that lives as long as the process."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.types.events import TextDelta
from rightseat.types.stores import CONTINUATION_SECONDS, Continuation, PendingQuestion, collect_ids_and_tokens
from rightseat.types.threads import (
    ANY_FENCE,
    PAGE_BYTES,
    RUN_NUMBERS,
    EntryRow,
    Lease,
    LeaseHolder,
    LeaseLost,
    NumberedEntry,
    OrphanedRun,
    Retention,
    RunEnded,
    Thread,
    ThreadBusy,
    ThreadEntry,
    find_take_over_number,
    is_adjacent,
    is_delta,
    is_retryable,
    is_run_end,
    make_restart_entries,
    merge_group,
    merge_rows,
)
from rightseat.types.turn import Owner

V = TypeVar("V")
ROW_BYTES, OFFSET_BYTES = 48, 8


class LogRow(Struct, frozen=True):
    run: int
    size: int
    row: EntryRow


@dataclass(slots=True)
class ThreadLog:
    """Log of one thread. Counters that change with every entry are kept outside the frozen Thread value."""

    metadata: Thread
    updated: float
    last: int = 0
    size: int = 0
    run: str = ""
    worker: str = ""
    """Worker that has the thread."""
    begun_after: int = 0
    """Number of the last entry before the newest run."""
    run_count: int = 0
    """Number of the newest run, and fence of its lease."""
    rows: list[LogRow] = field(default_factory=list)
    runs: dict[tuple[str, str], int] = field(default_factory=dict)
    """Numbers of runs by their id and digest."""

    @property
    def thread(self) -> Thread:
        return replace(self.metadata, updated=self.updated, last=self.last, size=self.size, run=self.run)

    @property
    def holder(self) -> LeaseHolder:
        return LeaseHolder(self.run, self.worker, self.run_count, self.begun_after)

    def add(self, row: EntryRow) -> None:
        if type(row.entry) is not TextDelta and not is_delta(row.entry):
            self.fold_text()
        size = measure_row(row)
        self.rows.append(LogRow(self.run_count, size, row))
        self.last = row.last
        self.size += size

    def fold_text(self) -> None:
        """Make one row of the deltas that end the log: the objects of each would take many times the size of its
        text."""
        rows, start = self.rows, len(self.rows) - 1
        while start > 0 and is_folded(rows[start - 1].row, rows[start].row):
            start -= 1
        if start >= len(rows) - 1:
            return
        row = merge_group([(log_row.row.last, log_row.row.entry) for log_row in rows[start:]])
        size = measure_row(row)
        self.size += size - sum(log_row.size for log_row in rows[start:])
        rows[start:] = [LogRow(rows[start].run, size, row)]

    def find_ended_run(self, run: str, digest: str) -> RunEnded | None:
        """Return where a run with this id and digest is; None if there is none, or it did nothing."""
        number = self.runs.get((run, digest))
        if number is None:
            return None
        rows = [log_row.row for log_row in self.rows if log_row.run == number]
        return None if is_retryable([row.entry for row in rows]) else RunEnded(rows[0].first - 1, rows[-1].last)


def measure_row(row: EntryRow) -> int:
    """Return about how many bytes a row takes."""
    entry = row.entry
    if isinstance(entry, TextDelta):
        return len(entry.text) + ROW_BYTES + OFFSET_BYTES * len(row.offsets)
    return len(msgspec.json.encode(entry, enc_hook=str))


def is_folded(before: EntryRow, row: EntryRow) -> bool:
    """Whether two rows of the log become one when their text ends."""
    is_single = not before.offsets and not row.offsets
    return is_single and is_adjacent((before.last, before.entry), (row.first, row.entry))


class ExpiringItem(NamedTuple, Generic[V]):
    expires: float
    weight: int
    value: V


class ExpiringMap(Generic[V]):
    """Mapping that drops items older than `lifetime`, and the oldest ones when over its capacity."""

    def __init__(self, capacity: int, lifetime: float, clock: Callable[[], float]) -> None:
        self.capacity = capacity
        self.lifetime = lifetime
        self.clock = clock
        self.weight = 0
        self.items: OrderedDict[tuple[str, str], ExpiringItem[V]] = OrderedDict()

    def put(self, owner: Owner, key: str, value: V, seconds: float | None = None) -> None:
        now = self.clock()
        self.drop((owner.name, key))
        weight = len(value if isinstance(value, bytes) else msgspec.json.encode(value, enc_hook=str))
        self.items[owner.name, key] = ExpiringItem(now + (seconds or self.lifetime), weight, value)
        self.weight += weight
        while self.items and (self.weight > self.capacity or next(iter(self.items.values())).expires < now):
            self.drop(next(iter(self.items)))

    def drop(self, key: tuple[str, str]) -> None:
        item = self.items.pop(key, None)
        self.weight -= item.weight if item else 0

    def get(self, owner: Owner, key: str) -> V | None:
        item = self.items.get((owner.name, key))
        return item.value if item and item.expires >= self.clock() else None

    def pop(self, owner: Owner, key: str) -> V | None:
        value = self.get(owner, key)
        self.drop((owner.name, key))
        return value


class MemoryStore:
    def __init__(
        self,
        *,
        capacity: int = 64 << 20,
        lifetime: float = CONTINUATION_SECONDS,
        clock: Callable[[], float] | None = None,
        retention: Retention = Retention(bytes=256 << 20),
        worker: str = "1",
    ) -> None:
        self.worker = worker
        self.retention = retention
        self.clock = clock or time.time
        self.logs: OrderedDict[tuple[str, str], ThreadLog] = OrderedDict()
        # Monotonic: a changed system clock must not expire what waits for an answer.
        limits = (capacity, lifetime, clock or time.monotonic)
        self.continuations: ExpiringMap[Continuation] = ExpiringMap(*limits)
        self.pending_questions: ExpiringMap[PendingQuestion] = ExpiringMap(*limits)
        self.results: ExpiringMap[str] = ExpiringMap(*limits)
        self.checkpoints: ExpiringMap[bytes] = ExpiringMap(*limits)

    # SharedStore

    @property
    def is_shared(self) -> bool:
        return False

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return set(workers) - {self.worker}

    # Store and CheckpointStore

    async def save_continuation(self, continuation: Continuation) -> None:
        self.continuations.put(continuation.owner, continuation.ticket, continuation)

    async def get_continuation(self, owner: Owner, resume_token: str) -> Continuation | None:
        continuation = self.continuations.get(owner, resume_token)
        if continuation is not None and continuation.claimed_by:
            if not await self.find_dead([continuation.claimed_by]):
                return None
            continuation = replace(continuation, claimed_by="")
        return continuation

    async def claim_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        continuation = await self.get_continuation(owner, resume_token)
        if continuation is None or not continuation.is_answered_by(assistant, answered_ids):
            return None
        self.continuations.put(owner, resume_token, replace(continuation, claimed_by=self.worker))
        return continuation

    async def settle_continuation(self, owner: Owner, resume_token: str) -> None:
        if self.has_claimed(owner, resume_token):
            self.continuations.drop((owner.name, resume_token))

    async def release_continuation(self, owner: Owner, resume_token: str) -> None:
        continuation = self.continuations.get(owner, resume_token)
        if continuation is not None and self.has_claimed(owner, resume_token):
            self.continuations.put(owner, resume_token, replace(continuation, claimed_by=""))

    def has_claimed(self, owner: Owner, resume_token: str) -> bool:
        continuation = self.continuations.get(owner, resume_token)
        return continuation is not None and continuation.claimed_by == self.worker

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None:
        self.pending_questions.put(owner, conversation, question)

    async def get_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        return self.pending_questions.get(owner, conversation)

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        return self.pending_questions.pop(owner, conversation)

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        for call_id, text in results.items():
            self.results.put(owner, call_id, text)

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        results = {call_id: self.results.get(owner, call_id) for call_id in call_ids}
        return {call_id: text for call_id, text in results.items() if text is not None}

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        self.checkpoints.put(owner, key, body, seconds)

    async def update_checkpoint(
        self, owner: Owner, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
    ) -> None:
        body = update(self.checkpoints.get(owner, key))
        if body is None:
            self.checkpoints.drop((owner.name, key))
        else:
            self.checkpoints.put(owner, key, body, seconds)

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None:
        return self.checkpoints.get(owner, key)

    async def delete_checkpoint(self, owner: Owner, key: str) -> None:
        self.checkpoints.drop((owner.name, key))

    # ThreadStore

    async def has_thread(self, owner: Owner, thread: str) -> bool:
        return (owner.name, thread) in self.logs

    async def begin_run(
        self, owner: Owner, thread: str, run: str, *, assistant: str, name: str, digest: str = ""
    ) -> Lease:
        now = self.clock()
        key = (owner.name, thread)
        log = self.logs.get(key)
        if log is None:
            new_thread = Thread(id=thread, name=name, assistant=assistant, created=now, updated=now)
            log = self.logs[key] = ThreadLog(new_thread, now)
        elif log.run:
            raise ThreadBusy(log.holder)
        elif digest and (ended := log.find_ended_run(run, digest)):
            raise ended
        log.run, log.worker, log.updated = run, self.worker, now
        log.begun_after = log.last
        log.run_count += 1
        if digest:
            log.runs[run, digest] = log.run_count
        self.logs.move_to_end(key)
        self.drop_oldest_runs(log)
        self.evict_threads(owner)
        return Lease(log.last, log.run_count)

    async def get_lease_holder(self, owner: Owner, thread: str) -> LeaseHolder | None:
        log = self.logs.get((owner.name, thread))
        return log.holder if log and log.run else None

    async def list_lease_workers(self) -> set[str]:
        return {log.worker for log in self.logs.values() if log.run}

    async def list_orphaned_runs(self, dead_workers: Collection[str]) -> list[OrphanedRun]:
        return [
            OrphanedRun(Owner(owner), thread, log.run)
            for (owner, thread), log in self.logs.items()
            if log.run and log.worker in dead_workers
        ]

    async def take_over_run(self, owner: Owner, thread: str, holder: LeaseHolder) -> Lease | None:
        log = self.logs.get((owner.name, thread))
        if log is None or not log.run or log.holder != holder:
            return None
        # Entries of the holder are refused from here on, and those it has appended are the new lease's.
        log.run_count += 1
        log.rows = [replace(row, run=log.run_count) if row.run == holder.fence else row for row in log.rows]
        log.runs = {key: log.run_count if number == holder.fence else number for key, number in log.runs.items()}
        log.worker = self.worker
        return Lease(holder.before, log.run_count, find_take_over_number(holder.before, log.last))

    async def end_orphaned_runs(
        self, dead_workers: Collection[str], keep: Collection[OrphanedRun] = ()
    ) -> list[OrphanedRun]:
        ended = [run for run in await self.list_orphaned_runs(dead_workers) if run not in keep]
        for run in ended:
            log = self.logs[run.owner.name, run.thread]
            events = [row.row.entry for row in log.rows if row.run == log.run_count]
            ends = make_restart_entries(events, run.thread, run.run)
            self.append_entries(run.owner, run.thread, log.begun_after + RUN_NUMBERS + 1, ends)
            # From here on its own entries are refused.
            log.run_count += 1
        return ended

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
    ) -> asyncio.Future[None] | None:
        log = self.logs.get((owner.name, thread))
        if log is None:
            return None
        if fence not in (ANY_FENCE, log.run_count):
            lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            lost.set_exception(LeaseLost())
            # Retrieved: not every run waits for it.
            lost.exception()
            return lost
        for row in merge_rows(enumerate(entries, first)) if len(entries) > 1 else (EntryRow(first, first, entries[0]),):
            log.add(row)
        log.updated = self.clock()
        if is_run_end(entries[-1]):
            log.run = ""
        return None

    async def read_entries(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[NumberedEntry]:
        log = self.logs.get((owner.name, thread))
        rows = log.rows if log else []
        entries: list[NumberedEntry] = []
        size = 0
        for log_row in islice(rows, bisect_right(rows, after, key=lambda log_row: log_row.row.last), None):
            numbered = log_row.row.slice(after, until)
            if numbered is None or size >= PAGE_BYTES:
                break
            entries.append(numbered)
            size += log_row.size
        return entries

    async def run_start(self, owner: Owner, thread: str, number: int) -> int:
        log = self.logs.get((owner.name, thread))
        rows = [row for row in log.rows if row.row.first <= number] if log else []
        return next(row.row.first for row in rows if row.run == rows[-1].run) - 1 if rows else 0

    async def get_thread(self, owner: Owner, thread: str) -> Thread | None:
        log = self.logs.get((owner.name, thread))
        return log.thread if log else None

    async def list_threads(
        self, owner: Owner, *, assistant: str | None = None, archived: bool = False, limit: int = 100, offset: int = 0
    ) -> list[Thread]:
        threads = [
            log.thread
            for (name, _), log in self.logs.items()
            if name == owner.name
            and (archived or not log.metadata.archived)
            and assistant in (None, log.metadata.assistant)
        ]
        threads.sort(key=lambda thread: (-thread.updated, thread.id))
        return threads[offset : offset + limit]

    async def update_thread(
        self, owner: Owner, thread: str, *, name: str | None = None, archived: bool | None = None
    ) -> Thread | None:
        log = self.logs.get((owner.name, thread))
        if log is None:
            return None
        changes = {"name": name, "archived": archived}
        log.metadata = replace(log.metadata, **{key: value for key, value in changes.items() if value is not None})
        return log.thread

    async def delete_thread(self, owner: Owner, thread: str) -> bool:
        log = self.logs.get((owner.name, thread))
        calls, tokens = collect_ids_and_tokens(log_row.row.entry for log_row in log.rows) if log else (set(), set())
        for call in calls:
            self.results.drop((owner.name, call))
        for token in tokens:
            self.continuations.drop((owner.name, token))
        for key in [key for key in self.checkpoints.items if key[0] == owner.name and key[1].startswith(f"{thread}/")]:
            self.checkpoints.drop(key)
        return self.logs.pop((owner.name, thread), None) is not None

    def drop_oldest_runs(self, log: ThreadLog) -> None:
        """Drop the oldest runs of a thread that is over its size; the newest run always stays."""
        while log.size > self.retention.thread_bytes and log.rows and log.rows[0].run < log.run_count - 1:
            oldest = log.rows[0].run
            log.rows = [row for row in log.rows if row.run != oldest]
            log.runs = {key: number for key, number in log.runs.items() if number != oldest}
            log.size = sum(row.size for row in log.rows)

    def evict_threads(self, owner: Owner) -> None:
        """Delete the least recently used threads beyond the retention limits."""
        own_threads = sum(name == owner.name for name, _ in self.logs)
        size = sum(log.size for log in self.logs.values())
        since = self.clock() - self.retention.days * 86400 if self.retention.days else float("-inf")
        for key, log in [item for item in self.logs.items() if not item[1].run]:
            crowded = key[0] == owner.name and own_threads > self.retention.threads
            if crowded or size > self.retention.bytes or log.updated < since:
                own_threads -= key[0] == owner.name
                size -= log.size
                del self.logs[key]

    async def close(self) -> None:
        return None
