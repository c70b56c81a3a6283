"""SQLiteStore: one file, one writer thread. Deltas are flushed twice a second, other entries at once."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from rightseat.errors import StoreFailed
from rightseat.stores.sqlite.database import FolderLock, WriterThread, open_database
from rightseat.stores.sqlite.threads import PendingEntry, ThreadTable
from rightseat.types.events import CallArgs, ReasoningDelta, SubRunEvent, TextDelta
from rightseat.types.stores import CONTINUATION_SECONDS, Continuation, PendingQuestion, collect_ids_and_tokens
from rightseat.types.threads import NumberedEntry, Retention, RunEnded, Thread, ThreadEntry
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
T = TypeVar("T")
RecordKind = Literal["continuation", "question", "result", "note"]
DATABASE_FILE = "rightseat.db"
FLUSH_SECONDS = 0.5
# Entries that wait while the disk fails; further ones are not kept.
MAX_UNWRITTEN = 20_000
# Events that wait for the next flush instead of causing one, and are shown before it: a crash may lose them.
_BUFFERED_EVENTS = (TextDelta, ReasoningDelta, CallArgs, SubRunEvent)
_encode = msgspec.json.Encoder(enc_hook=str).encode
_continuation_decoder = msgspec.json.Decoder(Continuation)
_question_decoder = msgspec.json.Decoder(PendingQuestion)


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
        self.recount()

    def recount(self) -> None:
        """Reload the cached totals, at the start and after a rollback."""
        (self.number,) = self.database.execute("SELECT COALESCE(MAX(number), 0) FROM kept").fetchone()
        self.weights = Counter(dict(self.database.execute("SELECT kind, SUM(weight) FROM kept GROUP BY kind")))

    def put(self, kind: RecordKind, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        now = self.clock()
        self.drop(kind, owner, key)
        self.number += 1
        row = (kind, owner.name, key, now + (seconds or self.lifetime), len(body), self.number, body)
        self.database.execute(
            "INSERT INTO kept (kind, owner, key, expires, weight, number, body) VALUES (?, ?, ?, ?, ?, ?, ?)", row
        )
        self.weights[kind] += len(body)
        self.evict(kind, now)

    def evict(self, kind: RecordKind, now: float) -> None:
        """Delete the oldest rows that have expired or exceed the capacity."""
        oldest = "SELECT owner, key, expires FROM kept WHERE kind = ? ORDER BY number LIMIT 1"
        while row := self.database.execute(oldest, (kind,)).fetchone():
            owner, key, expires = row
            if self.weights[kind] <= self.capacity and expires >= now:
                return
            self.drop(kind, Owner(owner), key)

    def drop(self, kind: RecordKind, owner: Owner, key: str) -> None:
        where = (owner.name, kind, key)
        query = "SELECT weight FROM kept WHERE owner = ? AND kind = ? AND key = ?"
        if row := self.database.execute(query, where).fetchone():
            self.database.execute("DELETE FROM kept WHERE owner = ? AND kind = ? AND key = ?", where)
            self.weights[kind] -= row[0]

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
            "SELECT body FROM kept WHERE owner = ? AND kind = ? AND key = ? AND expires >= ?",
            (owner.name, kind, key, self.clock()),
        ).fetchone()
        return row[0] if row else None

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
    ) -> None:
        self.lock = FolderLock(folder)
        with ExitStack() as unless_opened:
            unless_opened.callback(self.lock.close)
            self.database = open_database(folder / DATABASE_FILE)
            unless_opened.callback(self.database.close)
            self.records = ExpiringTable(self.database, capacity, lifetime, clock)
            self.thread_table = ThreadTable(self.database, retention, clock)
            with self.database:
                self.database.execute("BEGIN IMMEDIATE")
                self.recovered = self.thread_table.end_orphaned_runs()
            unless_opened.pop_all()
        self.writer = WriterThread(self.database, self.recount)
        self.unwritten: list[PendingEntry] = []
        """Entries not yet submitted to the writer thread."""
        self.flush_timer: asyncio.TimerHandle | None = None
        self.flush_handle: asyncio.Handle | None = None
        self.flushed: asyncio.Future[None] | None = None
        """Done when the next flush is."""

    def recount(self) -> None:
        self.records.recount()
        self.thread_table.recount()

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job in the writer thread, after all entries appended before."""
        self.flush()
        return await self.writer.run(job)

    def flush(self) -> None:
        """Submit the unwritten entries to the writer thread."""
        for handle in (self.flush_timer, self.flush_handle):
            if handle is not None:
                handle.cancel()
        self.flush_timer = self.flush_handle = None
        if self.unwritten:
            written, self.unwritten = self.unwritten, []
            flushed, self.flushed = self.flushed, None
            done = self.writer.submit(lambda: self.thread_table.write_entries(written))
            done.add_done_callback(partial(self.on_flushed, written, flushed))

    def on_flushed(
        self, written: list[PendingEntry], flushed: asyncio.Future[None] | None, done: asyncio.Future[None]
    ) -> None:
        """Keep entries that could not be written for the next flush; their readers wait no longer."""
        if flushed is not None and not flushed.done():
            flushed.set_result(None)
        error = None if done.cancelled() else done.exception()
        if isinstance(error, StoreFailed):
            self.unwritten = [*written, *self.unwritten][:MAX_UNWRITTEN]
            log.error("%d entries of threads wait to be kept", len(self.unwritten))
        elif error is not None:
            log.error("entries of threads were not kept", exc_info=error)

    # Store

    async def save_continuation(self, continuation: Continuation) -> None:
        owner, ticket, body = continuation.owner, continuation.ticket, _encode(continuation)
        await self.run(lambda: self.records.put("continuation", owner, ticket, body))

    async def take_continuation(
        self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
    ) -> Continuation | None:
        def take() -> Continuation | None:
            body = self.records.get("continuation", owner, resume_token)
            continuation = decode_record(body, _continuation_decoder)
            if continuation is None or not continuation.is_answered_by(assistant, answered_ids):
                return None
            self.records.drop("continuation", owner, resume_token)
            return continuation

        return await self.run(take)

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None:
        body = _encode(question)
        await self.run(lambda: self.records.put("question", owner, conversation, body))

    async def get_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        body = await self.run(lambda: self.records.get("question", owner, conversation))
        return decode_record(body, _question_decoder)

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        body = await self.run(lambda: self.records.pop("question", owner, conversation))
        return decode_record(body, _question_decoder)

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        bodies = {call: text.encode("utf-8", "surrogatepass") for call, text in results.items()}

        def put() -> None:
            for call, body in bodies.items():
                self.records.put("result", owner, call, body)

        await self.run(put)

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        if not call_ids:
            return {}
        bodies = await self.run(lambda: [self.records.get("result", owner, call) for call in call_ids])
        stored = ((call, body) for call, body in zip(call_ids, bodies, strict=True) if body is not None)
        return {call: body.decode("utf-8", "surrogatepass") for call, body in stored}

    # CheckpointStore

    async def save_checkpoint(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        await self.run(lambda: self.records.put("note", owner, key, body, seconds))

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None:
        return await self.run(lambda: self.records.get("note", owner, key))

    async def delete_checkpoint(self, owner: Owner, key: str) -> None:
        await self.run(lambda: self.records.drop("note", owner, key))

    # ThreadStore

    def has_thread(self, owner: Owner, thread: str) -> bool:
        return (owner.name, thread) in self.thread_table.keys

    async def begin_run(
        self, owner: Owner, thread: str, run: str, *, assistant: str, name: str, digest: str = ""
    ) -> int:
        key = (owner.name, thread)
        try:
            begun = await self.run(lambda: self.thread_table.begin_run(key, run, assistant, name, digest))
        except asyncio.CancelledError:
            # The caller is gone and would never release the lease.
            self.writer.submit(lambda: self.thread_table.release_lease(key, run)).add_done_callback(ignore_outcome)
            raise
        if isinstance(begun, RunEnded):
            raise begun
        return begun

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry]
    ) -> asyncio.Future[None] | None:
        key = (owner.name, thread)
        self.unwritten += [(key, number, entry) for number, entry in enumerate(entries, first)]
        if isinstance(entries[-1], _BUFFERED_EVENTS):
            if self.flush_timer is None:
                self.flush_timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
            return None
        loop = asyncio.get_running_loop()
        if self.flush_handle is None:
            # Entries appended in the same step of the event loop join the flush.
            self.flush_handle = loop.call_soon(self.flush)
        if self.flushed is None:
            self.flushed = loop.create_future()
        return self.flushed

    async def read_entries(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[NumberedEntry]:
        return await self.run(lambda: self.thread_table.read_entries((owner.name, thread), after, until))

    async def run_start(self, owner: Owner, thread: str, number: int) -> int:
        return await self.run(lambda: self.thread_table.run_start((owner.name, thread), number))

    async def get_thread(self, owner: Owner, thread: str) -> Thread | None:
        return await self.run(lambda: self.thread_table.get_thread((owner.name, thread)))

    async def list_threads(
        self, owner: Owner, *, assistant: str | None = None, archived: bool = False, limit: int = 100, offset: int = 0
    ) -> list[Thread]:
        return await self.run(lambda: self.thread_table.list_threads(owner.name, assistant, archived, limit, offset))

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
        await self.writer.run_outside_tx(lambda: self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        return deleted

    async def close(self) -> None:
        self.flush()
        try:
            await self.writer.close()
        finally:
            self.lock.close()


def ignore_outcome(done: asyncio.Future[None]) -> None:
    """Retrieve the exception of a future that nobody awaits; the failure is logged already."""
    if not done.cancelled():
        done.exception()


def decode_record(body: bytes | None, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Decode a stored record; an undecodable one counts as missing."""
    if body is None:
        return None
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        log.warning("something that was kept cannot be read and is left out")
        return None
