"""Notices that a server says nothing, for the price of two attributes per read instead of a timer each."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Silence:
    """Calls `end` once a read is overdue. The reader sets `due` when it begins to wait, NEVER when it has
    something: a slow reader of ours is not a silent server. `step` is how often it looks."""

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
            # What begins to wait after this look is not due before another step.
            self._timer = self._loop.call_at(min(self.due, now + self._step), self._look)
        else:
            self.too_long = True
            self._end()
