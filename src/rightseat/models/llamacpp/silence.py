"""Idle timeout for streams that costs two attribute writes per read instead of a timer."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class IdleWatchdog:
    """Calls `on_idle` once a read is overdue. The reader sets `deadline` before it waits and NEVER when it
    has data, so that a slow consumer does not count. `step` is the check interval."""

    NEVER = math.inf

    __slots__ = ("_loop", "_on_idle", "_step", "_timer", "deadline", "expired", "time")

    def __init__(self, on_idle: Callable[[], None], step: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_idle = on_idle
        self._step = step
        self.time = self._loop.time
        self.deadline = self.NEVER
        self.expired = False
        self._timer = self._loop.call_later(step, self._check_deadline)

    def stop(self) -> None:
        self._timer.cancel()

    def _check_deadline(self) -> None:
        now = self.time()
        if now < self.deadline:
            # A read that starts after this check is not due before the next one.
            self._timer = self._loop.call_at(min(self.deadline, now + self._step), self._check_deadline)
        else:
            self.expired = True
            self._on_idle()
