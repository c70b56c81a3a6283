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
STORE_FAILED = "What must be kept cannot be: the store failed. Its log says why."
Job = Callable[[], Any]
PendingJobs = list[tuple[Job, "asyncio.Future[Any]"]]


class WriterThread:
    """Runs jobs in batches. `recount` reloads cached totals in the thread after a rollback."""

    def __init__(self, database: sqlite3.Connection, recount: Callable[[], None]) -> None:
        self.database = database
        self.recount = recount
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="rightseat-store")
        self.pending: PendingJobs = []
        self.scheduled: asyncio.Handle | None = None
        self.running: asyncio.Future[list[Any]] | None = None
        self.isolate_next = 0
        """How many of the next jobs run in a transaction of their own, because one of them broke a batch."""
        self.needs_recount = False
        self.closed = False

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job in the thread, after all earlier jobs. It is committed when this returns."""
        return cast(T, await self.submit(job))

    def submit(self, job: Job) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self.closed:
            future.set_exception(StoreFailed("The store is closed: the server is stopping."))
            return future
        self.pending.append((job, future))
        if self.running is None and self.scheduled is None:
            # Jobs submitted in the same step of the event loop join the batch.
            self.scheduled = loop.call_soon(self.start_batch, loop)
        return future

    def start_batch(self, loop: asyncio.AbstractEventLoop) -> None:
        self.scheduled = None
        # Skip jobs that were cancelled before they started.
        waiting = [(job, future) for job, future in self.pending if not future.cancelled()]
        count = 1 if self.isolate_next else len(waiting)
        self.isolate_next = max(self.isolate_next - 1, 0)
        batch, self.pending = waiting[:count], waiting[count:]
        if batch:
            self.running = loop.run_in_executor(self.executor, self.run_batch, [job for job, _ in batch])
            self.running.add_done_callback(partial(self.finish_batch, loop, batch))

    def finish_batch(
        self, loop: asyncio.AbstractEventLoop, batch: PendingJobs, done: asyncio.Future[list[Any]]
    ) -> None:
        self.running = None
        error = done.exception()
        outcomes = [error] if error is not None else done.result()
        if error is not None:
            # A job raised and the batch was rolled back: repeat each job by itself.
            self.needs_recount = True
            if len(batch) > 1:
                self.pending, self.isolate_next = [*batch, *self.pending], len(batch)
                batch, outcomes = [], []
        self.start_batch(loop)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    async def run_outside_tx(self, work: Callable[[], T]) -> T:
        """Run work in the thread, outside any transaction."""
        await self.run(lambda: None)
        return await asyncio.get_running_loop().run_in_executor(self.executor, work)

    async def close(self) -> None:
        """Wait for all pending jobs and close the database."""
        if self.closed:
            return
        loop = asyncio.get_running_loop()
        last = self.submit(lambda: None)
        self.closed = True
        await asyncio.wait([last])
        last.exception()
        try:
            await loop.run_in_executor(self.executor, self.database.close)
        finally:
            self.executor.shutdown()

    # In the thread

    def run_batch(self, jobs: list[Job]) -> list[Any]:
        if self.needs_recount:
            self.needs_recount = False
            self.try_recount()
        try:
            self.database.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            log.error("the store failed: %s", error)
            return [StoreFailed(STORE_FAILED) for _ in jobs]
        try:
            with self.database:
                return [run_job(job) for job in jobs]
        except sqlite3.Error as error:
            self.try_recount()
            if len(jobs) > 1:
                # One job may be at fault: repeat each by itself.
                return [self.run_batch([job])[0] for job in jobs]
            log.error("the store failed: %s", error)
            return [StoreFailed(STORE_FAILED)]

    def try_recount(self) -> None:
        try:
            self.recount()
        except sqlite3.Error as error:
            log.error("the store could not be counted: %s", error)


def run_job(job: Job) -> Any:
    """Run a job and return its result or its RightseatError; a job that raises one has changed nothing."""
    try:
        return job()
    except RightseatError as error:
        return error
