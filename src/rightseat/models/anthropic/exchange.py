"""One HTTP exchange: reads the response into a MessageStreamParser and enforces timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from rightseat.errors import RightseatError
from rightseat.http.response import Response
from rightseat.http.sse import SseParser
from rightseat.models.anthropic import faults
from rightseat.models.anthropic.answer import MessageStreamParser
from rightseat.types.chunks import ModelChunk, merge_text_chunks

# A longer answer is treated as a server that never stops.
_ANSWER_LIMIT = 256 << 20
_EVENT_LIMIT = 1 << 20
_DELTA_PREFIX = b"event: content_block_delta\ndata: "
# How long to wait after message_stop for the end of the body, so that the connection can be reused.
_DRAIN_SECONDS = 0.1


class AnthropicExchange:
    """Reads until `done`. The first block must start before `deadline`; after that, no wait may exceed
    `idle_timeout`. `log_payload` receives payloads that are errors or cannot be parsed."""

    def __init__(
        self,
        response: Response,
        parser: MessageStreamParser,
        *,
        deadline: float,
        first_token_timeout: float,
        idle_timeout: float,
        log_payload: Callable[[bytes], None],
    ) -> None:
        self.done = False
        self._response = response
        self._parser = parser
        self._deadline = deadline
        self._first_token_timeout = first_token_timeout
        self._idle_timeout = idle_timeout
        self._log_payload = log_payload
        self._reader = SseParser(_EVENT_LIMIT)
        self._size = 0
        self._error = _find_header_error(response.headers)
        if self._error is not None:
            self.done = True
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_at(
            min(deadline, self._loop.time() + idle_timeout), self._check_timeouts
        )

    async def read(self) -> list[ModelChunk]:
        """Wait for data and return its chunks, perhaps none."""
        response = self._response
        while not response.ready:
            await response.next_arrival()
        return self._parse(response.take_body())

    def _check_timeouts(self) -> None:
        """Check for silence with one timer per answer; only the time the reader waits counts."""
        now = self._loop.time()
        started = self._parser.started
        due = self._response.waiting_since + self._idle_timeout if started else self._deadline
        if now < due:
            # A wait that starts after now is overdue at the earliest in `idle_timeout` seconds.
            self._timer = self._loop.call_at(min(due, now + self._idle_timeout), self._check_timeouts)
            return
        if not self._parser.done:
            self._fail(
                faults.idle_timeout_error(self._idle_timeout)
                if started
                else faults.first_token_timeout_error(self._first_token_timeout)
            )
        self._response.abort()

    def _split_payloads(self, data: bytes) -> list[bytes]:
        # Fast path: the data is exactly one content_block_delta event.
        start, end = len(_DELTA_PREFIX), len(data) - 2
        if (
            not self._reader.pending_bytes
            and data[:start] == _DELTA_PREFIX
            and data[end:] == b"\n\n"
            and data.find(b"\n", start) == end
            and data.find(b"\r") < 0
            and end < _EVENT_LIMIT
        ):
            return [data[start:end]]
        return self._reader.feed(data)

    def _parse(self, data: bytes) -> list[ModelChunk]:
        # Chunks before an error are still returned; finish() raises the error.
        out: list[ModelChunk] = []
        parser, response = self._parser, self._response
        self._size += len(data)
        payload = b""
        try:
            for payload in self._split_payloads(data):
                out += parser.feed(payload)
            if response.ended and not parser.done:
                for payload in self._reader.close():
                    out += parser.feed_tail(payload)
        except RightseatError as error:
            self._fail(error)
            self._log_payload(payload)
        if self._size > _ANSWER_LIMIT:
            self._fail(faults.garbled_error("an answer without end"))
        if response.ended or parser.done:
            self.done = True
        return merge_text_chunks(out) if len(out) > 1 else out

    def _fail(self, error: RightseatError) -> None:
        self._error = self._error or error
        self.done = True

    def raise_error(self) -> None:
        """Raise the recorded error, if any."""
        if (error := self._error) is not None:
            # Drop the reference: error → traceback → self would be a cycle that delays closing.
            self._error = None
            try:
                raise error
            finally:
                del error

    def finish(self) -> list[ModelChunk]:
        self.raise_error()
        return self._parser.finish()

    async def drain(self) -> None:
        """Read the bytes after the last event, so that the connection can be reused."""
        response = self._response
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not response.ended:
                    await response.next_arrival()
                    response.take_body()
        except TimeoutError:
            # The answer is complete; only the connection is lost.
            return

    def close(self) -> None:
        self._timer.cancel()
        self._response.close()


def _find_header_error(headers: Mapping[str, str]) -> RightseatError | None:
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return faults.garbled_error("a compressed answer, which was not asked for")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        return faults.garbled_error("not an event stream")
    return None
