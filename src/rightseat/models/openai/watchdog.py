"""Detect a silent upstream with one timer per response instead of one per token."""

from __future__ import annotations

import asyncio

from rightseat.http.response import Response


class ResponseWatchdog:
    """Aborts the response if no chunk arrives before `deadline`, or a later wait exceeds `idle`.

    Only time that the reader waits counts, so a slow client is not taken for a silent upstream. The reader
    sets `begun` at the first chunk.
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
        self._timer = loop.call_at(min(deadline, loop.time() + idle), self._check)

    def stop(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        now = self._loop.time()
        due = self._response.waiting_since + self._idle if self.begun else self._deadline
        if now < due:
            # A wait that starts after now is overdue at the earliest in `idle` seconds.
            self._timer = self._loop.call_at(min(due, now + self._idle), self._check)
        else:
            self.expired = True
            self._response.abort()
