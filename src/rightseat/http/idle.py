"""The timer of a stream that may fall silent."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

NEVER = math.inf


class Waiting(Protocol):
    waiting_since: float
    """When the reader began to wait, else NEVER."""


class IdleTimer:
    """Calls `on_idle` if nothing has begun at `deadline`, or if a later wait takes `timeout` seconds.

    The reader sets `begun` at the first chunk; without a deadline a timer has begun. Only time that the reader
    waits counts, so a slow client is not taken for a silent server. A token costs no more than the assignment
    of `waiting_since`: one timer of the event loop compares it, at most once in `timeout` seconds.

    A reader without a response to abort makes the timer with neither `source` nor `on_idle` and waits inside
    `async with timer:`, which raises TimeoutError.
    """

    def __init__(
        self,
        timeout: float,
        source: Waiting | None = None,
        on_idle: Callable[[], object] | None = None,
        *,
        deadline: float | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout
        self._source = source or self
        self._on_idle = on_idle or self._cancel_wait
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self.deadline = NEVER if deadline is None else deadline
        self.begun = deadline is None
        self.expired = False
        self.waiting_since = NEVER
        self._handle = self._loop.call_at(min(self.deadline, self._loop.time() + timeout), self._check)

    def stop(self) -> None:
        self._handle.cancel()

    def shorten(self, timeout: float) -> None:
        """Wait at most `timeout` seconds from now on, where that is less than before."""
        if timeout < self._timeout:
            self.begun = True
            self._timeout = timeout
            self._handle.cancel()
            self._handle = self._loop.call_later(timeout, self._check)

    def _check(self) -> None:
        now = self._loop.time()
        due = self._source.waiting_since + self._timeout if self.begun else self.deadline
        if now < due:
            # A wait that starts after now is overdue at the earliest in `timeout` seconds.
            self._handle = self._loop.call_at(min(due, now + self._timeout), self._check)
        else:
            self.expired = True
            self._on_idle()

    def _cancel_wait(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def __aenter__(self) -> None:
        self._task = task = asyncio.current_task()
        self._cancelling = task.cancelling() if task is not None else 0
        self.waiting_since = self._loop.time()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.waiting_since = NEVER
        task, self._task = self._task, None
        if self.expired and task is not None:
            # More requests than ours: the task is cancelled from elsewhere too.
            only_ours = task.uncancel() <= self._cancelling
            if only_ours and kind is asyncio.CancelledError:
                raise TimeoutError from error
