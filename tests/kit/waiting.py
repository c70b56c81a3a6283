"""Reading a stream, and waiting for something that another thread or process does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from rightseat.types.streams import closing
from tests.kit.timeouts import HANG_TIMEOUT

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.016


async def wait_until(condition: Callable[[], object], seconds: float = HANG_TIMEOUT) -> None:
    """Return as soon as the condition holds. It is asked less often the longer it takes: asking may read a file."""
    pause = FIRST_PAUSE
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


async def read_into(stream: AsyncIterator[T], items: list[T]) -> None:
    """Read to the end; `seen` has what came before an error too."""
    async with closing(stream):
        async for item in stream:
            items += [item]  # one by one: an error keeps what came before it
