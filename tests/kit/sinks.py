"""`Sink`: a server that must not be reached, and that keeps whatever reaches it."""

import asyncio
from types import TracebackType
from typing import Self

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


class SinkServer:
    """Answers every request head with 200 `{}`, so that a caller who would go on does go on."""

    def __init__(self) -> None:
        self.connections: list[bytearray] = []
        """The bytes of each connection, in order of arrival; empty when only the handshake came."""
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._on_connection, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*self._tasks)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def received_bytes(self) -> bytes:
        return b"".join(self.connections)

    def has_received(self, secret: str) -> bool:
        return secret.encode() in self.received_bytes

    def assert_unreached(self) -> None:
        assert not self.connections, (
            f"{len(self.connections)} connections reached the sink: {self.received_bytes[:500]!r}"
        )

    def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._record(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _record(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = bytearray()
        self.connections.append(received)
        self._writers.add(writer)
        answered = False
        try:
            while data := await reader.read(65536):
                received += data
                if not answered and b"\r\n\r\n" in received:
                    answered = True
                    writer.write(ANSWER)
        except ConnectionError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()
