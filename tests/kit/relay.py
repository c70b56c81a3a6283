"""A port in front of a server, on which connections can be cut while the server goes on, or is replaced."""

import asyncio
from types import TracebackType
from typing import Self


class Relay:
    """`async with Relay(port) as relay:` clients connect to `relay.url`; `relay.target` may change."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.closed = False
        """Whether new connections are turned away."""
        self._open: set[asyncio.StreamWriter] = set()
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
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> int:
        """Every connection, at once; how many there were."""
        found = len(self._open)
        for writer in tuple(self._open):
            writer.transport.abort()
        return found

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._open.add(writer)
        try:
            if self.closed:
                return
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
            self._open.add(up_writer)
            try:
                await asyncio.gather(_copy(reader, up_writer), _copy(up_reader, writer))
            finally:
                self._open.discard(up_writer)
                up_writer.transport.abort()
        except OSError:
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
