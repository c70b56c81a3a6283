"""One live connection to one server. One task opens, keeps and closes it, as the SDK requires; calls may come
from any task."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rightseat.errors import UpstreamError
from rightseat.mcp.connect import FAULTS, connected, fault
from rightseat.mcp.flight import Flight
from rightseat.mcp.server import Server

log = logging.getLogger(__name__)
MOST = 1000
"""Tools of one server at most; the rest is ignored."""
HELD = 600.0
"""Seconds that a call on a handshake server waits for the user's answer."""
FIRST, LONGEST = 0.5, 60.0
"""Seconds before the first retry, and at most before any."""
SOON = 2.0
"""Retry pause in seconds up to which calls wait for a new connection; after a longer one they fail at
once."""
LAST = 10.0
"""Seconds that a close waits at most; the SDK kills a child after four."""
STEADY = 10.0
"""Seconds after which a connection counts as stable, which resets the retry pause."""


class Link:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.tools: tuple[types.Tool, ...] = ()
        self.down = "it was not asked yet"
        self.flights: set[Flight] = set()
        self.held: dict[str, Flight] = {}
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._ended = asyncio.Event()
        self._wake = asyncio.Event()
        self._leave = asyncio.Event()
        self._timer: asyncio.Timeout | None = None
        # Handshake servers do not say which call a question belongs to: once one asks, its calls are
        # serialized.
        self.asks = False
        self.one = asyncio.Lock()

    async def start(self) -> None:
        """Connect and wait for the first outcome. A failed connection is retried in the background."""
        if self._task is None:
            self._leave.clear()
            self._task = asyncio.create_task(self._keep(), name=f"mcp {self.server.name}")
            self._task.add_done_callback(self._over)
        await self._settled.wait()

    @property
    def begun(self) -> bool:
        return self._task is not None

    async def close(self) -> None:
        task, self._task = self._task, None
        for flight in (*self.flights, *self.held.values()):
            await flight.end()
        self.held.clear()
        if task is not None:
            self._hurry()
            await asyncio.wait({task}, timeout=LAST)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _hurry(self) -> None:
        """Let the task end by itself. A cancellation would interrupt the SDK while it ends a child, which
        would then live on."""
        self._leave.set()
        self._ended.set()
        self._wake.set()
        if self._timer is not None:
            # An expired timeout cannot be rescheduled.
            with contextlib.suppress(RuntimeError):
                self._timer.reschedule(asyncio.get_running_loop().time())

    def _within(self, seconds: float) -> asyncio.Timeout:
        self._timer = asyncio.timeout(seconds)
        return self._timer

    def _over(self, task: asyncio.Task[None]) -> None:
        """Release waiting callers and log an unexpected error."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("mcp %s is given up until the next start.", self.server.name, exc_info=error)
        self._client, self.tools, self.down = None, (), self.down or "it was closed"
        self._settled.set()

    async def ready(self) -> Client:
        """Return the client, waiting for a reconnect in progress; raise UpstreamError if the server is
        down."""
        await self.start()
        if self._client is None:
            raise UpstreamError(f"The MCP server {self.server.name} is down: {self.down}.")
        return self._client

    def lost(self) -> None:
        """Mark the connection as broken: the task reconnects, and calls wait for it."""
        self._client = None
        self._settled.clear()
        self._ended.set()
        self._wake.set()

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        pause = 0.0
        while not self._leave.is_set():
            self._ended = asyncio.Event()
            began = loop.time()
            why = "its process has ended" if self.server.command else "the connection was lost"
            try:
                async with AsyncExitStack() as stack:
                    async with self._within(self.server.start):
                        client = await connected(
                            stack, self.server, self._ended, elicit=self._elicit, hear=self._hear
                        )
                    await self._list(client)
                    self._up(client)
                    await self._stay(client)
            except FAULTS as error:
                if self._leave.is_set():
                    return
                why = fault(error)
                self._fail(why)
            finally:
                self._client = None
            # A stable connection is retried at once, and calls wait for it.
            pause = 0.0 if loop.time() - began > STEADY else min(max(pause * 2, FIRST), LONGEST)
            if pause > SOON:
                self._fail(why)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._leave.wait()

    def _up(self, client: Client) -> None:
        if self.down:
            log.info("mcp %s: %d tools, %s", self.server.name, len(self.tools), client.protocol_version)
        self._client, self.down = client, ""
        self._settled.set()

    def _fail(self, why: str) -> None:
        """Mark the server as down; its tools are not offered until it is connected again."""
        if why != self.down:
            log.warning("mcp %s is down: %s. It is tried again.", self.server.name, why)
        self._client, self.tools, self.down = None, (), why
        self._settled.set()

    async def _stay(self, client: Client) -> None:
        """Refresh the tool list on changes and at intervals, until the connection ends."""
        listener = asyncio.create_task(self._listen(client))
        ender = asyncio.create_task(self._ended_wakes())
        try:
            while not self._ended.is_set():
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.server.refresh):
                        await self._wake.wait()
                if not self._ended.is_set():
                    await self._list(client)
        finally:
            self._client = None
            self._settled.clear()
            listener.cancel()
            ender.cancel()
            await asyncio.gather(listener, ender, return_exceptions=True)

    async def _ended_wakes(self) -> None:
        await self._ended.wait()
        self._wake.set()

    async def _listen(self, client: Client) -> None:
        """Subscribe to tool list changes, which stateless servers send to subscribers only."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools and tools.list_changed):
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._wake.set()
        except FAULTS as error:
            log.info("mcp %s does not tell of changes: %s", self.server.name, fault(error))

    async def _hear(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._wake.set()

    async def _list(self, client: Client) -> None:
        found: list[types.Tool] = []
        cursor: str | None = None
        async with self._within(self.server.start):
            while len(found) < MOST:
                page = await client.list_tools(cursor=cursor)
                found += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    break
        if len(found) > MOST or cursor is not None:
            log.warning("mcp %s: only its first %d tools are used.", self.server.name, MOST)
        only = self.server.tools
        self.tools = tuple(tool for tool in found[:MOST] if only is None or tool.name in only)

    # Calls and elicitations.

    @asynccontextmanager
    async def turnstile(self, flight: Flight) -> AsyncIterator[None]:
        if self.asks:
            await self.one.acquire()
            flight.alone = True
        self.flights.add(flight)
        try:
            yield
        finally:
            self.flights.discard(flight)
            if flight.alone:
                self.one.release()

    async def _elicit(self, context: Any, params: Any) -> types.ElicitResult:
        """Handle an elicitation of a handshake server: pass it to the only running call, else cancel it."""
        running = [flight for flight in self.flights if flight.answer is None]
        self.asks = True
        if len(running) == 1:
            return await running[0].ask(params)
        log.warning(
            "mcp %s asks, and nobody knows for which of %d calls: it is told that nobody answers.",
            self.server.name,
            len(running),
        )
        return types.ElicitResult(action="cancel")

    def hold(self, flight: Flight) -> None:
        """Keep a call whose turn has ended until the user answers or the timeout expires."""
        self.held[flight.id] = flight
        loop = asyncio.get_running_loop()
        loop.call_later(HELD, self._drop, flight, flight.answer)

    def _drop(self, flight: Flight, asked: asyncio.Future[types.ElicitResult] | None) -> None:
        """Cancel a held call if it still waits for the same answer."""
        if self.held.get(flight.id) is flight and flight.answer is asked:
            del self.held[flight.id]
            flight.stop()
