"""What foreign code yields, read under time."""

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
    """Seconds for the first token, and between two tokens."""

    first: float
    idle: float


class Reading:
    """One answer. Only the waits for a value count; `close` ends all that was begun for it."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._begun = Begun()
        self._deadline = asyncio.get_running_loop().time() + times.first
        self.spoken = False
        """Set by the reader with the first fragment: from then on silence counts, not the deadline."""

    async def next(self, stream: AsyncIterator[Any]) -> Any:
        """The next value, or END."""
        now = asyncio.get_running_loop().time()
        limit = asyncio.timeout_at(now + self._times.idle if self.spoken else self._deadline)
        try:
            with self._begun.noting(), _untraced(), faults.translated(self.spoken):
                async with limit:
                    return await anext(stream, END)
        except RightseatError as error:
            # Out of time it is one too: a TimeoutError, translated.
            if not limit.expired():
                raise
            if self.spoken:
                raise faults.idle_timeout(self._times.idle) from error
            raise faults.first_token_timeout(self._times.first) from error

    async def close(self) -> None:
        await self._begun.close()


async def threaded(values: Iterator[Any]) -> AsyncIterator[Any]:
    """A sync iterator's values: each may take its time, so none is waited for in the loop."""
    while (value := await asyncio.to_thread(next, values, END)) is not END:
        yield value


def _untraced() -> AbstractContextManager[None]:
    """Nothing is sent to LangSmith, whatever the environment says: the conversation is the user's."""
    return tracing_context(enabled=False) if tracing_is_enabled() else contextlib.nullcontext()
