"""A streaming HTTP response of an agent's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Self

from rightseat.agents._peer.faults import PeerErrors
from rightseat.http.response import IncompleteResponse, InvalidHttpResponse, Response


class StreamingResponse:
    """An HTTP response whose body is read by `async for`. Closing it early cuts the connection."""

    def __init__(self, response: Response, errors: PeerErrors, timeout: float) -> None:
        self._response = response
        self._errors = errors
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._timed_out = False
        self._timer = self._loop.call_later(timeout, self._check_idle)

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def read_head(self) -> None:
        try:
            await self._response.wait_for_head()
        except InvalidHttpResponse as error:
            raise self._errors.invalid_response("not HTTP") from error
        except IncompleteResponse as error:
            raise (
                self._errors.idle_timeout(self._timeout)
                if self._timed_out
                else self._errors.connection_refused()
            ) from error

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        response = self._response
        while not response.ready:
            await response.next_arrival()
        data = response.take_body()
        if data or not response.ended:
            return data
        if response.complete:
            raise StopAsyncIteration
        raise (
            self._errors.idle_timeout(self._timeout) if self._timed_out else self._errors.incomplete_stream()
        )

    def close(self) -> None:
        self._timer.cancel()
        self._response.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_idle(self) -> None:
        """Cut the response after `timeout` idle seconds. Only time spent waiting for the peer counts, not a
        slow reader."""
        due = min(self._response.waiting_since, self._loop.time()) + self._timeout
        if self._loop.time() < due:
            self._timer = self._loop.call_at(due, self._check_idle)
        else:
            self._timed_out = True
            self._response.abort()
