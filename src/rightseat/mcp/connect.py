"""Open the SDK's client for a server, and detect that a child process has ended."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
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

log = logging.getLogger(__name__)
READING = 300.0
GARBAGE = 1000
"""Consecutive lines that are not MCP messages, after which the connection is given up."""
TETHER = Path(__file__).with_name("tether.py")
# These libraries log each request with address and session; our own log has what matters.
for name in ("httpx2", "mcp"):
    logging.getLogger(name).setLevel(logging.WARNING)
# The SDK logs a traceback for each line that is not a message, which could fill the disk.
logging.getLogger("mcp.client.stdio").setLevel(logging.CRITICAL)
# All errors of a connection, on either side.
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
    """A child's message stream that sets `ended` when the child stops. The SDK only fails running calls, so
    an idle child's death would go unnoticed. Lines that are not messages are skipped."""

    def __init__(self, name: str, inner: Any, ended: asyncio.Event) -> None:
        self.name = name
        self.inner = inner
        self.ended = ended
        self.garbage = 0
        self.told = False

    async def receive(self) -> Any:
        try:
            while isinstance(item := await self.inner.receive(), Exception):
                self.skip()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self.ended.set()
            raise
        self.garbage = 0
        return item

    def skip(self) -> None:
        self.garbage += 1
        if not self.told:
            self.told = True
            log.warning("mcp %s writes to its standard output what is no message of MCP.", self.name)
        if self.garbage > GARBAGE:
            raise anyio.EndOfStream

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


def started(server: Server) -> list[str]:
    """Build the command line. On Linux the child is killed when this process ends; elsewhere only its stdin
    closes."""
    own = os.path.join(server.folder, server.command) if os.sep in server.command else server.command
    if shutil.which(own, path=server.environment.get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), server.command)
    line = [server.command, *server.args]
    if sys.platform != "linux":
        return line
    return [sys.executable, "-I", "-S", str(TETHER), str(os.getpid()), *line]


@asynccontextmanager
async def child(server: Server, ended: asyncio.Event) -> AsyncIterator[tuple[Any, Any]]:
    program, *args = started(server)
    parameters = StdioServerParameters(command=program, args=args, env=server.environment, cwd=server.folder)
    with Stderr(server.name) as errlog:
        async with stdio_client(parameters, errlog) as (read, write):
            yield Watched(server.name, read, ended), write


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
    """Return an initialized client. `stack` closes it, which must happen in the same task."""
    transport = child(server, ended) if server.command else remote(server)
    client = Client(
        transport,
        mode="legacy" if server.older else "auto",
        elicitation_callback=elicit,
        message_handler=hear,
        client_info=Implementation(name="rightseat", version=version("rightseat")),
        cache=None,
    )
    return await stack.enter_async_context(client)


def fault(error: BaseException) -> str:
    """Describe an error in a few words; of an exception group its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}"
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
