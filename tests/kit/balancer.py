"""A port in front of several servers: each connection goes to the next one that takes it."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self


class RoundRobin:
    """`async with RoundRobin(ports) as balancer:` clients connect to `balancer.url`. A server that refuses a connection
    is passed over; none is asked whether it is ready. `ports` may change."""

    def __init__(self, ports: Sequence[int] = ()) -> None:
        self.ports = list(ports)
        self.url = ""
        self._next = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            up_reader, up_writer = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(self._copy(reader, up_writer), self._copy(up_reader, writer))
        except OSError:
            pass
        finally:
            for each in (writer, up_writer):
                each.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for _ in range(len(self.ports)):
            self._next += 1
            try:
                return await asyncio.open_connection("127.0.0.1", self.ports[self._next % len(self.ports)])
            except OSError:
                continue
        raise ConnectionRefusedError

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        # The other side may still be speaking.
        if writer.can_write_eof():
            writer.write_eof()
