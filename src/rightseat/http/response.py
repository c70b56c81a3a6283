"""One answer as it comes in.

What has arrived can be taken at any time, and `arrival` is a bare future: a token costs its reader one
wake-up and nothing besides.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

import httptools

# A head of more than this is no head.
MAX_HEAD = 64 << 10
# What may wait to be taken before the server is made to wait.
MAX_WAITING = 128 << 10
NEVER = math.inf


class Cut(OSError):
    """The connection ended before the answer did."""


class NotHttp(Cut):
    """What the server sent breaks the rules of HTTP."""


class Response(asyncio.Protocol):
    """`begun`: the head is there. `over`: nothing more will come. `complete`: it came to its end.
    `ready`: there is something to take, or it is over. `since`: when its reader began to wait, else NEVER.

    The names in `headers` are in lower case, repeated ones joined. Whoever has read enough calls `close`, and
    `release` is told whether the connection can serve again.
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
        # The parser calls it for every piece: no function of ours stands between.
        self.on_body = self._pieces.append
        parser = httptools.HttpResponseParser(self)
        # As browsers do: the server is one that somebody chose, not a stranger.
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._parser: httptools.HttpResponseParser | None = parser

    # The reader's side

    async def head(self) -> None:
        """Waits for status and headers; raises Cut or NotHttp where none come."""
        while not (self.begun or self.over):
            await self.arrival()
        if not self.begun:
            raise self._flaw()

    def arrival(self) -> asyncio.Future[None]:
        """Done when something has happened, which need not make it `ready`. One reader at a time."""
        loop = self._loop
        if self.since == NEVER:
            self.since = loop.time()
        self._waiter = waiter = loop.create_future()
        return waiter

    def take(self) -> bytes:
        """All of the body that has arrived since."""
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
        """The rest of the body, or as much of it as reaches `limit`; raises Cut where it breaks off."""
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
        """Ends the connection; whoever waits is woken."""
        self._transport.abort()
        self._end()

    def close(self) -> None:
        """Gives the connection back where the answer came to its end, and cuts it where it did not."""
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
            # After the end it spoils the connection, but no longer the answer.
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
            # Nobody waits for it, so it waits.
            self._hoard(len(data))

    def _hoard(self, size: int) -> None:
        self._waiting += size
        if self._waiting > MAX_WAITING and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """The server will say no more. For a body that tells no length, that is its end."""
        coding = self.headers.get("transfer-encoding")
        sized = "content-length" in self.headers if coding is None else coding.lower().endswith("chunked")
        self.complete |= self.begun and not sized
        self._keep = False
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep = False
        self._end()

    def _end(self) -> None:
        """Nothing more will come: what is not complete by now is cut."""
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
            # An interim answer: the real one follows.
            self.headers.clear()
            return
        self.status = status
        self.begun = True
        self._keep = self._parser.should_keep_alive()

    def on_message_complete(self) -> None:
        if self.begun:
            self.complete = self.over = self.ready = True
