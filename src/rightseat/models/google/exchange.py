"""One HTTP exchange through Google's SDK: timeouts, errors, closing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.models.google import faults
from rightseat.models.google.lines import Lines
from rightseat.models.google.sdk import errors, types

_ERROR_BODY = 64 << 10
_ERROR_BODY_SECONDS = 2.0
# How long to wait after the finish reason for the end of the body.
_LINGER_SECONDS = 0.5


class Times(Struct, frozen=True):
    """Timeouts in seconds: connecting, first token, between two tokens."""

    connect: float
    first: float
    idle: float


class Left(Exception):
    """Raised inside the SDK when the reader stops, so that all its nested generators end at once."""


class Exchange:
    """Reads chunk by chunk. The SDK hides its HTTP response; `make_trace_config` hooks provide it.

    `log_payload` receives the context and body of upstream errors.
    """

    def __init__(
        self,
        stream: AsyncIterator[types.GenerateContentResponse],
        times: Times,
        note: Callable[[str, bytes], None],
    ) -> None:
        self._stream = stream
        self._times = times
        self._note = note
        self._deadline = asyncio.get_running_loop().time() + times.first
        self._timeout: asyncio.Timeout | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._connected = False
        self._over = False
        self.begun = False
        """Set by the reader at the first chunk; from then on the idle timeout applies."""
        self.finished = False
        """Set by the reader at the finish reason; from then on a cut connection is a normal end."""

    async def next(self) -> types.GenerateContentResponse | None:
        """Return the next chunk, or None at the end. Only the wait itself counts for the timeout."""
        token = _CURRENT.set(self)
        try:
            async with asyncio.timeout_at(self._due()) as self._timeout:
                return await anext(self._stream)
        except StopAsyncIteration:
            self._over = True
            return None
        except RightseatError:
            self._over = True
            raise
        except errors.APIError as error:
            self._over = True
            found = faults.error_of(error.details)
            raise faults.of_error(error.code or faults.code_of(found), found, {}) from error
        except (aiohttp.ClientError, OSError) as error:
            self._over = True
            if self.finished:
                return None
            raise self._broken(error) from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            # The SDK fails in one of these ways on an unexpected payload.
            self._over = True
            raise faults.garbled("not the JSON of an answer") from error
        finally:
            _CURRENT.reset(token)

    async def close(self) -> None:
        """Close the response; if the answer is unfinished, also end the SDK's generators."""
        response, self._response = self._response, None
        if response is not None and not self._over:
            response.content.set_exception(Left())
            response.close()
            with suppress(Left, StopAsyncIteration):
                await anext(self._stream)
        elif response is not None:
            response.close()
        self._over = True

    def connected(self) -> None:
        self._connected = True
        if self._timeout is not None:
            self._timeout.reschedule(self._deadline)

    async def answered(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        if response.status == 200:
            response.content = cast(aiohttp.StreamReader, Lines(response.content, self._note))
            return
        try:
            async with asyncio.timeout(_ERROR_BODY_SECONDS):
                body = await response.content.read(_ERROR_BODY)
                while len(body) < _ERROR_BODY and (more := await response.content.read(_ERROR_BODY)):
                    body += more
        except (TimeoutError, aiohttp.ClientError):
            body = b""
        self._note(f"HTTP {response.status}", body)
        raise faults.of_status(response.status, response.headers, body)

    def _due(self) -> float:
        now = asyncio.get_running_loop().time()
        if self.finished:
            return now + _LINGER_SECONDS
        if self.begun:
            return now + self._times.idle
        return self._deadline if self._connected else min(self._deadline, now + self._times.connect)

    def _broken(self, error: Exception) -> RightseatError:
        if self._timeout is not None and self._timeout.expired():
            if self.begun:
                return faults.idle_timeout(self._times.idle)
            if not self._connected:
                return faults.connect_timeout(self._times.connect)
            return faults.first_token_timeout(self._times.first)
        if isinstance(error, aiohttp.ClientResponseError):
            return faults.garbled("not HTTP")
        return faults.incomplete() if self._response is not None else faults.refused()


_CURRENT: ContextVar[Exchange] = ContextVar("google_exchange")


async def _connected(_session: aiohttp.ClientSession, _context: SimpleNamespace, _params: Any) -> None:
    _CURRENT.get().connected()


async def _answered(
    _session: aiohttp.ClientSession, _context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
) -> None:
    await _CURRENT.get().answered(params.response)


def tracing() -> aiohttp.TraceConfig:
    """Return the aiohttp trace hooks that report to the current GoogleExchange."""
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(_connected)
    trace.on_connection_reuseconn.append(_connected)
    trace.on_request_end.append(_answered)
    trace.freeze()
    return trace
