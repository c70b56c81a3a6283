"""Notices silence for the price of one attribute per read: no timer is made or moved for a token."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Watchdog:
    """Calls `expire` when the answer does not begin before `deadline`, or a read takes longer than `idle`.

    The reader sets `since` when it starts to wait and NEVER when it has something, so that a client that
    reads slowly is not taken for a silent upstream; and `begun` once the first fragment is there.
    """

    NEVER = math.inf

    __slots__ = ("_deadline", "_expire", "_idle", "_loop", "_timer", "begun", "expired", "since")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, deadline: float, idle: float, expire: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._deadline = deadline
        self._idle = idle
        self._expire = expire
        self.since = self.NEVER
        self.begun = False
        self.expired = False
        self._timer = loop.call_at(min(deadline, loop.time() + idle), self._look)

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        due = self.since + self._idle if self.begun else self._deadline
        if now < due:
            # Whatever begins to wait from now on cannot be overdue before `idle` is over.
            self._timer = self._loop.call_at(min(due, now + self._idle), self._look)
        else:
            self.expired = True
            self._expire()
