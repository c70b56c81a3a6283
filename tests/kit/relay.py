"""A port in front of a server, on which connections can be cut while the server goes on, or is replaced."""

import asyncio
from types import TracebackType
from typing import Self


class TcpRelay:
    """`async with Relay(port) as relay:` clients connect to `relay.url`; `relay.target` may change."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.refuses_connections = False
        """Whether new connections are turned away."""
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.cut_connections()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_connections(self) -> int:
        """Every connection, at once; how many there were."""
        count = len(self._writers)
        for writer in tuple(self._writers):
            writer.transport.abort()
        return count

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            if self.refuses_connections:
                return
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
            self._writers.add(up_writer)
            try:
                await asyncio.gather(_copy(reader, up_writer), _copy(up_reader, writer))
            finally:
                self._writers.discard(up_writer)
                up_writer.transport.abort()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
