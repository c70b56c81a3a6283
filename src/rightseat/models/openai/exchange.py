"""One HTTP exchange: reads the response into a stream parser and reports timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from rightseat.errors import RightseatError
from rightseat.http.response import Response
from rightseat.http.sse import SseParser
from rightseat.models.openai import faults
from rightseat.models.openai.api import StreamParser
from rightseat.models.openai.mould import ChatDeltaFastPath
from rightseat.models.openai.watchdog import ResponseWatchdog
from rightseat.types.chunks import ModelChunk, TextChunk, merge_text_chunks

# A longer answer is treated as a server that never stops.
_ANSWER_LIMIT = 256 << 20
_BODY_LIMIT = 4 << 20
# Larger reads are searched for runs of events that differ only in their text, up to _MAX_RUNS times.
_BURST_BYTES = 2 << 10
_MAX_RUNS = 8
# How long to wait after [DONE] for the end of the body, so that the connection can be reused.
_DRAIN_SECONDS = 0.1


class PayloadSource(Protocol):
    pending_bytes: int
    """Bytes buffered of an incomplete event; 0 between two events."""

    def feed(self, chunk: bytes, /) -> list[bytes]: ...
    def close(self) -> list[bytes]: ...


class OpenAIExchange:
    """Reads until `done`. `close` drops the connection unless the body was read to its end.

    The timeouts are those that `watchdog` enforces. `log_payload` receives payloads that are errors or cannot
    be parsed.
    """

    def __init__(
        self,
        response: Response,
        parser: StreamParser,
        watchdog: ResponseWatchdog,
        *,
        first_token_timeout: float,
        idle_timeout: float,
        log_payload: Callable[[bytes], None],
    ) -> None:
        self.response = response
        self._parser = parser
        self._watchdog = watchdog
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._log_payload = log_payload
        self._size = 0
        self.done = False
        self._error: RightseatError | None = None
        self._fast_path = ChatDeltaFastPath()
        self._payloads: PayloadSource = SseParser()
        try:
            self._payloads = _make_payload_source(response.headers)
        except RightseatError as error:
            self._fail(error)

    def read(self) -> list[ModelChunk]:
        """Return the chunks of the data that has arrived, perhaps none."""
        response = self.response
        data = response.take_body()
        self._size += len(data)
        text = self._fast_path.read_text(data)
        if text is not None and not (
            self._payloads.pending_bytes or response.ended or self._size > _ANSWER_LIMIT
        ):
            self._watchdog.begun = True
            return [TextChunk(text)]
        out = self._parse_burst(data) if len(data) > _BURST_BYTES else self._parse(data)
        if self._size > _ANSWER_LIMIT:
            self._fail(faults.garbled_error("an answer without end"))
        if out:
            self._watchdog.begun = True
        return merge_text_chunks(out) if len(out) > 1 else out

    def _parse_burst(self, data: bytes) -> list[ModelChunk]:
        """Parse a large read: runs of similar events by the fast path, the events between them one by one."""
        out: list[ModelChunk] = []
        for _ in range(_MAX_RUNS):
            run = None if self._payloads.pending_bytes else self._fast_path.read_run(data)
            if run is not None:
                text, data = run
                out.append(TextChunk(text))
            event, end, data = data.partition(b"\n\n")
            if not data:
                return out + self._parse(event + end)
            out += self._parse(event + end, more=True)
            if self.done:
                return out
        return out + self._parse(data)

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
        if ended or parser.done:
            self.done = True
        if parser.last_was_text:
            self._fast_path.learn(data, payload)
        return out

    def _fail(self, error: RightseatError) -> None:
        self._error = self._error or error
        self.done = True

    def finish(self) -> list[ModelChunk]:
        if (error := self._error) is not None:
            # Drop the reference: error → traceback → self would be a cycle that delays closing.
            self._error = None
            try:
                raise error
            finally:
                del error
        if self._watchdog.expired and not self._parser.finished:
            if self._watchdog.begun:
                raise faults.idle_timeout_error(self._idle_timeout)
            raise faults.first_token_timeout_error(self._first_token_timeout)
        return self._parser.finish()

    async def drain(self) -> None:
        """Read the bytes after [DONE], so that the connection can be reused."""
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
        self._watchdog.stop()
        self.response.close()


class BodyPayloadSource:
    """Returns the whole body as one payload, for servers that do not stream."""

    pending_bytes = 1

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, chunk: bytes, /) -> list[bytes]:
        self._body += chunk
        if len(self._body) > _BODY_LIMIT:
            raise faults.garbled_error(f"an answer of more than {_BODY_LIMIT} bytes in one piece")
        return []

    def close(self) -> list[bytes]:
        body = bytes(self._body)
        if body.lstrip()[:1] == b"{":
            return [body]
        # An event stream with the content type of JSON.
        reader = SseParser()
        return reader.feed(body) + reader.close()


def _make_payload_source(headers: Mapping[str, str]) -> PayloadSource:
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise faults.garbled_error("a compressed answer, which was not asked for")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        return SseParser()
    if kind == "application/json":
        return BodyPayloadSource()
    raise faults.garbled_error("neither an event stream nor JSON")
