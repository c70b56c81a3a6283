"""A real LangGraph server with our graph, and a way to it that can be cut."""

import asyncio
import contextlib
import os
import shutil
import socket
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.peers.install import PEERS_FOLDER

HERE = Path(__file__).parent / "langgraph-server"
PEER_HOME = PEERS_FOLDER / "langgraph-server"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class LangGraphServer:
    """`langgraph dev` in a folder that has a langgraph.json. It takes no port 0, so one is found for it."""

    def __init__(self, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.env = {
            "PATH": f"{PEER_HOME / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "LANGSMITH_TRACING": "false",
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            **(env or {}),
        }
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    async def start(self) -> None:
        """Start the server and wait until it answers."""
        options = ("--host", "127.0.0.1", "--port", str(self.port), "--no-browser", "--no-reload")
        with self.log.open("ab") as log_file:
            self.process = await asyncio.create_subprocess_exec(
                *(str(PEER_HOME / "bin" / "langgraph"), "dev", *options, "--n-jobs-per-worker", "20"),
                cwd=self.folder,
                env=self.env,
                stdin=DEVNULL,
                stdout=log_file,
                stderr=log_file,
            )
        await wait_ready(self.url, self.process, self.log)

    async def kill(self) -> None:
        """End the server by SIGKILL."""
        if self.process is not None:
            if self.process.returncode is None:
                self.process.kill()
            await self.process.wait()


@contextlib.asynccontextmanager
async def run_langgraph_server(folder: Path) -> AsyncIterator[str]:
    """Run a server with our graphs; its URL."""
    for file in ("platform_graph.py", "langgraph.json"):
        shutil.copy(HERE / file, folder)
    server = LangGraphServer(folder)
    try:
        await server.start()
        yield server.url
    finally:
        await server.kill()


async def wait_ready(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(2 * HANG_TIMEOUT):
        while True:
            assert process.returncode is None, f"it died; {log} says why"
            with contextlib.suppress(OSError):
                async with RawHttpClient(url) as client:
                    await client.get("/ok")
                    if (await client.read_head()).status == 200:
                        return
            await asyncio.sleep(0.05)


class CuttingProxy:
    """A TCP proxy. `cut_after`: so many bytes of a run's stream go through, once, and then it is cut."""

    def __init__(self, url: str) -> None:
        self.port = int(url.rpartition(":")[2])
        self.cut_after: int | None = None
        self.cuts = 0
        self.request_lines: list[str] = []
        self._server: asyncio.Server | None = None
        self._open: set[StreamWriter] = set()

    async def __aenter__(self) -> "CuttingProxy":
        self._server = await asyncio.start_server(self.handle_connection, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        # Not cancelled: asyncio's own callback would log each task that was.
        for one in tuple(self._open):
            one.transport.abort()
        await wait_until(lambda: not self._open)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def handle_connection(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._open.add(writer)
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.port)
        back = asyncio.create_task(self.copy_response(upstream_reader, writer))
        try:
            while data := await read_bytes(reader):
                self.request_lines.append(data.split(b"\r\n", 1)[0].decode("latin-1"))
                upstream_writer.write(data)
        finally:
            back.cancel()
            for one in (upstream_writer, writer):
                one.transport.abort()
            await asyncio.gather(back, return_exceptions=True)
            self._open.discard(writer)

    async def copy_response(self, upstream_reader: StreamReader, writer: StreamWriter) -> None:
        passed = 0
        while data := await read_bytes(upstream_reader):
            if self.cut_after is not None and b"event: " in data:
                passed += len(data)
                if passed > self.cut_after:
                    self.cut_after, self.cuts = None, self.cuts + 1
                    writer.write(data[: len(data) // 2])
                    await writer.drain()
                    writer.close()
                    return
            writer.write(data)
            await writer.drain()


async def read_bytes(reader: StreamReader) -> bytes:
    try:
        return await reader.read(65536)
    except OSError:
        return b""
