"""SQLiteStore: one file, one writer thread. Deltas are flushed twice a second, other entries at once."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from msgspec.structs import replace

from rightseat.errors import StoreFailed
from rightseat.stores.encoding import (
    BUFFERED_EVENTS,
    MAX_UNWRITTEN,
    continuation_decoder,
    decode_record,
    encode_json,
    question_decoder,
)
from rightseat.stores.outage_log import OutageLog
from rightseat.stores.sqlite import repair
from rightseat.stores.sqlite.database import FolderLock, ReadJob, StoreHealth, WriterThread, checksum_row, verify_row
from rightseat.stores.sqlite.threads import FencedKey, PendingEntry, ThreadKey, ThreadTable
from rightseat.stores.sqlite.totals import RECORD_NUMBER, Totals
from rightseat.types.stores import CONTINUATION_SECONDS, Continuation, PendingQuestion, collect_ids_and_tokens
from rightseat.types.threads import (
    ANY_FENCE,
    Lease,
    LeaseHolder,
    LeaseLost,
    NumberedEntry,
    OrphanedRun,
    Retention,
    RunEnded,
    Thread,
    ThreadEntry,
)
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
T = TypeVar("T")
RecordKind = Literal["continuation", "question", "result", "note"]
DATABASE_FILE = "rightseat.db"
FLUSH_SECONDS = 0.5


class SupportsClose(Protocol):
    def close(self) -> None: ...


class ExpiringTable:
    """Continuations, pending questions, tool results and checkpoints, limited in time and size. All methods run in the
    writer thread."""

    def __init__(
        self, database: sqlite3.Connection, capacity: int, lifetime: float, clock: Callable[[], float]
    ) -> None:
        self.database = database
        self.capacity = capacity
        self.lifetime = lifetime
        self.clock = clock
        self.totals = Totals(database)

    def get_weight(self, kind: RecordKind) -> int:
        """Return the size of all records of a kind."""
        return self.totals.get(f"kept.{kind}")

    def put(self, kind: RecordKind, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        now = self.clock()
        self.drop(kind, owner, key)
        self.totals.add(RECORD_NUMBER, 1)
        number = self.totals.get(RECORD_NUMBER)
        covered = (kind, owner.name, key, float(now + (seconds or self.lifetime)), len(body), number)
        self.database.execute(
            "INSERT INTO kept (kind, owner, key, expires, weight, number, body, checksum) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*covered, body, checksum_row("kept", body, *covered)),
        )
        self.totals.add(f"kept.{kind}", len(body))
        self.evict(kind, now)

    def evict(self, kind: RecordKind, now: float) -> None:
        """Delete the oldest rows that have expired or exceed the capacity."""
        oldest = "SELECT owner, key, expires FROM kept WHERE kind = ? ORDER BY number LIMIT 1"
        while row := self.database.execute(oldest, (kind,)).fetchone():
            owner, key, expires = row
            if self.get_weight(kind) <= self.capacity and expires >= now:
                return
            self.drop(kind, Owner(owner), key)

    def drop(self, kind: RecordKind, owner: Owner, key: str) -> None:
        where = (owner.name, kind, key)
        query = "SELECT weight FROM kept WHERE owner = ? AND kind = ? AND key = ?"
        if row := self.database.execute(query, where).fetchone():
            self.database.execute("DELETE FROM kept WHERE owner = ? AND kind = ? AND key = ?", where)
            self.totals.add(f"kept.{kind}", -row[0])

    def drop_prefix(self, kind: RecordKind, owner: Owner, prefix: str) -> None:
        """Delete all rows whose keys have this prefix."""
        rows = self.database.execute(
            "SELECT key FROM kept WHERE owner = ? AND kind = ? AND substr(key, 1, ?) = ?",
            (owner.name, kind, len(prefix), prefix),
        ).fetchall()
        for (key,) in rows:
            self.drop(kind, owner, key)

    def get(self, kind: RecordKind, owner: Owner, key: str) -> bytes | None:
        row = self.database.execute(
            "SELECT checksum, body, kind, owner, key, expires, weight, number FROM kept "
            "WHERE owner = ? AND kind = ? AND key = ? AND expires >= ?",
            (owner.name, kind, key, self.clock()),
        ).fetchone()
        if row is None:
            return None
        verify_row("kept", *row)
        body: bytes = row[1]
        return body

    def pop(self, kind: RecordKind, owner: Owner, key: str) -> bytes | None:
        body = self.get(kind, owner, key)
        self.drop(kind, owner, key)
        return body


class SQLiteStore:
    def __init__(
        self,
        folder: Path,
        *,
        capacity: int = 256 << 20,
        lifetime: float = CONTINUATION_SECONDS,
        clock: Callable[[], float] = time.time,
        retention: Retention = Retention(),
        damaged: Literal["replace", "refuse"] = "replace",
    ) -> None:
        self.path = folder / DATABASE_FILE
        self.repair_report: repair.RepairReport | None = None
        with ExitStack() as unless_opened:
            self.lock = self.acquire(folder)
            unless_opened.callback(self.lock.close)
            self.database = self.open_database(refuse=damaged == "refuse")
            unless_opened.callback(lambda: self.database.close())

            def open_tables() -> None:
                self.records = ExpiringTable(self.database, capacity, lifetime, clock)
                self.thread_table = ThreadTable(self.database, retention, clock)
                with self.database:
                    self.database.execute("BEGIN IMMEDIATE")
                    self.recovered = len(self.recover())

            try:
                open_tables()
            except sqlite3.Error as error:
                # A page of a file that is too large to be checked before.
                reason = repair.require_damage(self.path, error)
                self.database.close()
                self.database = self.repair_database(reason, refuse=damaged == "refuse")
                open_tables()
            unless_opened.pop_all()
        self.health = self.make_health()
        self.writer = WriterThread(self.database, self.health)
        self.check = self.start_check() if self.path.stat().st_size > repair.CHECKED_AT_START else None
        self.unwritten: list[PendingEntry] = []
        """Entries not yet submitted to the writer thread."""
        self.outage = OutageLog(log)
        self.flush_timer: asyncio.TimerHandle | None = None
        self.flush_handle: asyncio.Handle | None = None
        self.flushed: dict[FencedKey, asyncio.Future[None]] = {}
        """Futures of runs whose readers wait for the next flush."""

    # Opening; another class shares the folder with other processes

    def acquire(self, folder: Path) -> SupportsClose:
        return FolderLock(folder)

    def open_database(self, *, refuse: bool) -> sqlite3.Connection:
        database, self.repair_report = repair.open_or_repair(self.path, refuse=refuse)
        return database

    def repair_database(self, reason: str, *, refuse: bool) -> sqlite3.Connection:
        database, self.repair_report = repair.repair_or_refuse(self.path, reason, refuse=refuse)
        return database

    def recover(self) -> list[OrphanedRun]:
        """Count the totals and end the runs of processes that are gone: here all others."""
        self.records.totals.recount()
        return self.thread_table.end_orphaned_runs()

    def make_health(self) -> StoreHealth:
        return StoreHealth(self.path)

    def start_check(self) -> repair.BackgroundCheck | None:
        return repair.BackgroundCheck(self.path, self.health)

    @property
    def worker(self) -> str:
        return str(self.thread_table.epoch)

    @property
    def failure(self) -> str:
        return self.health.failure

    @property
    def usable(self) -> bool:
        return not self.health.damaged

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job in the writer thread, after all entries appended before."""
        self.flush()
        return await self.writer.run(job)

    async def read(self, job: Callable[[], T]) -> T:
        """Run a job that changes nothing, after all entries appended before."""
        self.flush()
        return await self.writer.run(ReadJob(job))

    async def read_thread(self, key: ThreadKey, job: Callable[[], T]) -> T:
        """Run a job that reads one thread, after all entries appended to it before."""
        return await self.read(job)

    def flush(self) -> None:
        """Submit the unwritten entries to the writer thread."""
        for handle in (self.flush_timer, self.flush_handle):
            if handle is not None:
                handle.cancel()
        self.flush_timer = self.flush_handle = None
        if self.unwritten:
            written, self.unwritten = self.unwritten, []
            flushed, self.flushed = self.flushed, {}
            done = self.writer.submit(lambda: self.thread_table.write_entries(written))
            done.add_done_callback(partial(self.on_flushed, written, flushed))

    def on_flushed(
        self,
        written: list[PendingEntry],
        flushed: dict[FencedKey, asyncio.Future[None]],
        done: asyncio.Future[set[FencedKey]],
    ) -> None:
        """Keep entries that could not be written for the next flush; their readers wait no longer."""
        error = None if done.cancelled() else done.exception()
        lost = set() if done.cancelled() or error is not None else done.result()
        for leased, future in flushed.items():
            if future.done():
                continue
            if leased in lost:
                future.set_exception(LeaseLost())
                # Retrieved: not every run waits for it.
                future.exception()
            else:
                future.set_result(None)
        if isinstance(error, StoreFailed):
            waiting = [*written, *self.unwritten]
            self.unwritten = waiting[:MAX_UNWRITTEN]
            self.outage.note_failure(len(self.unwritten))
            if len(waiting) > MAX_UNWRITTEN:
                self.outage.note_dropped(len(waiting) - MAX_UNWRITTEN)
        elif error is not None:
            log.error("entries of threads were not kept", exc_info=error)
        elif self.outage.is_on and not done.cancelled():
            refused = sum(leased in lost for leased, _, _ in written)
            self.outage.note_written(len(written) - refused, refused, len(self.unwritten))

    # SharedStore

    @property
    def is_shared(self) -> bool:
        return False

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        # The folder is locked: no other process uses it.
        return set(workers) - {self.worker}

    # Store

    async def save_continuation(self, continuation: Continuation) -> None:
        await self.run(lambda: self.put_continuation(continuation))

    async def get_continuation(self, owner: Owner, resume_token: str) -> Continuation | None:
        continuation = await self.read(lambda: self.load_continuation(owner, resume_token))
        if continuation is not None and continuation.claimed_by:
            if not await self.find_dead([continuation.claimed_by]):
                return None
            continuation = replace(continuation, claimed_by="")
        return continuation

    async def claim_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        is_claimed = False

        def claim(dead: Collection[str] = ()) -> Continuation | None:
            nonlocal is_claimed
            continuation = self.load_continuation(owner, resume_token)
            if continuation is None or not continuation.is_answered_by(assistant, answered_ids):
                return None
            is_claimed = not continuation.claimed_by or continuation.claimed_by in dead
            if is_claimed:
                self.put_continuation(replace(continuation, claimed_by=self.worker))
            return continuation

        def undo() -> None:
            if is_claimed:
                self.unclaim(owner, resume_token)

        try:
            continuation = await self.run(claim)
            if continuation is not None and not is_claimed:
                dead = await self.find_dead([continuation.claimed_by])
                continuation = await self.run(lambda: claim(dead)) if dead else None
        except asyncio.CancelledError:
            # The caller is gone and would never settle the claim.
            self.writer.submit(undo).add_done_callback(ignore_outcome)
            raise
        return replace(continuation, claimed_by="") if continuation is not None and is_claimed else None

    async def settle_continuation(self, owner: Owner, resume_token: str) -> None:
        def settle() -> None:
            continuation = self.load_continuation(owner, resume_token)
            if continuation is not None and continuation.claimed_by == self.worker:
                self.records.drop("continuation", owner, resume_token)

        await self.run(settle)

    async def release_continuation(self, owner: Owner, resume_token: str) -> None:
        await self.run(lambda: self.unclaim(owner, resume_token))

    def load_continuation(self, owner: Owner, resume_token: str) -> Continuation | None:
        return decode_record(self.records.get("continuation", owner, resume_token), continuation_decoder)

    def put_continuation(self, continuation: Continuation) -> None:
        self.records.put("continuation", continuation.owner, continuation.ticket, encode_json(continuation))

    def unclaim(self, owner: Owner, resume_token: str) -> None:
        continuation = self.load_continuation(owner, resume_token)
        if continuation is not None and continuation.claimed_by == self.worker:
            self.put_continuation(replace(continuation, claimed_by=""))

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None:
        body = encode_json(question)
        await self.run(lambda: self.records.put("question", owner, conversation, body))

    async def get_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        body = await self.read(lambda: self.records.get("question", owner, conversation))
        return decode_record(body, question_decoder)

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        body = await self.run(lambda: self.records.pop("question", owner, conversation))
        return decode_record(body, question_decoder)

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        bodies = {call: text.encode("utf-8", "surrogatepass") for call, text in results.items()}

        def put() -> None:
            for call, body in bodies.items():
                self.records.put("result", owner, call, body)

        await self.run(put)

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        if not call_ids:
            return {}
        bodies = await self.read(lambda: [self.records.get("result", owner, call) for call in call_ids])
        stored = ((call, body) for call, body in zip(call_ids, bodies, strict=True) if body is not None)
        return {call: body.decode("utf-8", "surrogatepass") for call, body in stored}

    # CheckpointStore

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        await self.run(lambda: self.records.put("note", owner, key, body, seconds))

    async def update_checkpoint(
        self, owner: Owner, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
    ) -> None:
        def update_body() -> None:
            body = update(self.records.get("note", owner, key))
            if body is None:
                self.records.drop("note", owner, key)
            else:
                self.records.put("note", owner, key, body, seconds)

        await self.run(update_body)

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None:
        return await self.read(lambda: self.records.get("note", owner, key))

    async def delete_checkpoint(self, owner: Owner, key: str) -> None:
        await self.run(lambda: self.records.drop("note", owner, key))

    # ThreadStore

    async def has_thread(self, owner: Owner, thread: str) -> bool:
        # Without a flush: entries that wait to be written make no thread.
        return await self.writer.run(ReadJob(lambda: self.thread_table.has_thread((owner.name, thread))))

    async def begin_run(
        self, owner: Owner, thread: str, run: str, *, assistant: str, name: str, digest: str = ""
    ) -> Lease:
        key = (owner.name, thread)
        begun: Lease | RunEnded | None = None

        def begin() -> Lease | RunEnded:
            nonlocal begun
            begun = None
            begun = self.thread_table.begin_run(key, run, assistant, name, digest)
            return begun

        def undo() -> None:
            # Not if the thread was busy: the same run may have it, begun by an earlier request.
            if isinstance(begun, Lease):
                self.thread_table.release_lease(key, run)

        try:
            outcome = await self.run(begin)
        except asyncio.CancelledError:
            # The caller is gone and would never release the lease.
            self.writer.submit(undo).add_done_callback(ignore_outcome)
            raise
        if isinstance(outcome, RunEnded):
            raise outcome
        return outcome

    async def get_lease_holder(self, owner: Owner, thread: str) -> LeaseHolder | None:
        key = (owner.name, thread)
        return await self.read_thread(key, lambda: self.thread_table.get_lease_holder(key))

    async def list_lease_workers(self) -> set[str]:
        return await self.read(self.thread_table.list_lease_workers)

    async def list_orphaned_runs(self, dead_workers: Collection[str]) -> list[OrphanedRun]:
        return await self.read(lambda: self.thread_table.list_orphaned_runs(dead_workers))

    async def take_over_run(self, owner: Owner, thread: str, holder: LeaseHolder) -> Lease | None:
        return await self.run(lambda: self.thread_table.take_over_run((owner.name, thread), holder))

    async def end_orphaned_runs(
        self, dead_workers: Collection[str], keep: Collection[OrphanedRun] = ()
    ) -> list[OrphanedRun]:
        return await self.run(lambda: self.thread_table.end_orphaned_runs(dead_workers, keep))

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
    ) -> asyncio.Future[None] | None:
        leased = ((owner.name, thread), fence)
        for number, entry in enumerate(entries, first):
            self.unwritten.append((leased, number, entry))
        if isinstance(entries[-1], BUFFERED_EVENTS):
            if self.flush_timer is None:
                self.flush_timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
            return None
        loop = asyncio.get_running_loop()
        if self.flush_handle is None:
            # Entries appended in the same step of the event loop join the flush.
            self.flush_handle = loop.call_soon(self.flush)
        if leased not in self.flushed:
            self.flushed[leased] = loop.create_future()
        return self.flushed[leased]

    async def read_entries(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[NumberedEntry]:
        key = (owner.name, thread)
        return await self.read_thread(key, lambda: self.thread_table.read_entries(key, after, until))

    async def run_start(self, owner: Owner, thread: str, number: int) -> int:
        key = (owner.name, thread)
        return await self.read_thread(key, lambda: self.thread_table.run_start(key, number))

    async def get_thread(self, owner: Owner, thread: str) -> Thread | None:
        key = (owner.name, thread)
        return await self.read_thread(key, lambda: self.thread_table.get_thread(key))

    async def list_threads(
        self, owner: Owner, *, assistant: str | None = None, archived: bool = False, limit: int = 100, offset: int = 0
    ) -> list[Thread]:
        return await self.read(lambda: self.thread_table.list_threads(owner.name, assistant, archived, limit, offset))

    async def update_thread(
        self, owner: Owner, thread: str, *, name: str | None = None, archived: bool | None = None
    ) -> Thread | None:
        return await self.run(lambda: self.thread_table.update_thread((owner.name, thread), name, archived))

    async def delete_thread(self, owner: Owner, thread: str) -> bool:
        key = (owner.name, thread)

        def delete() -> bool:
            calls, tickets = collect_ids_and_tokens(self.thread_table.all_entries(key))
            for call in calls:
                self.records.drop("result", owner, call)
            for ticket in tickets:
                self.records.drop("continuation", owner, ticket)
            self.records.drop_prefix("note", owner, f"{thread}/")
            return self.thread_table.delete_thread(key)

        deleted = await self.run(delete)
        # Remove deleted content from the write-ahead log too.
        self.interrupt_check()
        await self.writer.run_outside_tx(lambda: self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        return deleted

    def interrupt_check(self) -> None:
        if self.check is not None:
            self.check.give_way()

    async def close(self) -> None:
        self.flush()
        if self.check is not None:
            await asyncio.to_thread(self.check.close)
        try:
            await self.writer.close()
        finally:
            self.lock.close()


def ignore_outcome(done: asyncio.Future[None]) -> None:
    """Retrieve the exception of a future that nobody awaits; the failure is logged already."""
    if not done.cancelled():
        done.exception()
