"""Idle timeout for streams that costs two attribute writes per read instead of a timer."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Silence:
    """Calls `on_idle` once a read is overdue. The reader sets `deadline` before it waits and NEVER when it
    has data, so that a slow consumer does not count. `step` is the check interval."""

    NEVER = math.inf

    __slots__ = ("_end", "_loop", "_step", "_timer", "due", "time", "too_long")

    def __init__(self, end: Callable[[], None], step: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = end
        self._step = step
        self.time = self._loop.time
        self.due = self.NEVER
        self.too_long = False
        self._timer = self._loop.call_later(step, self._look)

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self.time()
        if now < self.due:
            # A read that starts after this check is not due before the next one.
            self._timer = self._loop.call_at(min(self.due, now + self._step), self._look)
        else:
            self.too_long = True
            self._end()
