"""One running call of a server's tool, in its own task. `items` queues progress, questions and the result."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError
from msgspec import Struct
from pydantic import TypeAdapter

from rightseat.errors import UpstreamError
from rightseat.mcp.connect import FAULTS, describe_fault

if TYPE_CHECKING:
    from rightseat.mcp.link import McpConnection

FinalResult = types.CallToolResult | types.InputRequiredResult
RESULT_ADAPTER: TypeAdapter[FinalResult] = TypeAdapter(types.InputRequiredResult | types.CallToolResult)
MAX_QUEUED_PROGRESS = 100
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


CallItem = CallProgress | ServerQuestion | FinalResult | UpstreamError


class RemoteToolCall:
    def __init__(
        self, connection: McpConnection, name: str, arguments: dict[str, Any], extra_params: dict[str, Any]
    ) -> None:
        self.id = secrets.token_hex(16)
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
                return UpstreamError(
                    f"The connection to the MCP server {self.connection.server.name} was lost."
                )
            message = error.error.message[:300]
            return UpstreamError(f"The MCP server {self.connection.server.name} refused the call: {message}")
        except UpstreamError as error:
            return error
        except FAULTS as error:
            self.connection.mark_lost()
            return UpstreamError(
                f"The MCP server {self.connection.server.name} failed: {describe_fault(error)}"
            )

    async def attempt(self) -> FinalResult:
        client = await self.connection.ready()
        async with self.connection.track_call(self):
            # Not by `call_tool`, whose validator a server's schema can stall.
            return await client.session.send_request(
                self.request, RESULT_ADAPTER, progress_callback=self.on_progress
            )

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

    def cancel(self) -> None:
        """Cancel the call if it still runs; the SDK notifies the server."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(types.ElicitResult(action="cancel"))
        self.task.cancel()

    async def close(self) -> None:
        self.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
