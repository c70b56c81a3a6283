"""One live connection to one server. It is opened, kept and closed by one task: what the SDK opens must be
closed by the task that opened it. Calls come from anywhere."""

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
"""Tools of one server; more are left out."""
HELD = 600.0
"""Seconds that a call waits for a person's answer, in the older era: the server waits inside it."""
FIRST, LONGEST = 0.5, 60.0
"""Seconds before another try, at first and at most."""
SOON = 2.0
"""Seconds that calls wait for a connection that was lost; after a longer pause they fail at once."""
LAST = 10.0
"""Seconds that a close waits at most: a child that does not want to end is killed after four."""
STEADY = 10.0
"""Seconds after which a connection has proved itself."""


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
        # Which call a question belongs to is not said in the older era: one that asks gets calls one by one.
        self.asks = False
        self.one = asyncio.Lock()

    async def start(self) -> None:
        """Connect, and wait for what comes of it. What fails now is tried again in the background."""
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
        """End the task from within. A cancellation would break off the SDK while it ends a child, which then
        lives on, and the task with it."""
        self._leave.set()
        self._ended.set()
        self._wake.set()
        if self._timer is not None:
            # One that has run out already ends by itself.
            with contextlib.suppress(RuntimeError):
                self._timer.reschedule(asyncio.get_running_loop().time())

    def _within(self, seconds: float) -> asyncio.Timeout:
        self._timer = asyncio.timeout(seconds)
        return self._timer

    def _over(self, task: asyncio.Task[None]) -> None:
        """Nobody waits for what will not come; what nobody thought of is at least in the log."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("mcp %s is given up until the next start.", self.server.name, exc_info=error)
        self._client, self.tools, self.down = None, (), self.down or "it was closed"
        self._settled.set()

    async def ready(self) -> Client:
        """The connection, perhaps after the moment that a new one takes."""
        await self.start()
        if self._client is None:
            raise UpstreamError(f"The MCP server {self.server.name} is down: {self.down}.")
        return self._client

    def lost(self) -> None:
        """Whoever uses the connection found it broken: another is made, and calls wait for it."""
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
            # One that was there for a while is there again soon; calls wait for it.
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
        """Down until it is found again. Its tools are not offered meanwhile."""
        if why != self.down:
            log.warning("mcp %s is down: %s. It is tried again.", self.server.name, why)
        self._client, self.tools, self.down = None, (), why
        self._settled.set()

    async def _stay(self, client: Client) -> None:
        """Until the connection ends, its tools are looked up when they change, and now and then."""
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
        """The newer era tells of changes only whoever asks to be told."""
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

    # Calls, and the questions that servers ask while they carry them out.

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
        """A question of the older era. It is put to the person whose call it belongs to, or to nobody."""
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
        """Its turn is over, and it waits for the person: not for ever."""
        self.held[flight.id] = flight
        loop = asyncio.get_running_loop()
        loop.call_later(HELD, self._drop, flight, flight.answer)

    def _drop(self, flight: Flight, asked: asyncio.Future[types.ElicitResult] | None) -> None:
        """If it still waits for the same answer: it may have asked something else since."""
        if self.held.get(flight.id) is flight and flight.answer is asked:
            del self.held[flight.id]
            flight.stop()
