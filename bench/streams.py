"""The clients' connections, and what the upstream tells them."""

import asyncio
import json
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit

from bench.doors import BenchDoor
from bench.order import StreamOrder, WrongAnswer, format_token
from tests.kit.connection import decode_chunked


class ClientStream(asyncio.Protocol):
    """One request; keeps the bytes and looks at them only after the load."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._parts: list[bytes] = []
        self._arrival_times: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses, so this cannot be asked.
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self._parts and b" 200 " not in data[:16] and not self.done.done():
            self.done.set_exception(WrongAnswer(f"answered {data[:500]!r}"))
        self._parts.append(data)
        self._arrival_times.append(monotonic())
        if data.endswith(b"0\r\n\r\n") and not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)

    @property
    def raw(self) -> bytes:
        return b"".join(self._parts)

    def list_arrivals(self, order: StreamOrder) -> list[float]:
        """When each token came; after `verify`, which says that each is there once and in its place."""
        ends = list(accumulate(len(part) for part in self._parts))
        raw, at, found = self.raw, 0, list[float]()
        for i in range(order.tokens):
            # Several may be in one frame; the next that begins like it is it.
            at = raw.index(format_token(i).encode(), at) + 1
            found.append(self._arrival_times[bisect_right(ends, at)])
        return found

    def verify(self, door: BenchDoor, order: StreamOrder) -> None:
        head, _, rest = self.raw.partition(b"\r\n\r\n")
        found = decode_chunked(rest)
        if found is None:
            raise WrongAnswer(f"stream {order.stream}: not a whole chunked answer: {head!r} {rest[-300:]!r}")
        order.check(door.read_streamed_text(found[0]))


async def open_streams(url: str, requests: Sequence[bytes], spread: float = 0) -> list[ClientStream]:
    """One connection per request, begun evenly over `spread` seconds: real streams do not tick together."""
    loop = asyncio.get_running_loop()
    to = urlsplit(url)
    begun = loop.time()
    streams: list[ClientStream] = []
    for i, request in enumerate(requests):
        await asyncio.sleep(max(0.0, begun + spread * i / len(requests) - loop.time()))
        _, stream = await loop.create_connection(partial(ClientStream, request), to.hostname or "", to.port or 0)
        streams.append(stream)
    return streams


async def run_orders(url: str, door: BenchDoor, orders: Sequence[StreamOrder], key: str, spread: float = 0) -> None:
    """All orders at once, each on a connection of its own; Wrong unless all came as ordered."""
    streams = await open_streams(url, [door.format_request(order.prompt, True, key) for order in orders], spread)
    await asyncio.gather(*(stream.done for stream in streams))
    for stream, order in zip(streams, orders, strict=True):
        stream.verify(door, order)
        stream.transport.abort()


async def get_report(upstream: str, path: str) -> Any:
    """What the upstream says about itself."""
    to = urlsplit(upstream)
    reader, writer = await asyncio.open_connection(to.hostname, to.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
    writer.close()
    return json.loads(body)


async def measure_stops(
    url: str, upstream: str, threads: Sequence[str], streams: Sequence[ClientStream]
) -> list[float]:
    """Stop the runs of CopilotKit threads one by one at `url`; return the ms until the upstream of each is closed."""
    stopped: dict[str, float] = {}
    for number, thread in enumerate(threads):
        stopped[str(number)] = monotonic()
        head = f"POST /copilotkit/agent/default/stop/{thread} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        (reply,) = await open_streams(url, [f"{head}Connection: close\r\nContent-Length: 0\r\n\r\n".encode()])
        await reply.done
    closes: dict[str, float] = {}
    while len(closes) < len(threads):
        await asyncio.sleep(0.05)
        closes = await get_report(upstream, "/closes")
    for stream in streams:
        stream.transport.abort()
    return [(at - stopped[number]) * 1000 for number, at in closes.items()]
