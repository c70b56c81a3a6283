"""One answer on its way: the response, what reads it, and who watches over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from rightseat.errors import RightseatError
from rightseat.fragments import Fragment
from rightseat.models.openai import faults
from rightseat.models.openai.answer import Answer
from rightseat.models.openai.watchdog import Watchdog
from rightseat.sse import Reader

# An answer that is still not over by then is a server that runs away.
_ANSWER_LIMIT = 256 << 20
_WHOLE_LIMIT = 4 << 20
# How long the end of the HTTP body may lag behind [DONE] for the connection to be worth keeping.
_LINGER_SECONDS = 0.1
_CUT = (aiohttp.ClientError, HttpProcessingError, OSError)


class Source(Protocol):
    def feed(self, chunk: bytes, /) -> list[bytes]: ...
    def close(self) -> list[bytes]: ...


class Exchange:
    """Reads until the answer is over. `close` cuts the connection unless the answer was read to its end.

    `deadline` is when the first token is due, `first` and `idle` are the timeouts; `note` is given a payload
    that is an error, or cannot be read.
    """

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        answer: Answer,
        *,
        deadline: float,
        first: float,
        idle: float,
        note: Callable[[bytes], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self._response = response
        self._content = response.content
        self._answer = answer
        self._first = first
        self._idle = idle
        self._note = note
        self._time = loop.time
        self._size = 0
        self._over = False
        self._error: RightseatError | None = None
        self._source: Source = Reader()
        try:
            self._source = _source(response.headers)
        except RightseatError as error:
            self._error = error
        self._unsubscribe = _tell_when_closed(response)
        # Closing the response wakes the read that waits for it.
        self._watch = Watchdog(loop, deadline, idle, response.close)

    async def read(self) -> list[Fragment] | None:
        """The fragments of the next bytes, perhaps none; None when there is nothing more to read."""
        if self._over or self._error is not None or self._answer.done:
            return None
        watch = self._watch
        watch.since = self._time()
        try:
            data = await self._content.readany()
        except _CUT:
            self._over = True
            data = _remainder(self._content)
        else:
            self._over = not data
        watch.since = watch.NEVER
        fragments = self._take(data)
        if fragments:
            watch.begun = True
        return fragments

    def _take(self, data: bytes) -> list[Fragment]:
        # What came before something unreadable is still given out; the error is raised after it, by end().
        out: list[Fragment] = []
        answer = self._answer
        payload = b""
        try:
            for payload in self._source.feed(data):
                out += answer.feed(payload)
            if not data:
                for payload in self._source.close():
                    out += answer.tail(payload)
        except RightseatError as error:
            self._error = error
            self._note(payload)
        self._size += len(data)
        if self._size > _ANSWER_LIMIT:
            self._error = self._error or faults.garbled("an answer without end")
        return out

    def end(self) -> list[Fragment]:
        if (error := self._error) is not None:
            # Kept where its own traceback leads it would be a cycle, and the stream wait for the collector.
            self._error = None
            try:
                raise error
            finally:
                del error
        if self._watch.expired and not self._answer.finished:
            if self._watch.begun:
                raise faults.idle_timeout(self._idle)
            raise faults.first_token_timeout(self._first)
        return self._answer.end()

    async def linger(self) -> None:
        """Reads the few bytes after [DONE], so that the connection can serve again."""
        if self._over:
            return
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                await self._content.readany()
        except (TimeoutError, *_CUT):
            # Then the connection is cut, which the answer does not mind.
            return

    def close(self) -> None:
        self._watch.stop()
        self._unsubscribe()
        # Does nothing where the body was read to its end: that connection is back in the pool.
        self._response.close()


class Whole:
    """The body of a server that does not stream, as one payload."""

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, chunk: bytes, /) -> list[bytes]:
        self._body += chunk
        if len(self._body) > _WHOLE_LIMIT:
            raise faults.garbled(f"an answer of more than {_WHOLE_LIMIT} bytes in one piece")
        return []

    def close(self) -> list[bytes]:
        body = bytes(self._body)
        if body.lstrip()[:1] == b"{":
            return [body]
        # An event stream that was called JSON.
        reader = Reader()
        return reader.feed(body) + reader.close()


def _source(headers: Mapping[str, str]) -> Source:
    if headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise faults.garbled("a compressed answer, which was not asked for")
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        return Reader()
    if kind == "application/json":
        return Whole()
    raise faults.garbled("neither an event stream nor JSON")


def _tell_when_closed(response: aiohttp.ClientResponse) -> Callable[[], object]:
    """aiohttp closes the connection on a broken chunk but does not tell the reader, who would wait on.

    What it gives back must be called: a connection outlives its answers, and would hold on to each of them.
    """
    content, connection = response.content, response.connection
    protocol = None if connection is None else connection.protocol
    closed = None if protocol is None else protocol.closed
    if closed is None:
        return lambda: None

    def tell(done: asyncio.Future[None]) -> None:
        if not done.cancelled():
            done.exception()  # looked at, else asyncio complains that nobody did
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection was closed in the answer"))

    closed.add_done_callback(tell)
    return partial(closed.remove_done_callback, tell)


def _remainder(content: aiohttp.StreamReader) -> bytes:
    """What arrived before the connection broke. aiohttp raises instead of giving it out, and has no other
    way to it than to take the exception away; a test fails when that changes."""
    content._exception = None
    return content.read_nowait()
