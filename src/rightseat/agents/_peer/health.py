"""Health monitor of a peer: probes it at start, while it is down and, if configured, at an interval."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from rightseat.errors import RightseatError
from rightseat.http.retry import compute_backoff

log = logging.getLogger(__name__)
START_TIMEOUT = 3.0
"""Seconds that `start` waits for the first probe; after that the probe goes on in the background."""
# While a peer is down, the delay between probes doubles from the first value to the second.
MIN_RETRY_DELAY = 1.0
MAX_RETRY_DELAY = 30.0


class HealthMonitor:
    """Runs `probe`, which raises a RightseatError if the peer is down. A healthy peer is probed again every
    `interval` seconds, or never if that is None. `down` holds the error message, or is empty."""

    def __init__(self, name: str, probe: Callable[[], Awaitable[None]], *, interval: float | None = None) -> None:
        self.down = ""
        self._name = name
        self._probe = probe
        self._interval = interval
        self._first_check_done = asyncio.Event()
        self._check_requested = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT):
                await self._first_check_done.wait()

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def recheck_if_down(self) -> None:
        """Probe at once if the peer is down; raises the error if it still is."""
        if self.down:
            await self._probe()
            self.down = ""

    def mark_up(self) -> None:
        """Record a successful request."""
        self.down = ""

    def mark_down(self, error: RightseatError) -> None:
        """Record a failed request and probe again soon."""
        if not self.down:
            log.warning("agent %r: %s", self._name, error.message)
        self.down = error.message
        self._check_requested.set()

    async def _run(self) -> None:
        failures = 0
        while True:
            await self._check_once()
            self._first_check_done.set()
            failures = failures + 1 if self.down else 0
            pause = compute_backoff(failures, MIN_RETRY_DELAY, MAX_RETRY_DELAY) if self.down else self._interval
            self._check_requested.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._check_requested.wait()
            if self._check_requested.is_set() and self.down:
                # The caller that marked it down has just tried.
                await asyncio.sleep(MIN_RETRY_DELAY)

    async def _check_once(self) -> None:
        before = self.down
        try:
            await self._probe()
        except RightseatError as error:
            self.down = error.message
            if not before:
                log.warning("agent %r: %s", self._name, error.message)
            return
        self.down = ""
        if before:
            log.info("agent %r is there.", self._name)
