"""One HTTP exchange, with a fast path for text deltas: most events of an answer differ only in one JSON string."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from rightseat.http.client import Response
from rightseat.http.idle import IdleTimer
from rightseat.http.sse import SseParser
from rightseat.models._vendor.chat_parser import ChatStreamParser
from rightseat.models._vendor.exchange import ANSWER_LIMIT, PayloadSource, StreamExchange, Timeouts
from rightseat.models.openai.errors import ERRORS
from rightseat.models.openai.responses_parser import ResponsesStreamParser
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


_BODY_LIMIT = 4 << 20

# Larger reads are searched for runs of events that differ only in their text, up to _MAX_RUNS times.
_BURST_BYTES = 2 << 10
_MAX_RUNS = 8


class OpenAIExchange(StreamExchange[ChatStreamParser | ResponsesStreamParser]):
    def __init__(
        self,
        response: Response,
        parser: ChatStreamParser | ResponsesStreamParser,
        timer: IdleTimer,
        timeouts: Timeouts,
        log_payload: Callable[[bytes], None],
    ) -> None:
        super().__init__(response, parser, timer, timeouts, log_payload)
        self._fast_path = ChatDeltaFastPath()

    def _make_payloads(self, content_type: str) -> PayloadSource:
        if content_type == "text/event-stream":
            return SseParser()
        if content_type == "application/json":
            return BodyPayloadSource()
        raise ERRORS.invalid_response("neither an event stream nor JSON")

    def read(self) -> list[ModelChunk]:
        """Return the chunks of the data that has arrived, perhaps none."""
        splitter = self._parser.thought_splitter
        return self._read_chunks() if splitter is None or splitter.done else splitter.feed(self._read_chunks())

    def finish(self) -> list[ModelChunk]:
        self.raise_error()
        splitter = self._parser.thought_splitter
        held = [] if splitter is None or splitter.done else splitter.close()
        return held + self._parser.finish()

    def _read_chunks(self) -> list[ModelChunk]:
        response = self.response
        data = response.take_body()
        self._size += len(data)
        text = self._fast_path.read_text(data)
        if text is not None and not (self._payloads.pending_bytes or response.ended or self._size > ANSWER_LIMIT):
            self._timer.begun = True
            return [TextChunk(text)]
        out = self._parse_burst(data) if len(data) > _BURST_BYTES else self._parse(data)
        if out:
            self._timer.begun = True
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
        out = super()._parse(data, more=more)
        if self._parser.last_was_text:
            self._fast_path.learn(data, self._last_payload)
        return out


class BodyPayloadSource:
    """Returns the whole body as one payload, for servers that do not stream."""

    pending_bytes = 1

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, chunk: bytes, /) -> list[bytes]:
        self._body += chunk
        if len(self._body) > _BODY_LIMIT:
            raise ERRORS.invalid_response(f"an answer of more than {_BODY_LIMIT} bytes in one piece")
        return []

    def close(self) -> list[bytes]:
        body = bytes(self._body)
        if body.lstrip()[:1] == b"{":
            return [body]
        # An event stream with the content type of JSON.
        reader = SseParser()
        return reader.feed(body) + reader.close()
