"""One live connection to one server, and its running calls. One task opens, keeps and closes it, as the SDK
requires; calls may come from any task."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import Client, MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from pydantic import TypeAdapter

from rightseat.errors import UpstreamError
from rightseat.http.retry import compute_backoff
from rightseat.mcp.connect import FAULTS, McpServerConfig, connect_client, describe_fault

if TYPE_CHECKING:
    from rightseat.mcp.held_calls import HeldCallLink

log = logging.getLogger(__name__)
FinalResult = types.CallToolResult | types.InputRequiredResult
RESULT_ADAPTER: TypeAdapter[FinalResult] = TypeAdapter(types.InputRequiredResult | types.CallToolResult)
MAX_QUEUED_PROGRESS = 100
MAX_TOOLS = 1000
"""Tools of one server at most; the rest is ignored."""
ANSWER_TIMEOUT = 600.0
"""Seconds that a call on a handshake server waits for the user's answer."""
FIRST_RETRY, MAX_RETRY = 0.5, 60.0
"""Seconds before the first retry, and at most before any."""
SHORT_PAUSE = 2.0
"""Retry pause in seconds up to which calls wait for a new connection; after a longer one they fail at
once."""
CLOSE_TIMEOUT = 10.0
"""Seconds that a close waits at most; the SDK kills a child after four."""
STABLE_AFTER = 10.0
"""Seconds after which a connection counts as stable, which resets the retry pause."""

# JSON-RPC error codes for a lost connection.
CONNECTION_LOST_CODES = (-32000, -32001)


def is_session_lost(error: MCPError) -> bool:
    """Whether a handshake server no longer knows our session, because it was restarted."""
    return error.code in (-32600, -32001) and "session" in error.error.message.lower()


class CallProgress(Struct, frozen=True):
    done: float
    total: float | None = None
    message: str | None = None


class ServerQuestion(Struct, frozen=True):
    """An elicitation of a handshake server, whose tool waits for the answer."""

    params: Any


class CallFailure(Struct, frozen=True):
    """Why a call has no result, for the model."""

    code: str
    message: str


EXPIRED = CallFailure("expired", "The server's question has expired, and its call was given up. Call again.")
CallItem = CallProgress | ServerQuestion | FinalResult | UpstreamError | CallFailure


