"""One HTTP exchange: reads the response into a stream parser and reports timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from rightseat.errors import RightseatError
from rightseat.http import Response
from rightseat.http.sse import Reader
from rightseat.models.openai import faults
from rightseat.models.openai.api import Reading
from rightseat.models.openai.mould import Mould
from rightseat.models.openai.watchdog import Watchdog
from rightseat.types.chunks import Fragment, Text, joined

# A longer answer is treated as a server that never stops.
_ANSWER_LIMIT = 256 << 20
_WHOLE_LIMIT = 4 << 20
# Larger reads are searched for runs of events that differ only in their text, up to _MAX_RUNS times.
_LONG = 2 << 10
_STRETCHES = 8
# How long to wait after [DONE] for the end of the body, so that the connection can be reused.
_LINGER_SECONDS = 0.1


class Source(Protocol):
    open: int
    """Bytes buffered of an incomplete event; 0 between two events."""

    def feed(self, chunk: bytes, /) -> list[bytes]: ...
    def close(self) -> list[bytes]: ...


class Exchange:
    """Reads until `done`. `close` drops the connection unless the body was read to its end.

    The timeouts are those that `watchdog` enforces. `log_payload` receives payloads that are errors or cannot
    be parsed.
    """

    def __init__(
        self,
        response: Response,
        answer: Reading,
        watch: Watchdog,
        *,
        first: float,
        idle: float,
        note: Callable[[bytes], None],
    ) -> None:
        self.response = response
        self._answer = answer
        self._watch = watch
        self._first = first
        self._idle = idle
        self._note = note
        self._size = 0
        self.over = False
        self._error: RightseatError | None = None
        self._mould = Mould()
        self._source: Source = Reader()
        try:
            self._source = _source(response.headers)
        except RightseatError as error:
            self._fail(error)

    def read(self) -> list[Fragment]:
        """Return the chunks of the data that has arrived, perhaps none."""
        response = self.response
        data = response.take()
        self._size += len(data)
        text = self._mould.text(data)
        if text is not None and not (self._source.open or response.over or self._size > _ANSWER_LIMIT):
            self._watch.begun = True
            return [Text(text)]
        out = self._long(data) if len(data) > _LONG else self._parse(data)
        if self._size > _ANSWER_LIMIT:
            self._fail(faults.garbled("an answer without end"))
        if out:
            self._watch.begun = True
        return joined(out) if len(out) > 1 else out

    def _long(self, data: bytes) -> list[Fragment]:
        """Parse a large read: runs of similar events by the fast path, the events between them one by one."""
        out: list[Fragment] = []
        for _ in range(_STRETCHES):
            found = None if self._source.open else self._mould.run(data)
            if found is not None:
                text, data = found
                out.append(Text(text))
            event, end, data = data.partition(b"\n\n")
            if not data:
                return out + self._parse(event + end)
            out += self._parse(event + end, more=True)
            if self.over:
                return out
        return out + self._parse(data)

    def _parse(self, data: bytes, *, more: bool = False) -> list[Fragment]:
        """Parse data. `more`: further data of the same read follows."""
        # Chunks before an error are still returned; finish() raises the error.
        out: list[Fragment] = []
        answer, ended = self._answer, self.response.over and not more
        payload = b""
        try:
            for payload in self._source.feed(data):
                out += answer.feed(payload)
            if ended:
                for payload in self._source.close():
                    out += answer.tail(payload)
        except RightseatError as error:
            self._fail(error)
            self._note(payload)
        if ended or answer.done:
            self.over = True
        if answer.plain:
            self._mould.learn(data, payload)
        return out

    def _fail(self, error: RightseatError) -> None:
        self._error = self._error or error
        self.over = True

    def end(self) -> list[Fragment]:
        if (error := self._error) is not None:
            # Drop the reference: error → traceback → self would be a cycle that delays closing.
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
        """Read the bytes after [DONE], so that the connection can be reused."""
        response = self.response
        if response.over:
            return
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while not response.over:
                    await response.arrival()
                    response.take()
        except TimeoutError:
            # The answer is complete; only the connection is lost.
            return

    def close(self) -> None:
        self._watch.stop()
        self.response.close()


class Whole:
    """Returns the whole body as one payload, for servers that do not stream."""

    open = 1

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
        # An event stream with the content type of JSON.
        reader = Reader()
        return reader.feed(body) + reader.close()


def _source(headers: Mapping[str, str]) -> Source:
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise faults.garbled("a compressed answer, which was not asked for")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        return Reader()
    if kind == "application/json":
        return Whole()
    raise faults.garbled("neither an event stream nor JSON")
