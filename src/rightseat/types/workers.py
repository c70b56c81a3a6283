"""Worker threads for work whose cost grows with what a client sends: it must not hold the event loop.

A thread helps only where no single call holds the interpreter's lock for long. Searches by `re` and translations of
a long text are therefore made in pieces of `PIECE_CHARS`.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
INLINE_SIZE: Final = 16 << 10
"""Characters or bytes that are handled in the event loop: a thread would cost more than it saves."""
PIECE_CHARS: Final = 32 << 10
"""Characters of a text that one call into C handles."""
WORKERS: Final = 4
"""Threads of this process. Few: long texts of one client must not crowd out the loop."""


@cache
def get_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WORKERS, thread_name_prefix="rightseat-text")


async def run_sized(size: int, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function whose input has `size` characters or bytes: a small one here, a large one in a worker thread."""
    if size <= INLINE_SIZE:
        return function(*args, **kwargs)
    # Imported here: a child that reads a document has no event loop.
    import asyncio

    call = partial(contextvars.copy_context().run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(get_executor(), call)


def split_text(text: str) -> Iterator[str]:
    """Yield a text in pieces that one call into C may handle."""
    if len(text) <= PIECE_CHARS:
        yield text
        return
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]
