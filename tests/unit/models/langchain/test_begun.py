"""Generators that foreign code begins are ended with the answer."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat.models.langchain import timed_reader
from rightseat.models.langchain.timed_reader import AsyncGeneratorTracker
from tests.kit.timeouts import HANG_TIMEOUT


class TrackedStreams:
    """Numbers, by generators that tell when they end."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def stream_numbers(self, name: str, stays: asyncio.Event | None = None) -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            if stays is not None:
                await stays.wait()
            self.ended.append(name)


async def test_the_innermost_first_and_only_those_that_were_begun_within() -> None:
    counted, noted = TrackedStreams(), AsyncGeneratorTracker()
    outside = counted.stream_numbers("outside")
    await anext(outside)
    with noted.track():
        outer, inner = counted.stream_numbers("outer"), counted.stream_numbers("inner")
        await anext(outer)
        # Also in a task of its own.
        await asyncio.create_task(_next(inner))
    await noted.close()
    assert counted.ended == ["inner", "outer"]
    await _rest(outside)


async def _next(stream: AsyncIterator[int]) -> int:
    return await anext(stream)


async def _rest(stream: AsyncIterator[int]) -> None:
    async for _ in stream:
        pass


async def test_those_that_have_ended_are_not_kept() -> None:
    counted, noted = TrackedStreams(), AsyncGeneratorTracker()
    with noted.track():
        for number in range(500):
            await _rest(counted.stream_numbers(str(number)))
    assert len(noted._open) <= 64
    await noted.close()


async def test_one_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_reader, "_PATIENCE", 0.05)
    counted, noted, stays = TrackedStreams(), AsyncGeneratorTracker(), asyncio.Event()
    with noted.track():
        await anext(counted.stream_numbers("outer"))
        await anext(counted.stream_numbers("stubborn", stays))
    async with asyncio.timeout(HANG_TIMEOUT):
        await noted.close()
    assert counted.ended == ["outer"]
    stays.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert counted.ended == ["outer", "stubborn"]
