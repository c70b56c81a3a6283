"""Every async generator that foreign code begins, so that each can be ended when nobody reads on.

LangChain's stand within each other, also in tasks of their own, and closing the outermost leaves the rest to
the garbage collector: a vendor's connection would stay open until then.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Generator = AsyncGenerator[Any, Any]

# How long a generator may take to end; one that does not is left to itself.
_PATIENCE = 1.0
# From this many on, those that have ended are dropped: a chain may begin some for every word.
_MANY = 64


class Begun:
    """Those that are begun within `noting`. It holds for tasks that are made there, and for nothing else."""

    def __init__(self) -> None:
        self._open: list[Generator] = []
        self._many = _MANY

    def add(self, generator: Generator) -> None:
        if len(self._open) >= self._many:
            self._open = [one for one in self._open if _is_open(one)]
            self._many = max(_MANY, 2 * len(self._open))
        self._open.append(generator)

    @contextmanager
    def noting(self) -> Iterator[None]:
        hooks = sys.get_asyncgen_hooks()
        if not isinstance(hooks.firstiter, _Hook):
            # The loop takes it away again when it stops running.
            sys.set_asyncgen_hooks(firstiter=_Hook(hooks.firstiter))
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    async def close(self) -> None:
        """The innermost first: it holds the connection."""
        while self._open:
            generator = self._open.pop()
            if _is_open(generator):
                task = asyncio.create_task(_closed(generator))
                await asyncio.wait([task], timeout=_PATIENCE)
                if task.done() and not task.cancelled():
                    # Looked at, so that nobody reports it: what code raises when it is left is its own.
                    task.exception()


class _Hook:
    def __init__(self, before: Callable[[Generator], Any] | None) -> None:
        self._before = before

    def __call__(self, generator: Generator) -> None:
        begun = _CURRENT.get()
        if begun is not None:
            begun.add(generator)
        if self._before is not None:
            self._before(generator)


_CURRENT: ContextVar[Begun | None] = ContextVar("langchain_begun", default=None)


def _is_open(generator: Generator) -> bool:
    return getattr(generator, "ag_frame", None) is not None


async def _closed(generator: Generator) -> None:
    await generator.aclose()
