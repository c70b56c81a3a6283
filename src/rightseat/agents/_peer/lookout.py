"""Health monitor of a peer: probes it at start, while it is down and, if configured, at an interval."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from rightseat.errors import RightseatError

log = logging.getLogger(__name__)
PATIENCE = 3.0
"""Seconds that `start` waits for the first probe; after that the probe goes on in the background."""
# While a peer is down, the delay between probes doubles from the first value to the second.
SOON = 1.0
SELDOM = 30.0


class Lookout:
    """Runs `probe`, which raises a RightseatError if the peer is down. A healthy peer is probed again every
    `interval` seconds, or never if that is None. `down` holds the error message, or is empty."""

    def __init__(
        self,
        name: str,
        look: Callable[[], Awaitable[None]],
        *,
        every: float | None = None,
    ) -> None:
        self.down = ""
        self._name = name
        self._look = look
        self._every = every
        self._looked = asyncio.Event()
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._looked.wait()

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def again(self) -> None:
        """Probe at once if the peer is down; raises the error if it still is."""
        if self.down:
            await self._look()
            self.down = ""

    def seen(self) -> None:
        """Record a successful request."""
        self.down = ""

    def lost(self, error: RightseatError) -> None:
        """Record a failed request and probe again soon."""
        if not self.down:
            log.warning("agent %r: %s", self._name, error.message)
        self.down = error.message
        self._wanted.set()

    async def _watch(self) -> None:
        wait = SOON
        while True:
            await self._once()
            self._looked.set()
            pause = wait if self.down else self._every
            wait = min(wait * 2, SELDOM) if self.down else SOON
            self._wanted.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wanted.wait()
            if self._wanted.is_set() and self.down:
                # The caller that marked it down has just tried.
                await asyncio.sleep(SOON)

    async def _once(self) -> None:
        before = self.down
        try:
            await self._look()
        except RightseatError as error:
            self.down = error.message
            if not before:
                log.warning("agent %r: %s", self._name, error.message)
            return
        self.down = ""
        if before:
            log.info("agent %r is there.", self._name)
