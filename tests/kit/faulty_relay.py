"""A port in front of a server, with the faults of a network: latency, resets, silence, refused connections."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Self

Target = int | Path
"""A port of this machine, or the path of a Unix socket."""


class FaultyRelay:
    """`async with FaultyRelay(target) as relay:` clients connect to `relay.port`.

    `latency` is the delay of bytes in each direction. `is_silent`: connections stay open and new ones are taken, but no
    byte passes, as when a machine loses power. What is held back never arrives later.
    """

    def __init__(self, target: Target, latency: float = 0, tls: ssl.SSLContext | None = None) -> None:
        self.target = target
        self.tls = tls
        """What clients must speak; the target is reached without."""
        self.latency = latency
        self.is_silent = False
        self.port = 0
        self.accepted = 0
        """How many connections were taken."""
        self._server: asyncio.Server | None = None
        self._writers: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}
        """Connections of clients, each with the one to the target."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_listening()
        self.reset_connections()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def listen(self) -> None:
        """Take connections, on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop_listening(self) -> None:
        """Refuse new connections, as when nothing runs there."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def reset_connections(self) -> int:
        """End every connection by RST; how many there were."""
        pairs = tuple(self._writers.items())
        for writer, up_writer in pairs:
            with contextlib.suppress(OSError):
                peer: socket.socket = writer.get_extra_info("socket")
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            up_writer.transport.abort()
        return len(pairs)

    @contextlib.asynccontextmanager
    async def refuse(self) -> AsyncIterator[None]:
        """No server for a while: connections are reset, new ones refused."""
        self.stop_listening()
        self.reset_connections()
        try:
            yield
        finally:
            await self.listen()

    @contextlib.asynccontextmanager
    async def be_silent(self) -> AsyncIterator[None]:
        """Half-open for a while: nobody is told that the connections are gone. They never work again."""
        self.is_silent = True
        try:
            yield
        finally:
            self.is_silent = False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.accepted += 1
        try:
            up_reader, up_writer = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        self._writers[writer] = up_writer
        copies = self._copy(reader, up_writer), self._copy(up_reader, writer)
        await asyncio.gather(*copies, return_exceptions=True)
        del self._writers[writer]

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self.target, Path):
            return await asyncio.open_unix_connection(str(self.target))
        return await asyncio.open_connection("127.0.0.1", self.target)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_lost = False
        try:
            while data := await reader.read(65536):
                if self.latency:
                    await asyncio.sleep(self.latency)
                # A connection that was silent once has lost bytes: what follows would be nonsense.
                is_lost = is_lost or self.is_silent
                if not is_lost:
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.transport.abort()
