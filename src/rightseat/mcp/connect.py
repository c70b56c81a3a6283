"""The SDK's client for a server, and how one learns that a child has gone."""

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
"""Lines one after the other that are no messages: more, and it is no server."""
TETHER = Path(__file__).with_name("tether.py")
# Each request is a line of theirs, with its address and session: what matters of it is in ours.
for name in ("httpx2", "mcp"):
    logging.getLogger(name).setLevel(logging.WARNING)
# It has a traceback for each line that is no message: a program that just prints would fill the disk.
logging.getLogger("mcp.client.stdio").setLevel(logging.CRITICAL)
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
    tells nobody else: a child that dies idle would be found dead by the next call. What is no message is
    left out."""

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
    """The command line. It must not outlive us, whatever ends us; elsewhere than on Linux it is told only by
    the end of its input."""
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
