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
from rightseat.mcp.connect import FAULTS, fault

if TYPE_CHECKING:
    from rightseat.mcp.link import Link

Ended = types.CallToolResult | types.InputRequiredResult
RESULT: TypeAdapter[Ended] = TypeAdapter(types.InputRequiredResult | types.CallToolResult)
BACKLOG = 100
# JSON-RPC error codes for a lost connection.
GONE = (-32000, -32001)


def forgotten(error: MCPError) -> bool:
    """Whether a handshake server no longer knows our session, because it was restarted."""
    return error.code in (-32600, -32001) and "session" in error.error.message.lower()


class Progress(Struct, frozen=True):
    done: float
    total: float | None = None
    message: str | None = None


class Question(Struct, frozen=True):
    """An elicitation of a handshake server, whose tool waits for the answer."""

    params: Any


Item = Progress | Question | Ended | UpstreamError


class Flight:
    def __init__(self, link: Link, name: str, arguments: dict[str, Any], more: dict[str, Any]) -> None:
        self.id = secrets.token_hex(16)
        self.link = link
        self.name = name
        self.items: asyncio.Queue[Item] = asyncio.Queue()
        self.answer: asyncio.Future[types.ElicitResult] | None = None
        """Set while the server waits for the user's answer."""
        self.alone = False
        """Whether this call holds the connection's lock."""
        self.request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=name, arguments=arguments, **more)
        )
        self.task = asyncio.create_task(self.fly())

    async def fly(self) -> None:
        self.items.put_nowait(await self.outcome())

    async def outcome(self) -> Ended | UpstreamError:
        """Return the result or the error. If the server lost the session, retry once on a new connection."""
        try:
            try:
                return await self.attempt()
            except MCPError as error:
                if not forgotten(error):
                    raise
                self.link.lost()
                return await self.attempt()
        except MCPError as error:
            if error.code in GONE or forgotten(error):
                self.link.lost()
                return UpstreamError(f"The connection to the MCP server {self.link.server.name} was lost.")
            said = error.error.message[:300]
            return UpstreamError(f"The MCP server {self.link.server.name} refused the call: {said}")
        except UpstreamError as error:
            return error
        except FAULTS as error:
            self.link.lost()
            return UpstreamError(f"The MCP server {self.link.server.name} failed: {fault(error)}")

    async def attempt(self) -> Ended:
        client = await self.link.ready()
        async with self.link.turnstile(self):
            # Not by `call_tool`, whose validator a server's schema can stall.
            return await client.session.send_request(self.request, RESULT, progress_callback=self.told)

    async def told(self, progress: float, total: float | None, message: str | None) -> None:
        # Progress is dropped while the queue is full.
        if self.items.qsize() < BACKLOG:
            self.items.put_nowait(Progress(progress, total, message))

    async def ask(self, params: Any) -> types.ElicitResult:
        """Wait for the user's answer, in this turn or a later one. The lock is released meanwhile."""
        self.answer = asyncio.get_running_loop().create_future()
        self.items.put_nowait(Question(params))
        if self.alone:
            self.link.one.release()
            self.alone = False
        try:
            given = await self.answer
        finally:
            self.answer = None
        if not self.task.done():
            await self.link.one.acquire()
            self.alone = True
        return given

    def stop(self) -> None:
        """Cancel the call if it still runs; the SDK notifies the server."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(types.ElicitResult(action="cancel"))
        self.task.cancel()

    async def end(self) -> None:
        self.stop()
        await asyncio.gather(self.task, return_exceptions=True)
