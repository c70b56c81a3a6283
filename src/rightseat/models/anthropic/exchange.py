"""One HTTP exchange: reads the response into a MessageStreamParser and enforces timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from rightseat.errors import RightseatError
from rightseat.http import Response
from rightseat.http.sse import Reader
from rightseat.models.anthropic import faults
from rightseat.models.anthropic.answer import Answer
from rightseat.types.chunks import Fragment, joined

# A longer answer is treated as a server that never stops.
_ANSWER_LIMIT = 256 << 20
_EVENT_LIMIT = 1 << 20
_PIECE = b"event: content_block_delta\ndata: "
# How long to wait after message_stop for the end of the body, so that the connection can be reused.
_LINGER_SECONDS = 0.1


class Exchange:
    """Reads until `done`. The first block must start before `deadline`; after that, no wait may exceed
    `idle_timeout`. `log_payload` receives payloads that are errors or cannot be parsed."""

    def __init__(
        self,
        response: Response,
        answer: Answer,
        *,
        deadline: float,
        first: float,
        idle: float,
        note: Callable[[bytes], None],
    ) -> None:
        self.over = False
        self._response = response
        self._answer = answer
        self._deadline = deadline
        self._first = first
        self._idle = idle
        self._note = note
        self._reader = Reader(_EVENT_LIMIT)
        self._size = 0
        self._error = _flaw(response.headers)
        if self._error is not None:
            self.over = True
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_at(min(deadline, self._loop.time() + idle), self._look)

    async def more(self) -> list[Fragment]:
        """Wait for data and return its chunks, perhaps none."""
        response = self._response
        while not response.ready:
            await response.arrival()
        return self._parse(response.take())

    def _look(self) -> None:
        """Check for silence with one timer per answer; only the time the reader waits counts."""
        now = self._loop.time()
        begun = self._answer.begun
        due = self._response.since + self._idle if begun else self._deadline
        if now < due:
            # A wait that starts after now is overdue at the earliest in `idle_timeout` seconds.
            self._timer = self._loop.call_at(min(due, now + self._idle), self._look)
            return
        if not self._answer.done:
            self._fail(faults.idle_timeout(self._idle) if begun else faults.first_token_timeout(self._first))
        self._response.cut()

    def _payloads(self, data: bytes) -> list[bytes]:
        # Fast path: the data is exactly one content_block_delta event.
        start, end = len(_PIECE), len(data) - 2
        if (
            not self._reader.open
            and data[:start] == _PIECE
            and data[end:] == b"\n\n"
            and data.find(b"\n", start) == end
            and data.find(b"\r") < 0
            and end < _EVENT_LIMIT
        ):
            return [data[start:end]]
        return self._reader.feed(data)

    def _parse(self, data: bytes) -> list[Fragment]:
        # Chunks before an error are still returned; finish() raises the error.
        out: list[Fragment] = []
        answer, response = self._answer, self._response
        self._size += len(data)
        payload = b""
        try:
            for payload in self._payloads(data):
                out += answer.feed(payload)
            if response.over and not answer.done:
                for payload in self._reader.close():
                    out += answer.tail(payload)
        except RightseatError as error:
            self._fail(error)
            self._note(payload)
        if self._size > _ANSWER_LIMIT:
            self._fail(faults.garbled("an answer without end"))
        if response.over or answer.done:
            self.over = True
        return joined(out) if len(out) > 1 else out

    def _fail(self, error: RightseatError) -> None:
        self._error = self._error or error
        self.over = True

    def check(self) -> None:
        """Raise the recorded error, if any."""
        if (error := self._error) is not None:
            # Drop the reference: error → traceback → self would be a cycle that delays closing.
            self._error = None
            try:
                raise error
            finally:
                del error

    def end(self) -> list[Fragment]:
        self.check()
        return self._answer.end()

    async def linger(self) -> None:
        """Read the bytes after the last event, so that the connection can be reused."""
        response = self._response
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while not response.over:
                    await response.arrival()
                    response.take()
        except TimeoutError:
            # The answer is complete; only the connection is lost.
            return

    def close(self) -> None:
        self._timer.cancel()
        self._response.close()


def _flaw(headers: Mapping[str, str]) -> RightseatError | None:
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return faults.garbled("a compressed answer, which was not asked for")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "text/event-stream", "text/plain", "application/octet-stream"):
        return faults.garbled("not an event stream")
    return None
