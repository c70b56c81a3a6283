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

    async def do(self, job: Callable[[], T]) -> T:
        """In the thread, after all that was asked for before. It is written when this returns."""
        return cast(T, await self.put(job))

    def put(self, job: Job) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self.asked.append((job, future))
        if self.busy is None and self.soon is None:
            # What else is asked for in this step of the loop goes along.
            self.soon = loop.call_soon(self.next, loop)
        return future

    def next(self, loop: asyncio.AbstractEventLoop) -> None:
        self.soon = None
        if not self.asked:
            return
        asked, self.asked = self.asked, []
        self.busy = loop.run_in_executor(self.executor, self.together, [job for job, _ in asked])
        self.busy.add_done_callback(partial(self.settle, loop, asked))

    def settle(self, loop: asyncio.AbstractEventLoop, asked: Asked, done: asyncio.Future[list[Any]]) -> None:
        self.busy = None
        self.next(loop)
        error = done.exception()
        outcomes = [error] * len(asked) if error is not None else done.result()
        for (_, future), outcome in zip(asked, outcomes, strict=True):
            # Whoever waited may have been cancelled.
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
        """After the last of what was asked for."""
        await self.apart(self.database.close)
        self.executor.shutdown()

    # In the thread

    def together(self, jobs: list[Job]) -> list[Any]:
        try:
            return self.transact(lambda: [outcome(job) for job in jobs])
        except sqlite3.Error:
            # One of them may be what the file does not take: each by itself.
            self.recount()
            return [self.alone(job) for job in jobs]

    def alone(self, job: Job) -> Any:
        try:
            return self.transact(lambda: outcome(job))
        except sqlite3.Error as error:
            self.recount()
            log.error("the store failed: %s", error)
            return StoreFailed("What must be kept cannot be: the store failed. Its log says why.")

    def transact(self, work: Callable[[], T]) -> T:
        self.database.execute("BEGIN IMMEDIATE")
        with self.database:
            return work()


def outcome(job: Job) -> Any:
    """A refusal is one too: whoever refuses has changed nothing."""
    try:
        return job()
    except RightseatError as error:
        return error
