"""A streaming HTTP response.

Received bytes can be taken at any time, and `next_arrival` returns a bare future: a token costs its reader
one wake-up.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

import httptools

MAX_HEAD = 64 << 10
# Untaken body bytes at which reading from the server pauses.
MAX_WAITING = 128 << 10
NEVER = math.inf


class Cut(OSError):
    """The connection ended before the response did."""


class NotHttp(Cut):
    """The server sent invalid HTTP."""


class Response(asyncio.Protocol):
    """A response being received; also the transport's protocol and the parser's callbacks.

    `ready`: there is body to take, or the response has ended. `ended`: nothing more comes. `complete`: the
    response arrived whole. `waiting_since`: when the reader began to wait, else NEVER.
    Names in `headers` are lower case, repeated headers are joined. The reader calls `close` when done;
    `release` then receives whether the connection can be reused.
    """

    def __init__(self, transport: asyncio.Transport, release: Callable[[bool], None]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.begun = False
        self.ready = False
        self.over = False
        self.complete = False
        self.since = NEVER
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._release: Callable[[bool], None] | None = release
        self._garbled = False
        self._head_size = 0
        self._keep = False
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        # The parser calls this for every chunk: bound to list.append for speed.
        self.on_body = self._pieces.append
        parser = httptools.HttpResponseParser(self)
        # Lenient as browsers are: the operator chose this server.
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._parser: httptools.HttpResponseParser | None = parser

    # The reader's side

    async def head(self) -> None:
        """Wait for status and headers; raises IncompleteResponse or InvalidHttpResponse."""
        while not (self.begun or self.over):
            await self.arrival()
        if not self.begun:
            raise self._flaw()

    def arrival(self) -> asyncio.Future[None]:
        """Return a future that is done at the next change of state, `ready` or not. One reader at a time."""
        loop = self._loop
        if self.since == NEVER:
            self.since = loop.time()
        self._waiter = waiter = loop.create_future()
        return waiter

    def take(self) -> bytes:
        """Return the body received since the last call."""
        pieces = self._pieces
        self.ready = self.over
        self.since = NEVER
        if len(pieces) == 1 and not self._waiting:
            return pieces.pop()
        data = b"".join(pieces)
        pieces.clear()
        self._waiting = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def read(self, limit: int) -> bytes:
        """Read the rest of the body, or until `limit` bytes are reached; raises IncompleteResponse."""
        data = bytearray()
        while len(data) < limit and not self.over:
            if not self.ready:
                await self.arrival()
            data += self.take()
        data += self.take()
        if self.over and not self.complete:
            raise self._flaw()
        return bytes(data)

    def cut(self) -> None:
        """Abort the connection and wake the reader."""
        self._transport.abort()
        self._end()

    def close(self) -> None:
        """Release the connection: reusable if the response is complete, else aborted."""
        release, self._release = self._release, None
        if release is not None:
            self._end()
            release(self.complete and self._keep)

    # The transport's side

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if parser is None:
            return
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # After a complete response this spoils the connection only.
            self._keep = False
            self._garble()
        if not self.begun:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self._garble()
        if self._pieces:
            self.ready = True
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)
        elif self.begun:
            # No reader is waiting: count it as buffered.
            self._hoard(len(data))

    def _hoard(self, size: int) -> None:
        self._waiting += size
        if self._waiting > MAX_WAITING and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """End the response; EOF completes a body that has no declared length."""
        coding = self.headers.get("transfer-encoding")
        sized = "content-length" in self.headers if coding is None else coding.lower().endswith("chunked")
        self.complete |= self.begun and not sized
        self._keep = False
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep = False
        self._end()

    def _end(self) -> None:
        """Mark the response as ended; one that is not `complete` by now is broken."""
        self.over = self.ready = True
        self._parser = None
        self._wake()

    def _garble(self) -> None:
        self._garbled = not self.complete
        self._end()

    def _flaw(self) -> Cut:
        return NotHttp("what came is not HTTP") if self._garbled else Cut("the connection was closed")

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # The parser's callbacks

    def on_message_begin(self) -> None:
        if self.complete:
            raise NotHttp("a second answer to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come by the same callback, after the head.
        if not self.begun:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:
            # An interim (1xx) response: the final one follows.
            self.headers.clear()
            return
        self.status = status
        self.begun = True
        self._keep = self._parser.should_keep_alive()

    def on_message_complete(self) -> None:
        if self.begun:
            self.complete = self.over = self.ready = True
