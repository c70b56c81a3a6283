"""Configuration of one MCP server, a command to run or a URL, and the SDK's client for it."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TextIO

import anyio
import httpx2
from anyio.abc import ObjectReceiveStream
from mcp import Client, MCPError
from mcp.client.session import ElicitationFnT, MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from msgspec import Struct

from rightseat.config.secret import mask

log = logging.getLogger(__name__)
MAX_LINES, MAX_LINE_LENGTH = 100, 500
READ_TIMEOUT = 300.0
MAX_GARBAGE_LINES = 1000
"""Consecutive lines that are not MCP messages, after which the connection is given up."""
PARENT_GUARD = Path(__file__).with_name("exec_with_parent.py")

# These libraries log each request with address and session; our own log has what matters.
for name in ("httpx2", "mcp"):
    logging.getLogger(name).setLevel(logging.WARNING)
# The SDK logs a traceback for each line that is not a message, which could fill the disk.
logging.getLogger("mcp.client.stdio").setLevel(logging.CRITICAL)

# All errors of a connection, on either side; also TimeoutError (OSError) and pydantic's ValidationError (ValueError).
FAULTS: tuple[type[Exception], ...] = (
    OSError,
    MCPError,
    ValueError,
    RuntimeError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    ExceptionGroup,
)

ConfirmPolicy = Literal["dangerous", "writes", "all", "never"]

# Environment variables that a child inherits; none of them is a secret.
INHERITED_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")


class McpServerConfig(Struct, frozen=True, kw_only=True):
    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    folder: Path = Path()
    url: str = ""
    headers: dict[str, str] = {}
    older: bool = False
    """Use a protocol version before 2026-07-28 even if the server supports newer ones."""
    timeout: float = 60.0
    start: float = 30.0
    """Seconds to connect, which may include installing the child."""
    refresh: float = 300.0
    """Seconds between refreshes of the tool list."""
    confirm: ConfirmPolicy = "dangerous"
    tools: tuple[str, ...] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | self.env


@contextmanager
def log_stderr(name: str) -> Iterator[TextIO]:
    """Yield a pipe for a child's stderr; its first lines are logged, with secrets masked."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    loop = asyncio.get_running_loop()
    lines_left, partial_line = MAX_LINES, b""

    def read() -> None:
        nonlocal partial_line
        try:
            data = os.read(reading, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            loop.remove_reader(reading)
        *lines, partial_line = (partial_line + data).split(b"\n")
        # Bounds a line that never ends.
        partial_line = partial_line[-MAX_LINE_LENGTH:]
        for line in lines:
            log_line(line)

    def log_line(line: bytes) -> None:
        nonlocal lines_left
        text = mask(line.decode("utf-8", "replace").strip())[:MAX_LINE_LENGTH]
        if not text or lines_left <= 0:
            return
        lines_left -= 1
        log.info("mcp %s says: %s", name, text)
        if lines_left == 0:
            log.info("mcp %s says more, which is not logged.", name)

    loop.add_reader(reading, read)
    try:
        with os.fdopen(writing, "w") as errlog:
            yield errlog
    finally:
        loop.remove_reader(reading)
        read()
        os.close(reading)


class MonitoredStream(ObjectReceiveStream[Any]):
    """A child's message stream that calls `on_end` when the child stops. The SDK only fails running calls, so
    an idle child's death would go unnoticed. Lines that are not messages are skipped."""

    def __init__(self, name: str, inner: Any, on_end: Callable[[], None]) -> None:
        self.name = name
        self.inner = inner
        self.on_end = on_end
        self.garbage_lines = 0
        self.warned = False

    async def receive(self) -> Any:
        try:
            while isinstance(item := await self.inner.receive(), Exception):
                self.skip_garbage()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self.on_end()
            raise
        self.garbage_lines = 0
        return item

    def skip_garbage(self) -> None:
        self.garbage_lines += 1
        if not self.warned:
            self.warned = True
            log.warning("mcp %s writes to its standard output what is no message of MCP.", self.name)
        if self.garbage_lines > MAX_GARBAGE_LINES:
            raise anyio.EndOfStream

    async def aclose(self) -> None:
        await self.inner.aclose()


def build_command(server: McpServerConfig) -> list[str]:
    """Build the command line. On Linux the child is killed when this process ends; elsewhere only its stdin
    closes."""
    program = os.path.join(server.folder, server.command) if os.sep in server.command else server.command
    if shutil.which(program, path=server.environment.get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), server.command)
    line = [server.command, *server.args]
    if sys.platform != "linux":
        return line
    return [sys.executable, "-I", "-S", str(PARENT_GUARD), str(os.getpid()), *line]


@asynccontextmanager
async def open_child(server: McpServerConfig, on_end: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    program, *args = build_command(server)
    parameters = StdioServerParameters(command=program, args=args, env=server.environment, cwd=server.folder)
    with log_stderr(server.name) as errlog:
        async with stdio_client(parameters, errlog) as (read, write):
            yield MonitoredStream(server.name, read, on_end), write


@asynccontextmanager
async def open_remote(server: McpServerConfig) -> AsyncIterator[tuple[Any, Any]]:
    timeout = httpx2.Timeout(server.start, read=READ_TIMEOUT)
    async with (
        httpx2.AsyncClient(headers=server.headers, timeout=timeout, trust_env=False) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


async def connect_client(
    stack: AsyncExitStack,
    server: McpServerConfig,
    on_end: Callable[[], None],
    *,
    elicit: ElicitationFnT,
    on_message: MessageHandlerFnT,
) -> Client:
    """Return an initialized client. `stack` closes it, which must happen in the same task."""
    transport = open_child(server, on_end) if server.command else open_remote(server)
    client = Client(
        transport,
        mode="legacy" if server.older else "auto",
        elicitation_callback=elicit,
        message_handler=on_message,
        client_info=Implementation(name="rightseat", version=version("rightseat")),
        cache=None,
    )
    return await stack.enter_async_context(client)


def describe_fault(error: BaseException) -> str:
    """Describe an error in a few words; of an exception group its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it does not answer"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}"
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
