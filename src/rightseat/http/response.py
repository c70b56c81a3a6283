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
MAX_BUFFERED = 128 << 10
NEVER = math.inf


class IncompleteResponse(OSError):
    """The connection ended before the response did."""


class InvalidHttpResponse(IncompleteResponse):
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
        self.head_received = False
        self.ready = False
        self.ended = False
        self.complete = False
        self.waiting_since = NEVER
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._release: Callable[[bool], None] | None = release
        self._invalid = False
        self._head_size = 0
        self._keep_alive = False
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        # The parser calls this for every chunk: bound to list.append for speed.
        self.on_body = self._chunks.append
        parser = httptools.HttpResponseParser(self)
        # Lenient as browsers are: the operator chose this server.
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._parser: httptools.HttpResponseParser | None = parser

    # The reader's side

    async def wait_for_head(self) -> None:
        """Wait for status and headers; raises IncompleteResponse or InvalidHttpResponse."""
        while not (self.head_received or self.ended):
            await self.next_arrival()
        if not self.head_received:
            raise self._make_error()

    def next_arrival(self) -> asyncio.Future[None]:
        """Return a future that is done at the next change of state, `ready` or not. One reader at a time."""
        loop = self._loop
        if self.waiting_since == NEVER:
            self.waiting_since = loop.time()
        self._waiter = waiter = loop.create_future()
        return waiter

    def take_body(self) -> bytes:
        """Return the body received since the last call."""
        pieces = self._chunks
        self.ready = self.ended
        self.waiting_since = NEVER
        if len(pieces) == 1 and not self._buffered:
            return pieces.pop()
        data = b"".join(pieces)
        pieces.clear()
        self._buffered = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def read_body(self, limit: int) -> bytes:
        """Read the rest of the body, or until `limit` bytes are reached; raises IncompleteResponse."""
        data = bytearray()
        while len(data) < limit and not self.ended:
            if not self.ready:
                await self.next_arrival()
            data += self.take_body()
        data += self.take_body()
        if self.ended and not self.complete:
            raise self._make_error()
        return bytes(data)

    def abort(self) -> None:
        """Abort the connection and wake the reader."""
        self._transport.abort()
        self._end()

    def close(self) -> None:
        """Release the connection: reusable if the response is complete, else aborted."""
        release, self._release = self._release, None
        if release is not None:
            self._end()
            release(self.complete and self._keep_alive)

    # The transport's side

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if parser is None:
            return
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # After a complete response this spoils the connection only.
            self._keep_alive = False
            self._end_invalid()
        if not self.head_received:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self._end_invalid()
        if self._chunks:
            self.ready = True
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)
        elif self.head_received:
            # No reader is waiting: count it as buffered.
            self._buffer(len(data))

    def _buffer(self, size: int) -> None:
        self._buffered += size
        if self._buffered > MAX_BUFFERED and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """End the response; EOF completes a body that has no declared length."""
        coding = self.headers.get("transfer-encoding")
        sized = "content-length" in self.headers if coding is None else coding.lower().endswith("chunked")
        self.complete |= self.head_received and not sized
        self._keep_alive = False
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep_alive = False
        self._end()

    def _end(self) -> None:
        """Mark the response as ended; one that is not `complete` by now is broken."""
        self.ended = self.ready = True
        self._parser = None
        self._wake()

    def _end_invalid(self) -> None:
        self._invalid = not self.complete
        self._end()

    def _make_error(self) -> IncompleteResponse:
        return (
            InvalidHttpResponse("what came is not HTTP")
            if self._invalid
            else IncompleteResponse("the connection was closed")
        )

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # The parser's callbacks

    def on_message_begin(self) -> None:
        if self.complete:
            raise InvalidHttpResponse("a second answer to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come by the same callback, after the head.
        if not self.head_received:
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
        self.head_received = True
        self._keep_alive = self._parser.should_keep_alive()

    def on_message_complete(self) -> None:
        if self.head_received:
            self.complete = self.ended = self.ready = True
