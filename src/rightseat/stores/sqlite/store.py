"""SQLiteStore: one file, one writer thread. Deltas are flushed twice a second, most other entries at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from rightseat.errors import StoreFailed
from rightseat.stores.sqlite.desk import Desk
from rightseat.stores.sqlite.lock import Lock
from rightseat.stores.sqlite.schema import opened
from rightseat.stores.sqlite.shelves import Shelves
from rightseat.stores.sqlite.threads import Threads, Written
from rightseat.types.events import (
    CallArgs,
    Nested,
    ReasoningDelta,
    ReasoningStart,
    RunStarted,
    TextDelta,
    TextStart,
)
from rightseat.types.stores import LIFETIME, Bound, Continuation, theirs
from rightseat.types.threads import Entry, Keep, Numbered, Thread
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
T = TypeVar("T")
FILE = "rightseat.db"
EVERY = 0.5
# Entries that wait while the disk fails; further ones are not kept.
MOST_WAITING = 20_000
# Events that wait for the next flush instead of causing one.
_LATER = (TextDelta, ReasoningDelta, CallArgs, TextStart, ReasoningStart, RunStarted, Nested)
_encode = msgspec.json.Encoder(enc_hook=str).encode
_continuation = msgspec.json.Decoder(Continuation)
_bound = msgspec.json.Decoder(Bound)


class SQLite:
    def __init__(
        self,
        folder: Path,
        *,
        capacity: int = 256 << 20,
        lifetime: float = LIFETIME,
        clock: Callable[[], float] = time.time,
        keep: Keep = Keep(),
    ) -> None:
        self.lock = Lock(folder)
        with ExitStack() as unless_opened:
            unless_opened.callback(self.lock.close)
            self.database = opened(folder / FILE)
            unless_opened.callback(self.database.close)
            self.shelves = Shelves(self.database, capacity, lifetime, clock)
            self.pages = Threads(self.database, keep, clock)
            with self.database:
                self.database.execute("BEGIN IMMEDIATE")
                self.recovered = self.pages.recover()
            unless_opened.pop_all()
        self.desk = Desk(self.database, self.recount)
        self.fresh: list[Written] = []
        """Entries not yet submitted to the writer thread."""
        self.timer: asyncio.TimerHandle | None = None
        self.soon: asyncio.Handle | None = None

    def recount(self) -> None:
        self.shelves.count()
        self.pages.count()

    async def do(self, job: Callable[[], T]) -> T:
        """Run a job in the writer thread, after all entries appended before."""
        self.send()
        return await self.desk.do(job)

    def send(self) -> None:
        """Submit the unwritten entries to the writer thread."""
        for handle in (self.timer, self.soon):
            if handle is not None:
                handle.cancel()
        self.timer = self.soon = None
        if self.fresh:
            written, self.fresh = self.fresh, []
            self.desk.put(lambda: self.pages.write(written)).add_done_callback(partial(self.sent, written))

    def sent(self, written: list[Written], done: asyncio.Future[None]) -> None:
        """Keep entries that could not be written for the next flush."""
        error = None if done.cancelled() else done.exception()
        if isinstance(error, StoreFailed):
            self.fresh = [*written, *self.fresh][:MOST_WAITING]
            log.error("%d entries of threads wait to be kept", len(self.fresh))
        elif error is not None:
            log.error("entries of threads were not kept", exc_info=error)

    # Store

    async def save(self, continuation: Continuation) -> None:
        owner, ticket, body = continuation.owner, continuation.ticket, _encode(continuation)
        await self.do(lambda: self.shelves.put("continuation", owner, ticket, body))

    async def take(self, owner: Owner, ticket: str) -> Continuation | None:
        return read(await self.do(lambda: self.shelves.pop("continuation", owner, ticket)), _continuation)

    async def bind(self, owner: Owner, conversation: str, bound: Bound) -> None:
        body = _encode(bound)
        await self.do(lambda: self.shelves.put("question", owner, conversation, body))

    async def release(self, owner: Owner, conversation: str) -> Bound | None:
        return read(await self.do(lambda: self.shelves.pop("question", owner, conversation)), _bound)

    async def remember(self, owner: Owner, results: dict[str, str]) -> None:
        bodies = {call: text.encode("utf-8", "surrogatepass") for call, text in results.items()}

        def put() -> None:
            for call, body in bodies.items():
                self.shelves.put("result", owner, call, body)

        await self.do(put)

    async def recall(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        if not call_ids:
            return {}
        found = await self.do(lambda: self.shelves.every("result", owner, call_ids))
        return {call: body.decode("utf-8", "surrogatepass") for call, body in found.items()}

    # CheckpointStore

    async def note(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        await self.do(lambda: self.shelves.put("note", owner, key, body, seconds))

    async def noted(self, owner: Owner, key: str) -> bytes | None:
        return await self.do(lambda: self.shelves.get("note", owner, key))

    async def forget(self, owner: Owner, key: str) -> None:
        await self.do(lambda: self.shelves.drop("note", owner, key))

    # ThreadStore

    def keeps(self, owner: Owner, thread: str) -> bool:
        return (owner.name, thread) in self.pages.keys

    async def begin(self, owner: Owner, thread: str, run: str, *, assistant: str, name: str) -> int:
        key = (owner.name, thread)
        try:
            return await self.do(lambda: self.pages.begin(key, run, assistant, name))
        except asyncio.CancelledError:
            # The caller is gone and would never release the lease.
            self.desk.put(lambda: self.pages.release(key, run)).add_done_callback(retrieved)
            raise

    def append(self, owner: Owner, thread: str, first: int, entries: Sequence[Entry]) -> None:
        key = (owner.name, thread)
        number = first
        for entry in entries:
            self.fresh.append((key, number, entry))
            number += 1
        if isinstance(entries[-1], _LATER):
            if self.timer is None:
                self.timer = asyncio.get_running_loop().call_later(EVERY, self.send)
        elif self.soon is None:
            # Entries appended in the same step of the event loop join the flush.
            self.soon = asyncio.get_running_loop().call_soon(self.send)

    async def read(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[Numbered]:
        return await self.do(lambda: self.pages.read((owner.name, thread), after, until))

    async def opening(self, owner: Owner, thread: str, number: int) -> int:
        return await self.do(lambda: self.pages.opening((owner.name, thread), number))

    async def find(self, owner: Owner, thread: str) -> Thread | None:
        return await self.do(lambda: self.pages.find((owner.name, thread)))

    async def threads(
        self,
        owner: Owner,
        *,
        assistant: str | None = None,
        archived: bool = False,
        limit: int = 100,
        skip: int = 0,
    ) -> list[Thread]:
        return await self.do(lambda: self.pages.every(owner.name, assistant, archived, limit, skip))

    async def change(
        self, owner: Owner, thread: str, *, name: str | None = None, archived: bool | None = None
    ) -> Thread | None:
        return await self.do(lambda: self.pages.change((owner.name, thread), name, archived))

    async def delete(self, owner: Owner, thread: str) -> bool:
        key = (owner.name, thread)

        def delete() -> bool:
            calls, tickets = theirs(self.pages.entries(key))
            for call in calls:
                self.shelves.drop("result", owner, call)
            for ticket in tickets:
                self.shelves.drop("continuation", owner, ticket)
            self.shelves.drop_under("note", owner, f"{thread}/")
            return self.pages.delete(key)

        gone = await self.do(delete)
        # Remove deleted content from the write-ahead log too.
        await self.desk.apart(lambda: self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        return gone

    async def close(self) -> None:
        self.send()
        try:
            await self.desk.close()
        finally:
            self.lock.close()


def retrieved(done: asyncio.Future[None]) -> None:
    """Retrieve the exception of a future that nobody awaits; the failure is logged already."""
    if not done.cancelled():
        done.exception()


def read(body: bytes | None, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Decode a stored record; an undecodable one counts as missing."""
    if body is None:
        return None
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        log.warning("something that was kept cannot be read and is left out")
        return None
