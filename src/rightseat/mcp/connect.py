"""The SDK's client for a server, and how one learns that a child has gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.session import ElicitationFnT, MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from pydantic import ValidationError

from rightseat.mcp.server import Server
from rightseat.mcp.stderr import Stderr

READING = 300.0
# Each request is a line of theirs, with its address and session: what matters of it is in ours.
for name in ("httpx2", "mcp"):
    logging.getLogger(name).setLevel(logging.WARNING)
# All that goes wrong between here and a server, whoever is to blame.
FAULTS: tuple[type[Exception], ...] = (
    OSError,
    MCPError,
    TimeoutError,
    ValidationError,
    ValueError,
    RuntimeError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    ExceptionGroup,
)


class Watched:
    """What a child says, and an event for when it stops. The SDK fails calls that are under way then, but
    tells nobody else: a child that dies idle would be found dead by the next call."""

    def __init__(self, inner: Any, ended: asyncio.Event) -> None:
        self.inner = inner
        self.ended = ended

    async def receive(self) -> Any:
        try:
            return await self.inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self.ended.set()
            raise

    async def aclose(self) -> None:
        await self.inner.aclose()

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Watched:
        return self

    async def __aexit__(self, *about: object) -> None:
        await self.aclose()


@asynccontextmanager
async def child(server: Server, ended: asyncio.Event) -> AsyncIterator[tuple[Any, Any]]:
    parameters = StdioServerParameters(
        command=server.command, args=list(server.args), env=server.environment, cwd=server.folder
    )
    with Stderr(server.name) as errlog:
        async with stdio_client(parameters, errlog) as (read, write):
            yield Watched(read, ended), write


@asynccontextmanager
async def remote(server: Server) -> AsyncIterator[tuple[Any, Any]]:
    timeout = httpx2.Timeout(server.start, read=READING)
    async with (
        httpx2.AsyncClient(headers=server.headers, timeout=timeout, trust_env=False) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


async def connected(
    stack: AsyncExitStack,
    server: Server,
    ended: asyncio.Event,
    *,
    elicit: ElicitationFnT,
    hear: MessageHandlerFnT,
) -> Client:
    """A client that has been introduced. It is left by `stack`, in the task that came here."""
    transport = child(server, ended) if server.command else remote(server)
    client = Client(
        transport,
        mode="legacy" if server.older else "auto",
        elicitation_callback=elicit,
        message_handler=hear,
        client_info=Implementation(name="rightseat", version=version("rightseat")),
        cache=None,
    )
    async with asyncio.timeout(server.start):
        return await stack.enter_async_context(client)


def fault(error: BaseException) -> str:
    """In a few words. What groups of errors hold is said, not that they are groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}"
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
