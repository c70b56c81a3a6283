"""Helpers for async iterators (close, time out, merge) and tasks. No `yield` is inside a task group or a timeout."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class closing(AbstractAsyncContextManager[AsyncIterator[T]], Generic[T]):
    """Context manager that closes a stream on exit, instead of leaving it to the garbage collector."""

    __slots__ = ("stream",)

    def __init__(self, stream: AsyncIterator[T]) -> None:
        self.stream = stream

    async def __aenter__(self) -> AsyncIterator[T]:
        return self.stream

    async def __aexit__(self, *exc_info: object) -> None:
        aclose = getattr(self.stream, "aclose", None)
        if aclose is not None:
            await aclose()


class PushStream(AsyncIterator[T]):
    """Stream that offers a new item to `on_item` first while its reader waits. If `on_item` returns True, the
    item is consumed and the reader is not woken."""

    __slots__ = ("on_item", "stream")

    def __init__(self) -> None:
        self.stream: AsyncGenerator[T, None]
        self.on_item: Callable[[T], bool] | None = None

    def __aiter__(self) -> AsyncGenerator[T, None]:
        # The generator itself: a call through this class would cost time for every item.
        return self.stream

    async def __anext__(self) -> T:
        return await anext(self.stream)

    async def aclose(self) -> None:
        await self.stream.aclose()


async def with_timeout(stream: AsyncIterator[T], seconds: float | None) -> AsyncIterator[T]:
    """Yield the items of a stream; raise TimeoutError once `seconds` have passed in total."""
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
    async with closing(stream):
        while True:
            async with asyncio.timeout_at(deadline):
                try:
                    item = await anext(stream)
                except StopAsyncIteration:
                    return
            yield item


def merge_unless_single(*streams: AsyncIterator[T]) -> AsyncIterator[T | tuple[int, T]]:
    """Merge streams as `merge` does; a single stream is returned unchanged, without numbers."""
    return streams[0] if len(streams) == 1 else merge(*streams)


async def merge(*streams: AsyncIterator[T], buffer_size: int = 64) -> AsyncIterator[tuple[int, T]]:
    """Yield (stream number, item) of all streams as they arrive; a slow reader applies backpressure."""
    items: deque[tuple[int, T]] = deque()
    free_slots = asyncio.Semaphore(buffer_size)
    wake = asyncio.Event()

    async def forward(number: int, stream: AsyncIterator[T]) -> None:
        async with closing(stream):
            async for item in stream:
                await free_slots.acquire()
                items.append((number, item))
                wake.set()

    tasks = [asyncio.create_task(forward(n, stream)) for n, stream in enumerate(streams)]
    for task in tasks:
        task.add_done_callback(lambda _: wake.set())
    try:
        while True:
            while items:
                free_slots.release()
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


def start_task(work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
    """Run `work` in a task that is in `tasks` while it runs: the event loop itself may lose a task."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
