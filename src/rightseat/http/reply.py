"""Sends a reply to the ASGI server; nothing else writes to a client.

uvicorn's `send` is silent after a disconnect, so a reply that only writes would let its upstream run on.
`send_reply` therefore races `receive()`: one task writes, one waits for the disconnect, and a timer sends
keep-alives and drops a client that stops reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct

from rightseat.types.streams import closing

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# Writes body bytes at once, without an ASGI message or a coroutine; false where `send` must be used.
Direct = Callable[[bytes], bool]
# The ASGI extension by which a server offers a WriteDirect, under `write`.
DIRECT = "rightseat.direct"


Headers = tuple[tuple[bytes, bytes], ...]


class Feed:
    """Lets a producer write to the client while the reply waits for its next part.

    `write` returns false where the bytes were not taken: they must then come as a part.
    """

    __slots__ = ("write",)

    def __init__(self) -> None:
        self.write: Direct = untaken


def untaken(data: bytes) -> bool:
    return False


class Head(Struct, frozen=True):
    """The first part of a reply. `keep_alive` is sent when the reply is idle; empty: nothing is. `body` is
    the entire body, where it is known; `direct_writer` is connected once the headers are sent."""

    status: int
    headers: Headers = ()
    keep_alive: bytes = b""
    whole: bytes | None = None
    feed: Feed | None = None


Reply = AsyncIterator[Head | bytes]


class Pace(Struct, frozen=True):
    keep_alive: float = 15.0
    send_timeout: float = 60.0

    @property
    def look(self) -> float:
        """A third of the shorter timeout: a keep-alive is at most a third late."""
        return min(self.keep_alive, self.send_timeout) / 3


class Writer:
    """Sends the parts of a reply and tracks when it last sent something."""

    def __init__(
        self, send: Send, headers: Headers, begin: Callable[[int], None], direct: Direct | None
    ) -> None:
        self.send = send
        self.direct = direct
        self.headers = headers
        self.begin = begin
        self.loop = asyncio.get_running_loop()
        self.clock = self.loop.time
        self.keep_alive = b""
        self.beat: asyncio.Future[None] | None = None
        self.sending = 0
        self.since = self.clock()

    async def write(self, reply: Reply) -> None:
        ended = False
        direct, clock = self.direct, self.clock
        async with closing(reply):
            async for part in reply:
                if isinstance(part, bytes):
                    if direct is not None and direct(part):
                        self.since = clock()
                    else:
                        await self.put(body(part, more=True))
                    continue
                self.keep_alive = part.keep_alive
                headers = [*part.headers, *self.headers]
                self.begin(part.status)
                await self.put({"type": "http.response.start", "status": part.status, "headers": headers})
                if part.feed is not None and direct is not None:
                    part.feed.write = self.through
                if part.whole is not None:
                    await self.put(body(part.whole, more=False))
                    ended = True
        if not ended:
            await self.put(body(b"", more=False))

    def through(self, data: bytes) -> bool:
        """Write body bytes if the client takes them at once; false otherwise."""
        if self.direct is None or not self.direct(data):
            return False
        self.since = self.clock()
        return True

    async def put(self, message: Message) -> None:
        self.since = self.clock()
        self.sending += 1
        await self.send(message)
        self.sending -= 1

    def watch(self, pace: Pace, work: asyncio.Task[None]) -> None:
        """Run `tick` periodically until `timer` is cancelled; cancel `work` when it returns false."""
        if self.tick(pace):
            self.timer = self.loop.call_later(pace.look, self.watch, pace, work)
        else:
            work.cancel()

    def tick(self, pace: Pace) -> bool:
        """Send a keep-alive if due; returns false when the client has stopped reading."""
        idle = self.clock() - self.since
        if self.sending:
            return idle < pace.send_timeout
        if self.keep_alive and idle >= pace.keep_alive:
            # Not awaited: a client that does not read must not block the timer.
            self.beat = asyncio.ensure_future(self.put(body(self.keep_alive, more=True)))
        return True


def body(data: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def pump(
    reply: Reply,
    receive: Receive,
    send: Send,
    *,
    pace: Pace = Pace(),
    headers: Headers = (),
    begin: Callable[[int], None] = lambda status: None,
    direct: Direct | None = None,
) -> bool:
    """Send the whole reply; returns false when the client left or was dropped. Closes the reply.

    `headers` are added to the reply's own; `on_start` receives the status.
    """
    loop = asyncio.get_running_loop()
    writer = Writer(send, headers, begin, direct)
    work = loop.create_task(writer.write(reply))
    gone = loop.create_task(departure(receive))
    gone.add_done_callback(lambda _: work.cancel())
    writer.watch(pace, work)
    try:
        await work
    except asyncio.CancelledError:
        if cancelled():
            raise
        return False
    finally:
        writer.timer.cancel()
        left = [task for task in (gone, writer.beat) if task is not None]
        for task in left:
            task.cancel()
        # A keep-alive may fail when the reply has just ended: ignore it.
        await asyncio.gather(*left, return_exceptions=True)
    return True


def cancelled() -> bool:
    """Whether the current task itself is being cancelled, not only one that it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
