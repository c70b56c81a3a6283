"""One HTTP exchange: reads the response into a stream parser and reports timeouts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from rightseat.errors import RightseatError
from rightseat.http.client import Response
from rightseat.http.sse import SseParser
from rightseat.models.openai import faults
from rightseat.models.openai.vendor import StreamParser
from rightseat.types.chunks import ModelChunk, TextChunk, merge_text_chunks

# Quotes inside a JSON string are escaped, so this matches a key and its value.
_CONTENT = re.compile(rb'"content":( ?"(?:[^"\\]|\\.)*")')

# Some servers vary every chunk: stop learning after this many attempts.
_TRIES = 4
_decode_text = msgspec.json.Decoder(str).decode
_decode_texts = msgspec.json.Decoder(list[str]).decode


class ChatDeltaFastPath:
    __slots__ = ("_after", "_before", "_seam", "_several", "_size", "_tries")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._seam = b""
        # Length of prefix and suffix; -1, which never matches, until an event is learned.
        self._size = -1
        # Data of at least this length may hold more than one event.
        self._several = 0
        self._tries = _TRIES

    def read_text(self, data: bytes) -> str | None:
        """Return the joined texts if all events match the learned form, else None."""
        length = len(data)
        inner = data.removeprefix(self._before).removesuffix(self._after)
        if length - len(inner) != self._size:
            return None
        try:
            # A JSON string contains no raw newline, so events cannot overlap.
            if length < self._several or inner.find(self._seam) < 0:
                return _decode_text(inner)
            strings = inner.split(self._seam)
            texts = _decode_texts(b"[%b]" % b",".join(strings))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        # More strings than events: the data does not have the learned form.
        return "".join(texts) if len(texts) == len(strings) else None

    def read_run(self, data: bytes) -> tuple[str, bytes] | None:
        """Return the joined texts of the matching events at the start of `data`, and the remaining data;
        None if the first event does not match."""
        if self._size < 0 or not data.startswith(self._before):
            return None
        *strings, last = data[len(self._before) :].split(self._seam)
        # The suffix ends with two newlines, which a JSON string cannot contain.
        string, after, remainder = last.partition(self._after)
        if after:
            strings.append(string)
        try:
            texts = _decode_texts(b"[%b]" % b",".join(strings))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if not texts or len(texts) != len(strings):
            return None
        return "".join(texts), remainder if after else self._before + last

    def learn(self, data: bytes, payload: bytes) -> None:
        """Learn prefix and suffix from a payload with only a text delta, if it ends the data."""
        event = b"data: %b\n\n" % payload
        if not self._tries or not data.endswith(event):
            return
        self._tries -= 1
        matches = [*_CONTENT.finditer(event)]
        if len(matches) == 1:
            self._before, self._after = event[: matches[0].start(1)], event[matches[0].end(1) :]
            self._seam = self._after + self._before
            self._size = len(self._seam)
            self._several = 2 * self._size


class ResponseWatchdog:
    """Aborts the response if no chunk arrives before `deadline`, or a later wait exceeds `idle`.

    Only time that the reader waits counts, so a slow client is not taken for a silent upstream. The reader
    sets `begun` at the first chunk.
    """

    __slots__ = ("_deadline", "_idle", "_loop", "_response", "_timer", "begun", "expired")

    def __init__(self, response: Response, deadline: float, idle: float) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._response = response
        self._deadline = deadline
        self._idle = idle
        self.begun = False
        self.expired = False
        self._timer = loop.call_at(min(deadline, loop.time() + idle), self._check)

    def stop(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        now = self._loop.time()
        due = self._response.waiting_since + self._idle if self.begun else self._deadline
        if now < due:
            # A wait that starts after now is overdue at the earliest in `idle` seconds.
            self._timer = self._loop.call_at(min(due, now + self._idle), self._check)
        else:
            self.expired = True
            self._response.abort()


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
        if text is not None and not (self._payloads.pending_bytes or response.ended or self._size > _ANSWER_LIMIT):
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
