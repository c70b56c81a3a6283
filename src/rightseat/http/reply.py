"""Sends a reply to the ASGI server; nothing else writes to a client.

uvicorn's `send` is silent after a disconnect, so a reply that only writes would let its upstream run on.
`send_reply` therefore races `receive()`: the request's task writes, another waits for the disconnect and cancels it,
and a timer sends keep-alives and drops a client that stops reading.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct

from rightseat.errors import RightseatError, make_internal_error
from rightseat.http.refusals import report_refusal
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


class EarlyStart:
    """The start that a stream will have if it succeeds, yielded before its status is known.

    It is sent when `SendTimeouts.first_byte` has passed without another part, because proxies cut a connection
    without a byte; with its keep-alive, unless its client cannot read one before the first event (`quiet`). `sent` is
    true from then on, and an error must come as a frame of the stream. A ResponseStart that follows is not sent again.
    """

    __slots__ = ("quiet", "sent", "start")

    def __init__(self, start: ResponseStart, *, quiet: bool = False) -> None:
        self.start = start
        self.quiet = quiet
        self.sent = False


Reply = AsyncIterator[ResponseStart | EarlyStart | bytes]


async def make_empty_reply(status: int, headers: Headers = ()) -> Reply:
    yield ResponseStart(status, headers)


class SendTimeouts(Struct, frozen=True):
    keep_alive: float = 15.0
    send_timeout: float = 60.0
    first_byte: float = 2.0


class ReplyWriter:
    """Sends the parts of a reply and tracks when it last sent something. As a context it cancels the task that entered
    it if the client leaves, and says so by `cancelled`."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        timeouts: SendTimeouts,
        headers: Headers,
        on_start: Callable[[int], None],
        direct: WriteDirect | None,
    ) -> None:
        task = asyncio.current_task()
        assert task is not None, "a reply is sent by a task"
        self.task = task
        self.receive = receive
        self.send = send
        self.timeouts = timeouts
        self.server_direct = direct
        self.direct: WriteDirect | None = None
        """Writes body bytes at once. Not before the head is out: a part may follow a start that is being sent early."""
        self.headers = headers
        self.on_start = on_start
        self.loop = asyncio.get_running_loop()
        self.clock = self.loop.time
        self.keep_alive = b""
        self.start: ResponseStart | None = None
        self.keep_alive_task: asyncio.Future[None] | None = None
        self.early_timer: asyncio.TimerHandle | None = None
        self.early_task: asyncio.Future[None] | None = None
        self.sending = 0
        self.cancelled = False
        """Whether the client left or was dropped."""
        self.closed = False
        self.ended = False
        """Whether the end of the body was sent."""
        self.last_sent = self.clock()

    async def write_part(self, part: ResponseStart | EarlyStart | bytes) -> None:
        """Send a part of the reply by messages of ASGI."""
        if isinstance(part, bytes):
            if self.early_task is not None:
                await self.finish_early()
            await self.send_message(make_body_message(part, more=True))
        elif isinstance(part, EarlyStart):
            self.early_timer = self.loop.call_later(self.timeouts.first_byte, self.send_early, part)
        else:
            await self.begin(part)
            self.direct = self.server_direct
            if part.direct_writer is not None and self.direct is not None:
                part.direct_writer.write = self.write_direct
            if part.body is not None:
                await self.send_message(make_body_message(part.body, more=False))
                self.ended = True

    async def end(self) -> None:
        """Send the end of the body, unless it was sent with the start."""
        if not self.ended:
            await self.finish_early()
            await self.send_message(make_body_message(b"", more=False))

    async def begin(self, start: ResponseStart) -> None:
        """Send the head, unless it was sent early."""
        if await self.finish_early():
            assert start.body is None, "a status cannot follow a start that was sent early"
            self.keep_alive = start.keep_alive
        else:
            self.start = start
            await self.send_head(start)

    def send_early(self, early: EarlyStart) -> None:
        """Send the head and a keep-alive of a reply whose first part is late."""
        early.sent = True
        self.start = early.start
        self.early_task = asyncio.ensure_future(self.send_early_head(early))

    async def send_early_head(self, early: EarlyStart) -> None:
        keep_alive = b"" if early.quiet else early.start.keep_alive
        await self.send_head(early.start, keep_alive)
        self.keep_alive = keep_alive

    async def finish_early(self) -> bool:
        """Wait until an early head is out, and return true; false where none was sent, and none will be."""
        if self.early_timer is not None:
            self.early_timer.cancel()
        if self.early_task is None:
            return False
        await self.early_task
        return True

    async def send_head(self, start: ResponseStart, body: bytes = b"") -> None:
        headers = [*start.headers, *self.headers]
        self.on_start(start.status)
        await self.send_message({"type": "http.response.start", "status": start.status, "headers": headers})
        if body:
            await self.send_message(make_body_message(body, more=True))
        self.keep_alive = start.keep_alive

    async def write_failure(self, error: RightseatError, make_reply: Callable[[RightseatError], Reply] | None) -> bool:
        """Tell the client that the reply failed: by another reply if nothing was sent, else by the error that its
        `start` has; false where there is none."""
        report_refusal(error)
        if self.start is None and make_reply is not None:
            async with closing(make_reply(error)) as reply:
                async for part in reply:
                    await self.write_part(part)
            await self.end()
            return True
        if self.start is None or not self.start.failure:
            return False
        await self.finish_early()
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

    async def __aenter__(self) -> ReplyWriter:
        """Cancel the task that writes when the client leaves or stops reading, and send keep-alives."""
        self.disconnect = self.loop.create_task(wait_for_disconnect(self.receive))
        self.disconnect.add_done_callback(lambda _: self.cancel())
        self.schedule_tick()
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        """Stop the timers and the helper tasks; nothing is cancelled any more."""
        # Not only by this writer: the server or the caller cancels the task.
        is_own = isinstance(error, asyncio.CancelledError) and self.cancelled and self.task.cancelling() == 1
        self.closed = True
        self.timer.cancel()
        if self.early_timer is not None:
            self.early_timer.cancel()
        if self.cancelled:
            self.task.uncancel()
        helpers = [helper for helper in (self.keep_alive_task, self.early_task) if helper is not None]
        if not self.disconnect.done():
            helpers.append(self.disconnect)
        for helper in helpers:
            helper.cancel()
        if helpers:
            # A keep-alive may fail when the reply has just ended: ignore it.
            await asyncio.gather(*helpers, return_exceptions=True)
        return is_own

    def schedule_tick(self) -> None:
        """Run `tick` periodically until the reply has ended; cancel the task when it returns false."""
        if self.tick():
            # A third of the shorter timeout: a keep-alive is at most a third late.
            interval = min(self.timeouts.keep_alive, self.timeouts.send_timeout) / 3
            self.timer = self.loop.call_later(interval, self.schedule_tick)
        else:
            self.cancel()

    def cancel(self) -> None:
        """Cancel the task that writes, once, unless it has written all."""
        if not (self.closed or self.cancelled):
            self.cancelled = True
            self.task.cancel()

    def tick(self) -> bool:
        """Send a keep-alive if due; returns false when the client has stopped reading."""
        idle = self.clock() - self.last_sent
        if self.sending:
            return idle < self.timeouts.send_timeout
        if self.keep_alive and idle >= self.timeouts.keep_alive:
            # Not awaited: a client that does not read must not block the timer.
            self.keep_alive_task = asyncio.ensure_future(
                self.send_message(make_body_message(self.keep_alive, more=True))
            )
        return True


def make_body_message(data: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


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
    make_failure_reply: Callable[[RightseatError], Reply] | None = None,
) -> bool:
    """Send the whole reply; returns false when the client left or was dropped. Closes the reply.

    `headers` are added to the reply's own; `on_start` receives the status. The reply of
    `make_failure_reply` is sent instead of one that fails before its first part.
    """
    async with ReplyWriter(receive, send, timeouts, headers, on_start, direct) as writer:
        clock = writer.clock
        try:
            # Inlined: a coroutine of its own would cost time for every token.
            async with closing(reply):
                async for part in reply:
                    if isinstance(part, bytes) and (write := writer.direct) is not None and write(part):
                        writer.last_sent = clock()
                    else:
                        await writer.write_part(part)
            await writer.end()
        except RightseatError as error:
            log.warning("a reply failed: %s (%s)", error.code, error.message)
            if not await writer.write_failure(error, make_failure_reply):
                raise
        except Exception as error:
            log.exception("a reply failed")
            if not await writer.write_failure(make_internal_error(error), make_failure_reply):
                raise
    return not writer.cancelled
