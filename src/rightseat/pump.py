"""The one place that writes to a socket.

uvicorn's `send` is silent once a client has left, so a door that only writes never hears of it and its
upstream runs on. The pump therefore races `receive()`: one task writes, one waits for the client to leave,
and this one sends keep-alives and drops a client that takes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct

from rightseat.streams import closing

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


Headers = tuple[tuple[bytes, bytes], ...]


class Head(Struct, frozen=True):
    """Starts a reply. `keep_alive` is what may be sent when nothing else was for a while; empty: nothing.
    `whole` is the entire body, where it is known."""

    status: int
    headers: Headers = ()
    keep_alive: bytes = b""
    whole: bytes | None = None


Reply = AsyncIterator[Head | bytes]


class Pace(Struct, frozen=True):
    keep_alive: float = 15.0
    send_timeout: float = 60.0


class Writer:
    """Sends a reply's parts, and knows when it last could."""

    def __init__(self, send: Send, headers: Headers) -> None:
        self.send = send
        self.headers = headers
        self.clock = asyncio.get_running_loop().time
        self.keep_alive = b""
        self.beat: asyncio.Future[None] | None = None
        self.sending = 0
        self.since = self.clock()

    async def write(self, reply: Reply) -> None:
        ended = False
        async with closing(reply):
            async for part in reply:
                if isinstance(part, bytes):
                    await self.body(part, more=True)
                else:
                    self.keep_alive = part.keep_alive
                    headers = [*part.headers, *self.headers]
                    await self.put({"type": "http.response.start", "status": part.status, "headers": headers})
                    if part.whole is not None:
                        await self.body(part.whole, more=False)
                        ended = True
        if not ended:
            await self.body(b"", more=False)

    async def body(self, data: bytes, *, more: bool) -> None:
        await self.put({"type": "http.response.body", "body": data, "more_body": more})

    async def put(self, message: Message) -> None:
        self.since = self.clock()
        self.sending += 1
        await self.send(message)
        self.sending -= 1

    def tick(self, pace: Pace) -> bool:
        """Keep the connection alive if it is time; false when the client takes nothing any more."""
        idle = self.clock() - self.since
        if self.sending:
            return idle < pace.send_timeout
        if self.keep_alive and idle >= pace.keep_alive:
            # Not awaited: a client that takes nothing must not stop who watches over it.
            self.beat = asyncio.ensure_future(self.body(self.keep_alive, more=True))
        return True


async def departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def pump(
    reply: Reply, receive: Receive, send: Send, *, pace: Pace = Pace(), headers: Headers = ()
) -> bool:
    """Write the whole reply; false when the client left or was dropped, and then the reply is closed.

    `headers` are added to those of the reply's own head.
    """
    writer = Writer(send, headers)
    work = asyncio.ensure_future(writer.write(reply))
    gone = asyncio.ensure_future(departure(receive))
    tasks = (work, gone)
    # A third of the shorter wait: a keep-alive is then at most a third late, and the timer costs nothing.
    beat = min(pace.keep_alive, pace.send_timeout) / 3
    try:
        while True:
            await asyncio.wait(tasks, timeout=beat, return_when=asyncio.FIRST_COMPLETED)
            if work.cancelled():
                return False
            if work.done():
                work.result()
                return True
            if gone.done() or not writer.tick(pace):
                return False
    finally:
        left = [task for task in (work, gone, writer.beat) if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
