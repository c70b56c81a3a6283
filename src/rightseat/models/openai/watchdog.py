"""Notices silence without a timer that is made or moved for a token."""

from __future__ import annotations

import asyncio

from rightseat.http import Response


class Watchdog:
    """Cuts the response when the answer does not begin before `deadline`, or a wait is longer than `idle`.

    Only the reader's waits count, so that a client that reads slowly is not taken for a silent upstream. The
    reader sets `begun` once the first fragment is there.
    """

    __slots__ = ("_deadline", "_idle", "_loop", "_response", "_timer", "begun", "expired")

    def __init__(self, response: Response, deadline: float, idle: float) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._response = response
        self._deadline = deadline
        self._idle = idle
        self.begun = False
        self.expired = False
        self._timer = loop.call_at(min(deadline, loop.time() + idle), self._look)

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        due = self._response.since + self._idle if self.begun else self._deadline
        if now < due:
            # Whatever begins to wait from now on cannot be overdue before `idle` is over.
            self._timer = self._loop.call_at(min(due, now + self._idle), self._look)
        else:
            self.expired = True
            self._response.cut()
