"""The one thread that touches the file. What comes while it is busy waits, and is then one transaction."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, cast

from rightseat.errors import RightseatError, StoreFailed

log = logging.getLogger(__name__)
T = TypeVar("T")
FAILED = "What must be kept cannot be: the store failed. Its log says why."
Job = Callable[[], Any]
Asked = list[tuple[Job, "asyncio.Future[Any]"]]


class Desk:
    """`recount` is called after changes were taken back, in the thread: what was counted is then wrong."""

    def __init__(self, database: sqlite3.Connection, recount: Callable[[], None]) -> None:
        self.database = database
        self.recount = recount
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="rightseat-store")
        self.asked: Asked = []
        self.soon: asyncio.Handle | None = None
        self.busy: asyncio.Future[list[Any]] | None = None
        self.wary = 0
        """How many of the next must each be alone, because one of them broke what they had in common."""
        self.doubtful = False
        self.closed = False

    async def do(self, job: Callable[[], T]) -> T:
        """In the thread, after all that was asked for before. It is written when this returns."""
        return cast(T, await self.put(job))

    def put(self, job: Job) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self.closed:
            future.set_exception(StoreFailed("The store is closed: the server is stopping."))
            return future
        self.asked.append((job, future))
        if self.busy is None and self.soon is None:
            # What else is asked for in this step of the loop goes along.
            self.soon = loop.call_soon(self.next, loop)
        return future

    def next(self, loop: asyncio.AbstractEventLoop) -> None:
        self.soon = None
        # Whoever has left before it began wants nothing any more.
        waiting = [(job, future) for job, future in self.asked if not future.cancelled()]
        count = 1 if self.wary else len(waiting)
        self.wary = max(self.wary - 1, 0)
        asked, self.asked = waiting[:count], waiting[count:]
        if asked:
            self.busy = loop.run_in_executor(self.executor, self.together, [job for job, _ in asked])
            self.busy.add_done_callback(partial(self.settle, loop, asked))

    def settle(self, loop: asyncio.AbstractEventLoop, asked: Asked, done: asyncio.Future[list[Any]]) -> None:
        self.busy = None
        error = done.exception()
        outcomes = [error] if error is not None else done.result()
        if error is not None:
            # Not of the file's making, so of one of them, and all was taken back: each by itself.
            self.doubtful = True
            if len(asked) > 1:
                self.asked, self.wary = [*asked, *self.asked], len(asked)
                asked, outcomes = [], []
        self.next(loop)
        for (_, future), outcome in zip(asked, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    async def apart(self, work: Callable[[], T]) -> T:
        """In the thread too, but in no transaction."""
        await self.do(lambda: None)
        return await asyncio.get_running_loop().run_in_executor(self.executor, work)

    async def close(self) -> None:
        """After the last of what was asked for, whatever became of it."""
        if self.closed:
            return
        loop = asyncio.get_running_loop()
        last = self.put(lambda: None)
        self.closed = True
        await asyncio.wait([last])
        last.exception()
        try:
            await loop.run_in_executor(self.executor, self.database.close)
        finally:
            self.executor.shutdown()

    # In the thread

    def together(self, jobs: list[Job]) -> list[Any]:
        if self.doubtful:
            self.doubtful = False
            self.recounted()
        try:
            self.database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            log.error("the store failed: %s", error)
            return [StoreFailed(FAILED) for _ in jobs]
        try:
            with self.database:
                return [outcome(job) for job in jobs]
        except sqlite3.Error as error:
            self.recounted()
            if len(jobs) > 1:
                # One of them may be what the file does not take: each by itself.
                return [self.together([job])[0] for job in jobs]
            log.error("the store failed: %s", error)
            return [StoreFailed(FAILED)]

    def recounted(self) -> None:
        try:
            self.recount()
        except sqlite3.Error as error:
            log.error("the store could not be counted: %s", error)


def outcome(job: Job) -> Any:
    """A refusal is one too: whoever refuses has changed nothing."""
    try:
        return job()
    except RightseatError as error:
        return error
