"""Async iterators: entered, bounded, merged. No `yield` stands inside a task group or a timeout."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


class closing(AbstractAsyncContextManager[AsyncIterator[T]], Generic[T]):
    """Enter a stream: whatever happens, it is closed here and not by the garbage collector."""

    __slots__ = ("stream",)

    def __init__(self, stream: AsyncIterator[T]) -> None:
        self.stream = stream

    async def __aenter__(self) -> AsyncIterator[T]:
        return self.stream

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        aclose = getattr(self.stream, "aclose", None)
        if aclose is not None:
            await aclose()


class Offered(AsyncIterator[T]):
    """A stream that offers what is new to `taken` first, while its reader waits. What is taken there is not
    given out: the reader sleeps on."""

    __slots__ = ("stream", "taken")

    def __init__(self) -> None:
        self.stream: AsyncGenerator[T, None]
        self.taken: Callable[[T], bool] | None = None

    def __aiter__(self) -> AsyncGenerator[T, None]:
        # Itself, and not through this class: every item would pay for it.
        return self.stream

    async def __anext__(self) -> T:
        return await anext(self.stream)

    async def aclose(self) -> None:
        await self.stream.aclose()


async def within(stream: AsyncIterator[T], seconds: float | None) -> AsyncIterator[T]:
    """The stream, with TimeoutError once `seconds` have passed in all."""
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
    async with closing(stream):
        while True:
            async with asyncio.timeout_at(deadline):
                try:
                    item = await anext(stream)
                except StopAsyncIteration:
                    return
            yield item


def numbered(*streams: AsyncIterator[T]) -> AsyncIterator[T | tuple[int, T]]:
    """As `merge`, but an only stream is given as it is: its items pay for no number."""
    return streams[0] if len(streams) == 1 else merge(*streams)


async def merge(*streams: AsyncIterator[T], size: int = 64) -> AsyncIterator[tuple[int, T]]:
    """Items of all streams as they come, with each stream's number; a slow reader holds the streams back."""
    items: deque[tuple[int, T]] = deque()
    room = asyncio.Semaphore(size)
    wake = asyncio.Event()

    async def feed(number: int, stream: AsyncIterator[T]) -> None:
        async with closing(stream):
            async for item in stream:
                await room.acquire()
                items.append((number, item))
                wake.set()

    tasks = [asyncio.create_task(feed(n, stream)) for n, stream in enumerate(streams)]
    for task in tasks:
        task.add_done_callback(lambda _: wake.set())
    try:
        while True:
            while items:
                room.release()
                yield items.popleft()
            for task in tasks:
                if task.done():
                    task.result()
            if all(task.done() for task in tasks):
                return
            wake.clear()
            await wake.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
