"""The clients' connections, and what the upstream tells them."""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from bench.doors import Door
from bench.load import Order
from tests.kit.connection import dechunk


class Wrong(Exception):
    """An answer that is not the one ordered."""


class Stream(asyncio.Protocol):
    """One request; keeps the bytes and looks at them only after the load."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._parts: list[bytes] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses, so this cannot be asked.
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self._parts and b" 200 " not in data[:16] and not self.done.done():
            self.done.set_exception(Wrong(f"answered {data[:500]!r}"))
        self._parts.append(data)
        if data.endswith(b"0\r\n\r\n") and not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)

    @property
    def raw(self) -> bytes:
        return b"".join(self._parts)

    def verify(self, door: Door, order: Order) -> None:
        head, _, rest = self.raw.partition(b"\r\n\r\n")
        found = dechunk(rest)
        if found is None:
            raise Wrong(f"stream {order.stream}: not a whole chunked answer: {head!r} {rest[-300:]!r}")
        text = door.text(found[0])
        if text != order.text:
            raise Wrong(
                f"stream {order.stream}: {len(text)} characters instead of {len(order.text)}: {text[-200:]!r}"
            )


Kind = TypeVar("Kind", bound=Stream)


async def connect(
    url: str, requests: Sequence[bytes], spread: float = 0, make: Callable[[bytes], Kind] = Stream
) -> list[Kind]:
    """One connection per request, begun evenly over `spread` seconds: real streams do not tick together."""
    loop = asyncio.get_running_loop()
    to = urlsplit(url)
    begun = loop.time()
    streams: list[Kind] = []
    for i, request in enumerate(requests):
        await asyncio.sleep(max(0.0, begun + spread * i / len(requests) - loop.time()))
        _, stream = await loop.create_connection(partial(make, request), to.hostname or "", to.port or 0)
        streams.append(stream)
    return streams


async def report(upstream: str, path: str) -> Any:
    """What the upstream says about itself."""
    to = urlsplit(upstream)
    reader, writer = await asyncio.open_connection(to.hostname, to.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
    writer.close()
    return json.loads(body)
