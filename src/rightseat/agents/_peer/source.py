"""Agents of a peer and their source, which probes the peer at start, while it is down and at an interval."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping

from rightseat.errors import RightseatError
from rightseat.http.retry import compute_backoff
from rightseat.types.agents import Agent, AgentThreadState
from rightseat.types.stores import SharedCheckpointStore
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
START_TIMEOUT = 3.0
"""Seconds that `start` waits for the first probe; after that the probe goes on in the background."""
# While a peer is down, the delay between probes doubles from the first value to the second.
MIN_RETRY_DELAY = 1.0
MAX_RETRY_DELAY = 30.0


class PeerSource(ABC):
    """An AgentSource of one peer. A healthy peer is probed again every `interval` seconds, or never if that is
    None. `down` holds the error message, or is empty."""

    agents: Mapping[str, Agent]
    tools: tuple[Tool, ...] = ()
    store: SharedCheckpointStore | None = None
    """Where workers keep what they know of the peer's threads; None where one process is alone."""

    def __init__(self, name: str, *, interval: float | None = None) -> None:
        self.name = name
        self.down = ""
        self._interval = interval
        self._first_check_done = asyncio.Event()
        self._check_requested = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def probe(self) -> None:
        """Raise a RightseatError if the peer is down."""

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
            await self.probe()
            self.down = ""

    def mark_up(self) -> None:
        self.down = ""

    def mark_down(self, error: RightseatError) -> None:
        """Record a failed request and probe again soon."""
        if not self.down:
            log.warning("agent %r: %s", self.name, error.message)
        self.down = error.message
        self._check_requested.set()

    async def _run(self) -> None:
        failures = 0
        while True:
            was_down = bool(self.down)
            try:
                await self.probe()
            except RightseatError as error:
                self.down = error.message
                if not was_down:
                    log.warning("agent %r: %s", self.name, error.message)
            else:
                self.down = ""
                if was_down:
                    log.info("agent %r is there.", self.name)
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


class PeerAgent:
    """An Agent of a PeerSource, which knows whether it is down."""

    can_ask = True

    def __init__(self, name: str, source: PeerSource, *, title: str, description: str) -> None:
        self.name = name
        self.title = title
        self.description = description
        self._source = source

    @property
    def unavailable_reason(self) -> str:
        return self._source.down

    async def get_thread_state(self, owner: Owner, thread: str, /) -> AgentThreadState | None:
        """Return None: the peer has no request for a thread's history."""
        return None
