"""Sends a reply to the ASGI server; nothing else writes to a client.

uvicorn's `send` is silent after a disconnect, so a reply that only writes would let its upstream run on.
`send_reply` therefore races `receive()`: one task writes, one waits for the disconnect, and a timer sends
keep-alives and drops a client that stops reading.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct

from rightseat.types.streams import closing

log = logging.getLogger(__name__)
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# Writes body bytes at once, without an ASGI message or a coroutine; false where `send` must be used.
WriteDirect = Callable[[bytes], bool]
# The ASGI extension by which a server offers a WriteDirect, under `write`.
DIRECT_EXTENSION = "rightseat.direct"
Headers = tuple[tuple[bytes, bytes], ...]


class DirectWriter:
    """Lets a producer write to the client while the reply waits for its next part.

    `write` returns false where the bytes were not taken: they must then come as a part.
    """

    __slots__ = ("write",)

    def __init__(self) -> None:
        self.write: WriteDirect = lambda data: False


class ResponseStart(Struct, frozen=True):
    """The first part of a reply. `keep_alive` is sent when the reply is idle; empty: nothing is. `body` is
    the entire body, where it is known; `direct_writer` is connected once the headers are sent. `failure` ends the
    body where the rest of the reply cannot be produced; empty: the connection is cut."""

    status: int
    headers: Headers = ()
    keep_alive: bytes = b""
    body: bytes | None = None
    direct_writer: DirectWriter | None = None
    failure: bytes = b""


Reply = AsyncIterator[ResponseStart | bytes]


async def make_empty_reply(status: int, headers: Headers = ()) -> Reply:
    yield ResponseStart(status, headers)


class SendTimeouts(Struct, frozen=True):
    keep_alive: float = 15.0
    send_timeout: float = 60.0


class ReplyWriter:
    """Sends the parts of a reply and tracks when it last sent something."""

    def __init__(
        self, send: Send, headers: Headers, on_start: Callable[[int], None], direct: WriteDirect | None
    ) -> None:
        self.send = send
        self.direct = direct
        self.headers = headers
        self.on_start = on_start
        self.loop = asyncio.get_running_loop()
        self.clock = self.loop.time
        self.keep_alive = b""
        self.start: ResponseStart | None = None
        self.keep_alive_task: asyncio.Future[None] | None = None
        self.sending = 0
        self.last_sent = self.clock()

    async def write(self, reply: Reply) -> None:
        ended = False
        direct, clock = self.direct, self.clock
        async with closing(reply):
            async for part in reply:
                if isinstance(part, bytes):
                    if direct is not None and direct(part):
                        self.last_sent = clock()
                    else:
                        await self.send_message(make_body_message(part, more=True))
                    continue
                self.start = part
                self.keep_alive = part.keep_alive
                headers = [*part.headers, *self.headers]
                self.on_start(part.status)
                await self.send_message({"type": "http.response.start", "status": part.status, "headers": headers})
                if part.direct_writer is not None and direct is not None:
                    part.direct_writer.write = self.write_direct
                if part.body is not None:
                    await self.send_message(make_body_message(part.body, more=False))
                    ended = True
        if not ended:
            await self.send_message(make_body_message(b"", more=False))

    async def write_failure(self) -> bool:
        """End a body that cannot be completed by the error that its `start` has; false where it has none."""
        if self.start is None or not self.start.failure:
            return False
        await self.send_message(make_body_message(self.start.failure, more=False))
        return True

    def write_direct(self, data: bytes) -> bool:
        """Write body bytes if the client takes them at once; false otherwise."""
        if self.direct is None or not self.direct(data):
            return False
        self.last_sent = self.clock()
        return True

    async def send_message(self, message: Message) -> None:
        self.last_sent = self.clock()
        self.sending += 1
        await self.send(message)
        self.sending -= 1

    def schedule_tick(self, timeouts: SendTimeouts, work: asyncio.Task[None]) -> None:
        """Run `tick` periodically until `timer` is cancelled; cancel `work` when it returns false."""
        if self.tick(timeouts):
            # A third of the shorter timeout: a keep-alive is at most a third late.
            interval = min(timeouts.keep_alive, timeouts.send_timeout) / 3
            self.timer = self.loop.call_later(interval, self.schedule_tick, timeouts, work)
        else:
            work.cancel()

    def tick(self, timeouts: SendTimeouts) -> bool:
        """Send a keep-alive if due; returns false when the client has stopped reading."""
        idle = self.clock() - self.last_sent
        if self.sending:
            return idle < timeouts.send_timeout
        if self.keep_alive and idle >= timeouts.keep_alive:
            # Not awaited: a client that does not read must not block the timer.
            self.keep_alive_task = asyncio.ensure_future(
                self.send_message(make_body_message(self.keep_alive, more=True))
            )
        return True


def make_body_message(data: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def write_or_fail(writer: ReplyWriter, reply: Reply, make_failure_reply: Callable[[], Reply] | None) -> None:
    """Send a reply. If it raises, log the exception and send the client an error that it can read."""
    try:
        await writer.write(reply)
    except Exception as error:
        log.exception("a reply failed")
        if writer.start is None and make_failure_reply is not None:
            await writer.write(make_failure_reply())
        elif not await writer.write_failure():
            raise error


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_reply(
    reply: Reply,
    receive: Receive,
    send: Send,
    timeouts: SendTimeouts = SendTimeouts(),
    *,
    headers: Headers = (),
    on_start: Callable[[int], None] = lambda status: None,
    direct: WriteDirect | None = None,
    make_failure_reply: Callable[[], Reply] | None = None,
) -> bool:
    """Send the whole reply; returns false when the client left or was dropped. Closes the reply.

    `headers` are added to the reply's own; `on_start` receives the status. The reply of
    `make_failure_reply` is sent instead of one that fails before its first part.
    """
    loop = asyncio.get_running_loop()
    writer = ReplyWriter(send, headers, on_start, direct)
    work = loop.create_task(write_or_fail(writer, reply, make_failure_reply))
    disconnect = loop.create_task(wait_for_disconnect(receive))
    disconnect.add_done_callback(lambda _: work.cancel())
    writer.schedule_tick(timeouts, work)
    try:
        await work
    except asyncio.CancelledError:
        # This task itself is being cancelled, not only the one that it awaits.
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return False
    finally:
        writer.timer.cancel()
        helpers = [helper for helper in (disconnect, writer.keep_alive_task) if helper is not None]
        for helper in helpers:
            helper.cancel()
        # A keep-alive may fail when the reply has just ended: ignore it.
        await asyncio.gather(*helpers, return_exceptions=True)
    return True
