"""A client's connection that serves one request after the other."""

import asyncio
from typing import Self
from urllib.parse import urlsplit

from bench.order import WrongAnswer


class KeepAliveConnection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, url: str) -> Self:
        target = urlsplit(url)
        return cls(*await asyncio.open_connection(target.hostname, target.port))

    async def request(self, data: bytes) -> bytes:
        """The body of the answer; anything but 200 is Wrong."""
        self._writer.write(data)
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            if b" 200 " not in head[:16]:
                raise WrongAnswer(f"answered {head[:500]!r}")
            if b"transfer-encoding: chunked" in head:
                return await self._read_chunks()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            return await self._reader.readexactly(length)
        except asyncio.IncompleteReadError as error:
            raise WrongAnswer(f"the connection ended after {error.partial[-300:]!r}") from error

    async def _read_chunks(self) -> bytes:
        parts: list[bytes] = []
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readexactly(2)
        return b"".join(parts)

    def close(self) -> None:
        self._writer.transport.abort()
