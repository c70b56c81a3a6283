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
from rightseat.models.langchain.begun import AsyncGeneratorTracker


class _EndOfStream:
    pass


END: Final = _EndOfStream()


class LangChainTimeouts(Struct, frozen=True):
    """Timeouts in seconds: first token, between two tokens."""

    first_token: float
    idle: float


class TimedReader:
    """Reads one answer. Only waits for a value count; `close` closes all generators it started."""

    def __init__(self, timeouts: LangChainTimeouts) -> None:
        self._timeouts = timeouts
        self._tracker = AsyncGeneratorTracker()
        self._deadline = asyncio.get_running_loop().time() + timeouts.first_token
        self.started = False
        """Set by the caller at the first chunk; from then on the idle timeout applies."""

    async def read(self, stream: AsyncIterator[Any]) -> Any:
        """Return the next value, or END."""
        now = asyncio.get_running_loop().time()
        limit = asyncio.timeout_at(now + self._timeouts.idle if self.started else self._deadline)
        try:
            with self._tracker.track(), _disable_tracing(), faults.translate_errors(self.started):
                async with limit:
                    return await anext(stream, END)
        except RightseatError as error:
            # Our own timeout arrives here too, as a translated TimeoutError.
            if not limit.expired():
                raise
            if self.started:
                raise faults.idle_timeout_error(self._timeouts.idle) from error
            raise faults.first_token_timeout_error(self._timeouts.first_token) from error

    async def close(self) -> None:
        await self._tracker.close()


async def iterate_in_thread(values: Iterator[Any]) -> AsyncIterator[Any]:
    """Yield the values of a sync iterator, each computed in a thread."""
    while (value := await asyncio.to_thread(next, values, END)) is not END:
        yield value


def _disable_tracing() -> AbstractContextManager[None]:
    """Disable LangSmith tracing, whatever the environment says: it would send user messages."""
    return tracing_context(enabled=False) if tracing_is_enabled() else contextlib.nullcontext()
