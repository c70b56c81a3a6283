"""One streamed response: errors that wait until its chunks are read, timeouts, the end of the body."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.http.client import Response
from rightseat.http.idle import IdleTimer
from rightseat.http.sse import SseParser
from rightseat.models._vendor.errors import VendorErrors
from rightseat.models._vendor.parser import StreamParser
from rightseat.types.chunks import ModelChunk, merge_text_chunks

# A longer answer is treated as a server that never stops.
ANSWER_LIMIT = 256 << 20
# How long to wait after the last event for the end of the body, so that the connection can be reused.
_DRAIN_SECONDS = 0.1


ParserT = TypeVar("ParserT", bound=StreamParser)


class PayloadSource(Protocol):
    pending_bytes: int
    """Bytes buffered of an incomplete event; 0 between two events."""

    def feed(self, chunk: bytes, /) -> list[bytes]: ...
    def close(self) -> list[bytes]: ...


class Timeouts(Struct, frozen=True):
    """Timeouts in seconds: connecting, first token, between two tokens."""

    connect: float = 10
    first_token: float = 120
    idle: float = 60


class StreamExchange(Generic[ParserT]):
    """Reads until `done`. `close` drops the connection unless the body was read to its end.

    `timer` enforces `timeouts`. `log_payload` receives payloads that are errors or cannot be parsed.
    """

    event_limit: ClassVar[int] = 1 << 20
    """The most bytes of an event."""
    finish_seconds: ClassVar[float | None] = None
    """The silence after a finish reason that ends the answer, where nothing else marks its end."""

    def __init__(
        self,
        response: Response,
        parser: ParserT,
        timer: IdleTimer,
        timeouts: Timeouts,
        log_payload: Callable[[bytes], None],
    ) -> None:
        self.response = response
        self.errors = parser.errors
        self.done = False
        self._parser = parser
        self._timer = timer
        self._timeouts = timeouts
        self._log_payload = log_payload
        self._size = 0
        self._last_payload = b""
        self._error: RightseatError | None = None
        self._payloads: PayloadSource = SseParser(self.event_limit)
        try:
            self._payloads = self._make_payloads(read_content_type(response.headers, self.errors))
        except RightseatError as error:
            self._fail(error)

    def _make_payloads(self, content_type: str) -> PayloadSource:
        """Return the source for a body of this type; raises if it cannot be read."""
        if content_type != "text/event-stream":
            raise self.errors.invalid_response("not an event stream")
        return self._payloads

    def read(self) -> list[ModelChunk]:
        """Return the chunks of the data that has arrived, perhaps none."""
        data = self.response.take_body()
        self._size += len(data)
        out = self._parse(data)
        if out or self._parser.started:
            self._timer.begun = True
        if self.finish_seconds is not None and self._parser.finished:
            self._timer.shorten(self.finish_seconds)
        return merge_text_chunks(out) if len(out) > 1 else out

    def _parse(self, data: bytes, *, more: bool = False) -> list[ModelChunk]:
        """Parse data. `more`: further data of the same read follows."""
        # Chunks before an error are still returned; finish() raises the error.
        out: list[ModelChunk] = []
        parser, ended = self._parser, self.response.ended and not more
        payload = b""
        try:
            for payload in self._payloads.feed(data):
                out += parser.feed(payload)
            if ended:
                for payload in self._payloads.close():
                    out += parser.feed_tail(payload)
        except RightseatError as error:
            self._fail(error)
            self._log_payload(payload)
        self._last_payload = payload
        if self._size > ANSWER_LIMIT:
            self._fail(self.errors.invalid_response("an answer without end"))
        if ended or parser.done:
            self.done = True
        return out

    def _fail(self, error: RightseatError) -> None:
        self._error = self._error or error
        self.done = True

    def raise_error(self) -> None:
        """Raise the timeout or the recorded error, if any."""
        error, self._error = self._error, None
        if self._timer.expired and not self._parser.finished:
            if self._timer.begun:
                error = self.errors.idle_timeout(self._timeouts.idle)
            else:
                error = self.errors.first_token_timeout(self._timeouts.first_token)
        if error is not None:
            try:
                raise error
            finally:
                # Drop the references: error → traceback → self would be a cycle that delays closing.
                del error

    def finish(self) -> list[ModelChunk]:
        self.raise_error()
        return self._parser.finish()

    async def drain(self) -> None:
        """Read the bytes after the last event, so that the connection can be reused."""
        response = self.response
        if response.ended:
            return
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not response.ended:
                    await response.next_arrival()
                    response.take_body()
        except TimeoutError:
            # The answer is complete; only the connection is lost.
            return

    def close(self) -> None:
        self._timer.stop()
        self.response.close()


def read_content_type(headers: Mapping[str, str], errors: VendorErrors) -> str:
    """Return the media type, "text/event-stream" where it says nothing; raises for a compressed body."""
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise errors.invalid_response("a compressed answer, which was not asked for")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return "text/event-stream" if kind in ("", "text/plain", "application/octet-stream") else kind
