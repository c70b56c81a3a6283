"""One HTTP exchange through Google's SDK: timeouts, errors, closing.

Check the SSE lines of a response before the SDK reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import msgspec
from aiohttp.http_exceptions import LineTooLong
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.http.idle import IdleTimer
from rightseat.http.upstream import ERROR_BODY, ERROR_BODY_SECONDS
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.google import faults
from rightseat.models.google.faults import ERRORS
from rightseat.models.google.sdk import errors, types


class _Call(Struct, gc=False):
    name: str | None = None
    args: dict[str, Any] | None = None
    id: str | None = None


class _Part(Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Call | None = None


class _Content(Struct, gc=False):
    parts: list[_Part] | None = None
    role: str | None = None


class _Candidate(Struct, rename="camel", gc=False):
    content: _Content | None = None
    finish_reason: str | None = None
    index: int | None = None


class _Chunk(Struct, rename="camel", gc=False):
    candidates: list[_Candidate] | None = None
    usage_metadata: dict[str, Any] | None = None
    prompt_feedback: dict[str, Any] | None = None
    error: Any = None


_CHUNK_DECODER = msgspec.json.Decoder(_Chunk)
_ERROR_DECODER = msgspec.json.Decoder(dict[str, Any] | list[dict[str, Any]])
_IGNORED_PREFIXES = (b":", b"event:", b"id:", b"retry:")


class CheckedStreamReader:
    """Replaces the content reader of a response; `log_payload` receives error payloads."""

    def __init__(self, content: aiohttp.StreamReader, log_payload: Callable[[str, bytes], None]) -> None:
        self._content = content
        self._log_payload = log_payload
        self._data: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def readline(self, **options: Any) -> bytes:
        while True:
            try:
                line = await self._content.readline(**options)
            except (LineTooLong, ValueError) as error:
                raise ERRORS.invalid_response("an answer in one endless line") from error
            if not line.strip():
                self._check_event()
                return line
            if line.startswith(b"data:"):
                data = line[5:].removeprefix(b" ")
                self._data.append(data)
                return b"data: " + data
            if not line.startswith(_IGNORED_PREFIXES):
                raise ERRORS.invalid_response("not an event stream")

    def _check_event(self) -> None:
        if not self._data:
            return
        payload, self._data = b"".join(self._data), []
        try:
            chunk = _CHUNK_DECODER.decode(payload)
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise ERRORS.invalid_response("JSON that is too deep") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._raise_payload_error(payload)
            raise ERRORS.invalid_response("not the JSON of an answer") from error
        if chunk.error is not None:
            self._raise_payload_error(payload)
            raise ERRORS.invalid_response("an error that is none")

    def _raise_payload_error(self, payload: bytes) -> None:
        """Raise the error that the payload holds, if any."""
        try:
            error_object = faults.find_error(_ERROR_DECODER.decode(payload))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        if error_object:
            self._log_payload("in the stream", payload)
            raise faults.from_error(faults.find_code(error_object), error_object, {})


# How long to wait after the finish reason for the end of the body.
_DRAIN_SECONDS = 0.5


class StreamAbandoned(Exception):
    """Raised inside the SDK when the reader stops, so that all its nested generators end at once."""


class GoogleExchange:
    """Reads chunk by chunk. The SDK hides its HTTP response; `make_trace_config` hooks provide it.

    `log_payload` receives the context and body of upstream errors.
    """

    def __init__(
        self,
        stream: AsyncIterator[types.GenerateContentResponse],
        timeouts: Timeouts,
        log_payload: Callable[[str, bytes], None],
    ) -> None:
        self._stream = stream
        self._timeouts = timeouts
        self._log_payload = log_payload
        now = asyncio.get_running_loop().time()
        self._deadline = now + timeouts.first_token
        self._timer = IdleTimer(timeouts.idle, deadline=min(self._deadline, now + timeouts.connect))
        self._response: aiohttp.ClientResponse | None = None
        self._connected = False
        self._done = False
        self.finished = False
        """Set by the reader at the finish reason; from then on a cut connection is a normal end."""

    def mark_started(self) -> None:
        """Note the first chunk; from then on the idle timeout applies."""
        self._timer.begun = True

    async def read_chunk(self) -> types.GenerateContentResponse | None:
        """Return the next chunk, or None at the end. Only the wait itself counts for the timeout."""
        token = _current_exchange.set(self)
        try:
            async with asyncio.timeout(_DRAIN_SECONDS) if self.finished else self._timer:
                return await anext(self._stream)
        except StopAsyncIteration:
            self._done = True
            return None
        except RightseatError:
            self._done = True
            raise
        except errors.APIError as error:
            self._done = True
            error_object = faults.find_error(error.details)
            raise faults.from_error(error.code or faults.find_code(error_object), error_object, {}) from error
        except (aiohttp.ClientError, OSError) as error:
            self._done = True
            if self.finished:
                return None
            raise self._make_connection_error(error) from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            # The SDK fails in one of these ways on an unexpected payload.
            self._done = True
            raise ERRORS.invalid_response("not the JSON of an answer") from error
        finally:
            _current_exchange.reset(token)

    async def close(self) -> None:
        """Close the response; if the answer is unfinished, also end the SDK's generators."""
        self._timer.stop()
        response, self._response = self._response, None
        if response is not None and not self._done:
            response.content.set_exception(StreamAbandoned())
            response.close()
            with suppress(StreamAbandoned, StopAsyncIteration):
                await anext(self._stream)
        elif response is not None:
            response.close()
        self._done = True

    def on_connected(self) -> None:
        self._connected = True
        self._timer.deadline = self._deadline

    async def on_response(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        if response.status == 200:
            response.content = cast(aiohttp.StreamReader, CheckedStreamReader(response.content, self._log_payload))
            return
        try:
            async with asyncio.timeout(ERROR_BODY_SECONDS):
                body = await response.content.read(ERROR_BODY)
                while len(body) < ERROR_BODY and (more := await response.content.read(ERROR_BODY)):
                    body += more
        except (TimeoutError, aiohttp.ClientError):
            body = b""
        self._log_payload(f"HTTP {response.status}", body)
        raise faults.from_status(response.status, response.headers, body)

    def _make_connection_error(self, error: Exception) -> RightseatError:
        if self._timer.expired:
            if self._timer.begun:
                return ERRORS.idle_timeout(self._timeouts.idle)
            if not self._connected:
                return ERRORS.connect_timeout(self._timeouts.connect)
            return ERRORS.first_token_timeout(self._timeouts.first_token)
        if isinstance(error, aiohttp.ClientResponseError):
            return ERRORS.invalid_response("not HTTP")
        return ERRORS.incomplete_stream() if self._response is not None else ERRORS.connection_refused()


_current_exchange: ContextVar[GoogleExchange] = ContextVar("google_exchange")


async def _on_connected(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
    _current_exchange.get().on_connected()


async def _on_response(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
) -> None:
    await _current_exchange.get().on_response(params.response)


def make_trace_config() -> aiohttp.TraceConfig:
    """Return the aiohttp trace hooks that report to the current GoogleExchange."""
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(_on_connected)
    trace.on_connection_reuseconn.append(_on_connected)
    trace.on_request_end.append(_on_response)
    trace.freeze()
    return trace
