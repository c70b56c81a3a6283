"""WriterThread: the one thread that uses the database. Jobs that arrive meanwhile form one transaction."""

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
    """Runs jobs in batches. `recount` reloads cached totals in the thread after a rollback."""

    def __init__(self, database: sqlite3.Connection, recount: Callable[[], None]) -> None:
        self.database = database
        self.recount = recount
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="rightseat-store")
        self.asked: Asked = []
        self.soon: asyncio.Handle | None = None
        self.busy: asyncio.Future[list[Any]] | None = None
        self.wary = 0
        """How many of the next jobs run in a transaction of their own, because one of them broke a batch."""
        self.doubtful = False
        self.closed = False

    async def do(self, job: Callable[[], T]) -> T:
        """Run a job in the thread, after all earlier jobs. It is committed when this returns."""
        return cast(T, await self.put(job))

    def put(self, job: Job) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self.closed:
            future.set_exception(StoreFailed("The store is closed: the server is stopping."))
            return future
        self.asked.append((job, future))
        if self.busy is None and self.soon is None:
            # Jobs submitted in the same step of the event loop join the batch.
            self.soon = loop.call_soon(self.next, loop)
        return future

    def next(self, loop: asyncio.AbstractEventLoop) -> None:
        self.soon = None
        # Skip jobs that were cancelled before they started.
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
            # A job raised and the batch was rolled back: repeat each job by itself.
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
        """Run work in the thread, outside any transaction."""
        await self.do(lambda: None)
        return await asyncio.get_running_loop().run_in_executor(self.executor, work)

    async def close(self) -> None:
        """Wait for all pending jobs and close the database."""
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
                # One job may be at fault: repeat each by itself.
                return [self.together([job])[0] for job in jobs]
            log.error("the store failed: %s", error)
            return [StoreFailed(FAILED)]

    def recounted(self) -> None:
        try:
            self.recount()
        except sqlite3.Error as error:
            log.error("the store could not be counted: %s", error)


def outcome(job: Job) -> Any:
    """Run a job and return its result or its RightseatError; a job that raises one has changed nothing."""
    try:
        return job()
    except RightseatError as error:
        return error