class RemoteToolCall:
    """One running call of a server's tool, in its own task."""

    def __init__(
        self, connection: McpConnection, name: str, arguments: dict[str, Any], extra_params: dict[str, Any]
    ) -> None:
        self.id = secrets.token_hex(16)
        self.owner = ""
        self.connection = connection
        self.name = name
        self.items: asyncio.Queue[CallItem] = asyncio.Queue()
        self.answer: asyncio.Future[types.ElicitResult] | None = None
        """Set while the server waits for the user's answer."""
        self.holds_lock = False
        """Whether this call holds the connection's lock."""
        self.request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=name, arguments=arguments, **extra_params)
        )
        self.task = asyncio.create_task(self.run())

    async def run(self) -> None:
        self.items.put_nowait(await self.get_outcome())

    async def get_outcome(self) -> FinalResult | UpstreamError:
        """Return the result or the error. If the server lost the session, retry once on a new connection."""
        try:
            try:
                return await self.attempt()
            except MCPError as error:
                if not is_session_lost(error):
                    raise
                self.connection.mark_lost()
                return await self.attempt()
        except MCPError as error:
            if error.code in CONNECTION_LOST_CODES or is_session_lost(error):
                self.connection.mark_lost()
                return UpstreamError(f"The connection to the MCP server {self.connection.server.name} was lost.")
            message = error.error.message[:300]
            return UpstreamError(f"The MCP server {self.connection.server.name} refused the call: {message}")
        except UpstreamError as error:
            return error
        except FAULTS as error:
            self.connection.mark_lost()
            return UpstreamError(f"The MCP server {self.connection.server.name} failed: {describe_fault(error)}")

    async def attempt(self) -> FinalResult:
        client = await self.connection.ready()
        async with self.connection.track_call(self):
            # Not by `call_tool`, whose validator a server's schema can stall.
            return await client.session.send_request(self.request, RESULT_ADAPTER, progress_callback=self.on_progress)

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        # Progress is dropped while the queue is full.
        if self.items.qsize() < MAX_QUEUED_PROGRESS:
            self.items.put_nowait(CallProgress(progress, total, message))

    async def wait_for_answer(self, params: Any) -> types.ElicitResult:
        """Wait for the user's answer, in this turn or a later one. The lock is released meanwhile."""
        self.answer = asyncio.get_running_loop().create_future()
        self.items.put_nowait(ServerQuestion(params))
        if self.holds_lock:
            self.connection.call_lock.release()
            self.holds_lock = False
        try:
            result = await self.answer
        finally:
            self.answer = None
        if not self.task.done():
            await self.connection.call_lock.acquire()
            self.holds_lock = True
        return result

    @property
    def worker(self) -> str:
        """The worker that has the call; empty where one process is alone."""
        return self.connection.link.worker if self.connection.link else ""

    @property
    def is_held(self) -> bool:
        return self.id in self.connection.held_calls

    def hold(self) -> None:
        """Keep the call until the user answers."""
        self.connection.hold_call(self)

    def resume(self, result: types.ElicitResult) -> bool:
        """Pass the user's answer to the server; return False if nobody waits for it any more."""
        if self.answer is None or self.answer.done():
            return False
        self.answer.set_result(result)
        return True

    def cancel(self) -> None:
        """Cancel the call if it still runs; the SDK notifies the server."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(types.ElicitResult(action="cancel"))
        self.task.cancel()
        # For another worker that waits for the result.
        self.items.put_nowait(EXPIRED)

    async def close(self) -> None:
        self.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class McpConnection:
    def __init__(self, server: McpServerConfig, link: HeldCallLink | None = None) -> None:
        self.server = server
        self.link = link
        """Passes answers to held calls from and to other workers."""
        if link is not None:
            link.connections.add(self)
        self.tools: tuple[types.Tool, ...] = ()
        self.down_reason = "it was not asked yet"
        self.active_calls: set[RemoteToolCall] = set()
        self.held_calls: dict[str, RemoteToolCall] = {}
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._ended = asyncio.Event()
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._timer: asyncio.Timeout | None = None
        # Handshake servers do not say which call a question belongs to: once one asks, its calls are
        # serialized.
        self.server_asks = False
        self.call_lock = asyncio.Lock()

    async def start(self) -> None:
        """Connect and wait for the first outcome. A failed connection is retried in the background."""
        if self._task is None:
            self._closing.clear()
            self._task = asyncio.create_task(self._maintain(), name=f"mcp {self.server.name}")
            self._task.add_done_callback(self._on_task_done)
        await self._settled.wait()

    @property
    def is_started(self) -> bool:
        return self._task is not None

    async def close(self) -> None:
        task, self._task = self._task, None
        for tool_call in (*self.active_calls, *self.held_calls.values()):
            await tool_call.close()
        self.held_calls.clear()
        if task is not None:
            self._request_close()
            await asyncio.wait({task}, timeout=CLOSE_TIMEOUT)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _request_close(self) -> None:
        """Let the task end by itself. A cancellation would interrupt the SDK while it ends a child, which
        would then live on."""
        self._closing.set()
        self._on_end(self._ended)
        if self._timer is not None:
            # An expired timeout cannot be rescheduled.
            with contextlib.suppress(RuntimeError):
                self._timer.reschedule(asyncio.get_running_loop().time())

    def _limit_time(self, seconds: float) -> asyncio.Timeout:
        self._timer = asyncio.timeout(seconds)
        return self._timer

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        """Release waiting callers and log an unexpected error."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("mcp %s is given up until the next start.", self.server.name, exc_info=error)
        self._client, self.tools, self.down_reason = None, (), self.down_reason or "it was closed"
        self._settled.set()

    async def ready(self) -> Client:
        """Return the client, waiting for a reconnect in progress; raise UpstreamError if the server is
        down."""
        await self.start()
        if self._client is None:
            raise UpstreamError(f"The MCP server {self.server.name} is down: {self.down_reason}.")
        return self._client

    def mark_lost(self) -> None:
        """Mark the connection as broken: the task reconnects, and calls wait for it."""
        self._client = None
        self._settled.clear()
        self._on_end(self._ended)

    def _on_end(self, ended: asyncio.Event) -> None:
        """Record the end of the connection that `ended` belongs to, and wake the task."""
        ended.set()
        self._wake.set()

    async def _maintain(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while not self._closing.is_set():
            self._ended = asyncio.Event()
            on_end = functools.partial(self._on_end, self._ended)
            began = loop.time()
            reason = "its process has ended" if self.server.command else "the connection was lost"
            try:
                async with AsyncExitStack() as stack:
                    async with self._limit_time(self.server.start):
                        client = await connect_client(
                            stack, self.server, on_end, elicit=self._elicit, on_message=self._on_message
                        )
                    await self._list_tools(client)
                    self._on_connected(client)
                    await self._watch(client)
            except FAULTS as error:
                if self._closing.is_set():
                    return
                reason = describe_fault(error)
                self._on_failure(reason)
            finally:
                self._client = None
            # A stable connection is retried at once, and calls wait for it.
            failures = 0 if loop.time() - began > STABLE_AFTER else failures + 1
            pause = compute_backoff(failures, FIRST_RETRY, MAX_RETRY) if failures else 0.0
            if pause > SHORT_PAUSE:
                self._on_failure(reason)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._closing.wait()

    def _on_connected(self, client: Client) -> None:
        if self.down_reason:
            log.info("mcp %s: %d tools, %s", self.server.name, len(self.tools), client.protocol_version)
        self._client, self.down_reason = client, ""
        self._settled.set()

    def _on_failure(self, reason: str) -> None:
        """Mark the server as down; its tools are not offered until it is connected again."""
        if reason != self.down_reason:
            log.warning("mcp %s is down: %s. It is tried again.", self.server.name, reason)
        self._client, self.tools, self.down_reason = None, (), reason
        self._settled.set()

    async def _watch(self, client: Client) -> None:
        """Refresh the tool list on changes and at intervals, until the connection ends."""
        listener = asyncio.create_task(self._listen(client))
        try:
            while not self._ended.is_set():
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.server.refresh):
                        await self._wake.wait()
                if not self._ended.is_set():
                    await self._list_tools(client)
        finally:
            self._client = None
            self._settled.clear()
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

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
            log.info("mcp %s does not tell of changes: %s", self.server.name, describe_fault(error))

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._wake.set()

    async def _list_tools(self, client: Client) -> None:
        tools: list[types.Tool] = []
        cursor: str | None = None
        async with self._limit_time(self.server.start):
            while len(tools) < MAX_TOOLS:
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    break
        if len(tools) > MAX_TOOLS or cursor is not None:
            log.warning("mcp %s: only its first %d tools are used.", self.server.name, MAX_TOOLS)
        only = self.server.tools
        self.tools = tuple(tool for tool in tools[:MAX_TOOLS] if only is None or tool.name in only)

    # Calls and elicitations.

    @asynccontextmanager
    async def track_call(self, tool_call: RemoteToolCall) -> AsyncIterator[None]:
        if self.server_asks:
            await self.call_lock.acquire()
            tool_call.holds_lock = True
        self.active_calls.add(tool_call)
        try:
            yield
        finally:
            self.active_calls.discard(tool_call)
            if tool_call.holds_lock:
                self.call_lock.release()

    async def _elicit(self, context: Any, params: Any) -> types.ElicitResult:
        """Handle an elicitation of a handshake server: pass it to the only running call, else cancel it."""
        running = [tool_call for tool_call in self.active_calls if tool_call.answer is None]
        self.server_asks = True
        if len(running) == 1:
            return await running[0].wait_for_answer(params)
        log.warning(
            "mcp %s asks, and nobody knows for which of %d calls: it is told that nobody answers.",
            self.server.name,
            len(running),
        )
        return types.ElicitResult(action="cancel")

    def hold_call(self, tool_call: RemoteToolCall) -> None:
        """Keep a call whose turn has ended until the user answers or the timeout expires."""
        self.held_calls[tool_call.id] = tool_call
        asyncio.get_running_loop().call_later(ANSWER_TIMEOUT, self._expire_call, tool_call, tool_call.answer)

    def _expire_call(self, tool_call: RemoteToolCall, answer: asyncio.Future[types.ElicitResult] | None) -> None:
        """Cancel a held call if it still waits for the same answer."""
        if self.held_calls.get(tool_call.id) is tool_call and tool_call.answer is answer:
            del self.held_calls[tool_call.id]
            tool_call.cancel()
