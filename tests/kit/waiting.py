"""Reading a stream, and waiting for something that another thread or process does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from rightseat.types.streams import closing
from tests.kit.patience import STUCK

T = TypeVar("T")


async def until(condition: Callable[[], object], seconds: float = STUCK) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.001)


async def read(stream: AsyncIterator[T], seen: list[T]) -> None:
    """Read to the end; `seen` has what came before an error too."""
    async with closing(stream):
        async for item in stream:
            seen += [item]  # one by one: an error keeps what came before it
