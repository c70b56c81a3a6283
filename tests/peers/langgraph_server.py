"""A real LangGraph server with our graph, and a way to it that can be cut."""

import asyncio
import contextlib
import os
import shutil
import socket
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
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


@contextlib.asynccontextmanager
async def run_langgraph_server(folder: Path) -> AsyncIterator[str]:
    """Its URL. It takes no port 0, so one is found for it."""
    for file in ("platform_graph.py", "langgraph.json"):
        shutil.copy(HERE / file, folder)
    port = free_port()
    options = ("--host", "127.0.0.1", "--port", str(port), "--no-browser", "--no-reload")
    env = {
        "PATH": f"{PEER_HOME / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    }
    log = folder / "log"
    with log.open("wb") as log_file:
        process = await asyncio.create_subprocess_exec(
            *(str(PEER_HOME / "bin" / "langgraph"), "dev", *options, "--n-jobs-per-worker", "20"),
            cwd=folder,
            env=env,
            stdin=DEVNULL,
            stdout=log_file,
            stderr=log_file,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        await wait_ready(url, process, log)
        yield url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def wait_ready(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(HANG_TIMEOUT):
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
