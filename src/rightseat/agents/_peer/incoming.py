"""A streaming HTTP response of an agent's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Self

from rightseat.agents._peer.faults import Faults
from rightseat.http import Cut, NotHttp, Response


class Incoming:
    """An HTTP response whose body is read by `async for`. Closing it early cuts the connection."""

    def __init__(self, response: Response, faults: Faults, timeout: float) -> None:
        self._response = response
        self._faults = faults
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._silent = False
        self._timer = self._loop.call_later(timeout, self._look)

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def head(self) -> None:
        try:
            await self._response.head()
        except NotHttp as error:
            raise self._faults.garbled("not HTTP") from error
        except Cut as error:
            raise (self._faults.silent(self._timeout) if self._silent else self._faults.refused()) from error

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        response = self._response
        while not response.ready:
            await response.arrival()
        data = response.take()
        if data or not response.over:
            return data
        if response.complete:
            raise StopAsyncIteration
        raise self._faults.silent(self._timeout) if self._silent else self._faults.incomplete()

    def close(self) -> None:
        self._timer.cancel()
        self._response.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look(self) -> None:
        """Cut the response after `timeout` idle seconds. Only time spent waiting for the peer counts, not a
        slow reader."""
        due = min(self._response.since, self._loop.time()) + self._timeout
        if self._loop.time() < due:
            self._timer = self._loop.call_at(due, self._look)
        else:
            self._silent = True
            self._response.cut()
