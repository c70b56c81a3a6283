"""A TCP splice on uvloop, a process of its own: the least a Python relay can cost."""

import asyncio
import sys
from typing import cast
from urllib.parse import urlsplit

import uvloop

from bench.ready import announce


class SpliceSide(asyncio.Protocol):
    """One end; what comes here is written to the other."""

    def __init__(self, other: "SpliceSide | None" = None) -> None:
        self.other = other
        self.transport: asyncio.Transport | None = None
        self._waiting: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses, so this cannot be asked.
        self.transport = cast(asyncio.Transport, transport)
        for data in self._waiting:
            self.transport.write(data)
        self._waiting = []

    def write(self, data: bytes) -> None:
        if self.transport is None:
            self._waiting.append(data)
        else:
            self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        assert self.other is not None
        self.other.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class ClientSide(SpliceSide):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(SpliceSide(self))
        self._to = (host, port)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._dial = asyncio.create_task(self._connect())

    async def _connect(self) -> None:
        other = self.other
        assert other is not None
        await asyncio.get_running_loop().create_connection(lambda: other, *self._to)


async def main() -> None:
    to = urlsplit(sys.argv[1])
    host, port = to.hostname, to.port
    assert host is not None
    assert port is not None
    server = await asyncio.get_running_loop().create_server(
        lambda: ClientSide(host, port), "127.0.0.1", 0, backlog=1024
    )
    await announce(server)


if __name__ == "__main__":
    uvloop.run(main())
