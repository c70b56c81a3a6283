"""Reading a stream, and waiting for something that another thread or process does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from rightseat.types.streams import closing
from tests.kit.timeouts import HANG_TIMEOUT

T = TypeVar("T")


async def wait_until(condition: Callable[[], object], seconds: float = HANG_TIMEOUT) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.001)


async def read_into(stream: AsyncIterator[T], items: list[T]) -> None:
    """Read to the end; `seen` has what came before an error too."""
    async with closing(stream):
        async for item in stream:
            items += [item]  # one by one: an error keeps what came before it
