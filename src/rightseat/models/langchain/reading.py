"""Read values from foreign code with timeouts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager
from typing import Any, Final

from langsmith.run_helpers import tracing_context
from langsmith.utils import tracing_is_enabled
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.models.langchain import faults
from rightseat.models.langchain.begun import Begun


class _End:
    pass


END: Final = _End()


class Times(Struct, frozen=True):
    """Timeouts in seconds: first token, between two tokens."""

    first: float
    idle: float


class Reading:
    """Reads one answer. Only waits for a value count; `close` closes all generators it started."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._begun = Begun()
        self._deadline = asyncio.get_running_loop().time() + times.first
        self.spoken = False
        """Set by the caller at the first chunk; from then on the idle timeout applies."""

    async def next(self, stream: AsyncIterator[Any]) -> Any:
        """Return the next value, or END."""
        now = asyncio.get_running_loop().time()
        limit = asyncio.timeout_at(now + self._times.idle if self.spoken else self._deadline)
        try:
            with self._begun.noting(), _untraced(), faults.translated(self.spoken):
                async with limit:
                    return await anext(stream, END)
        except RightseatError as error:
            # Our own timeout arrives here too, as a translated TimeoutError.
            if not limit.expired():
                raise
            if self.spoken:
                raise faults.idle_timeout(self._times.idle) from error
            raise faults.first_token_timeout(self._times.first) from error

    async def close(self) -> None:
        await self._begun.close()


async def threaded(values: Iterator[Any]) -> AsyncIterator[Any]:
    """Yield the values of a sync iterator, each computed in a thread."""
    while (value := await asyncio.to_thread(next, values, END)) is not END:
        yield value


def _untraced() -> AbstractContextManager[None]:
    """Disable LangSmith tracing, whatever the environment says: it would send user messages."""
    return tracing_context(enabled=False) if tracing_is_enabled() else contextlib.nullcontext()
