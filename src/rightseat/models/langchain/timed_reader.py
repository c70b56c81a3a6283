"""Read values from foreign code with timeouts, and close the async generators that it started.

LangChain nests generators, also across tasks. Closing the outermost leaves the others to the garbage
collector, and a vendor's connection would stay open until then.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final

from langsmith.run_helpers import tracing_context
from langsmith.utils import tracing_is_enabled

from rightseat.errors import RightseatError
from rightseat.http.idle import IdleTimer
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.langchain.errors import ERRORS, translate_errors

Generator = AsyncGenerator[Any, Any]

# Seconds to wait for a generator to close; a slower one is abandoned.
_PATIENCE = 1.0

# From this many on, finished generators are removed: a chain may start some per token.
_PRUNE_THRESHOLD = 64


class AsyncGeneratorTracker:
    """Collects the async generators started inside `track`, including tasks created there."""

    def __init__(self) -> None:
        self._open: list[Generator] = []
        self._prune_at = _PRUNE_THRESHOLD

    def add(self, generator: Generator) -> None:
        if len(self._open) >= self._prune_at:
            self._open = [earlier for earlier in self._open if _is_open(earlier)]
            self._prune_at = max(_PRUNE_THRESHOLD, 2 * len(self._open))
        self._open.append(generator)

    @contextmanager
    def track(self) -> Iterator[None]:
        hooks = sys.get_asyncgen_hooks()
        if not isinstance(hooks.firstiter, _FirstIterHook):
            # The loop resets the hooks when it stops.
            sys.set_asyncgen_hooks(firstiter=_FirstIterHook(hooks.firstiter))
        token = _current_tracker.set(self)
        try:
            yield
        finally:
            _current_tracker.reset(token)

    async def close(self) -> None:
        """Close all open generators, innermost first, since that one holds the connection."""
        while self._open:
            generator = self._open.pop()
            if _is_open(generator):
                task = asyncio.ensure_future(generator.aclose())
                await asyncio.wait([task], timeout=_PATIENCE)
                if task.done() and not task.cancelled():
                    # Retrieve the exception, so that asyncio does not log it.
                    task.exception()


class _FirstIterHook:
    def __init__(self, before: Callable[[Generator], Any] | None) -> None:
        self._before = before

    def __call__(self, generator: Generator) -> None:
        tracker = _current_tracker.get()
        if tracker is not None:
            tracker.add(generator)
        if self._before is not None:
            self._before(generator)


_current_tracker: ContextVar[AsyncGeneratorTracker | None] = ContextVar("langchain_begun", default=None)


def _is_open(generator: Generator) -> bool:
    return getattr(generator, "ag_frame", None) is not None


END: Final = object()


class TimedReader:
    """Reads one answer. Only waits for a value count; `close` closes all generators it started."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._tracker = AsyncGeneratorTracker()
        deadline = asyncio.get_running_loop().time() + timeouts.first_token
        self._timer = IdleTimer(timeouts.idle, deadline=deadline)

    def mark_started(self) -> None:
        """Note the first chunk; from then on the idle timeout applies."""
        self._timer.begun = True

    async def read(self, stream: AsyncIterator[Any]) -> Any:
        """Return the next value, or END."""
        timer = self._timer
        try:
            with self._tracker.track(), _disable_tracing(), translate_errors(timer.begun):
                async with timer:
                    return await anext(stream, END)
        except RightseatError as error:
            # Our own timeout arrives here too, as a translated TimeoutError.
            if not timer.expired:
                raise
            if timer.begun:
                raise ERRORS.idle_timeout(self._timeouts.idle) from error
            raise ERRORS.first_token_timeout(self._timeouts.first_token) from error

    async def close(self) -> None:
        self._timer.stop()
        await self._tracker.close()


async def iterate_in_thread(values: Iterator[Any]) -> AsyncIterator[Any]:
    """Yield the values of a sync iterator, each computed in a thread."""
    while (value := await asyncio.to_thread(next, values, END)) is not END:
        yield value


def _disable_tracing() -> AbstractContextManager[None]:
    """Disable LangSmith tracing, whatever the environment says: it would send user messages."""
    return tracing_context(enabled=False) if tracing_is_enabled() else contextlib.nullcontext()
