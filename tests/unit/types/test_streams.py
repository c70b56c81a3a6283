"""closing, within and merge: order, bounds, and that every stream is closed whoever leaves first."""

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from rightseat.types.streams import closing, merge, with_timeout
from tests.kit.waiting import read_into


class NumberStream:
    """A stream of numbers that keeps count and notes its end."""

    def __init__(self, count: int, *, hang: bool = False, error: Exception | None = None) -> None:
        self.count = count
        self.hang = hang
        self.error = error
        self.given = 0
        self.closed = False
        self.at_end = asyncio.Event()

    async def stream(self) -> AsyncIterator[int]:
        try:
            for number in range(self.count):
                self.given += 1
                yield number
            self.at_end.set()
            if self.error:
                raise self.error
            if self.hang:
                await asyncio.Event().wait()
        finally:
            self.closed = True


def list_other_tasks() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {cast("asyncio.Task[object]", asyncio.current_task())}


async def let_tasks_run(turns: int = 20) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def test_closing_closes_on_every_way_out() -> None:
    read, left, failed = NumberStream(2), NumberStream(2), NumberStream(2)
    async with closing(read.stream()) as items:
        assert [item async for item in items] == [0, 1]
    async with closing(left.stream()) as items:
        assert await anext(items) == 0
        assert not left.closed

    async def fail() -> None:
        async with closing(failed.stream()) as items:
            await anext(items)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await fail()
    assert read.closed
    assert left.closed
    assert failed.closed


async def test_closing_takes_a_stream_that_cannot_be_closed() -> None:
    class Plain:
        def __aiter__(self) -> "Plain":
            return self

        async def __anext__(self) -> int:
            raise StopAsyncIteration

    async with closing(Plain()) as items:
        assert [item async for item in items] == []


@pytest.mark.parametrize("seconds", [None, 30.0])
async def test_within_time_the_stream_is_unchanged(seconds: float | None) -> None:
    source = NumberStream(3)
    seen: list[int] = []
    await read_into(with_timeout(source.stream(), seconds), seen)
    assert seen == [0, 1, 2]
    assert source.closed


async def test_time_counts_in_all_and_not_per_item() -> None:
    closed: list[bool] = []

    async def drips() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
                await asyncio.sleep(0.02)
        finally:
            closed.append(True)

    seen: list[int] = []
    with pytest.raises(TimeoutError):
        await read_into(with_timeout(drips(), 0.1), seen)
    assert 1 <= len(seen) <= 6
    assert closed == [True]


async def test_a_streams_own_error_and_the_reader_leaving_close_within() -> None:
    failing, left = NumberStream(1, error=KeyError("own")), NumberStream(5)
    with pytest.raises(KeyError, match="own"):
        async with closing(with_timeout(failing.stream(), 30)) as items:
            assert [item async for item in items] == [0]
    async with closing(with_timeout(left.stream(), 30)) as items:
        await anext(items)
    assert failing.closed
    assert left.closed


async def test_the_readers_own_time_is_not_cancelled_by_within() -> None:
    """No yield inside the timeout: a reader slower than the limit is not cancelled where it stands."""
    source = NumberStream(1, hang=True)
    async with closing(with_timeout(source.stream(), 0.02)) as items:
        await anext(items)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError):
            await anext(items)


async def test_merge_keeps_each_streams_order_and_numbers_them() -> None:
    sources = [NumberStream(3), NumberStream(0), NumberStream(5)]
    async with closing(merge(*(source.stream() for source in sources))) as items:
        seen = [item async for item in items]
    assert [value for number, value in seen if number == 0] == [0, 1, 2]
    assert [value for number, value in seen if number == 2] == [0, 1, 2, 3, 4]
    assert len(seen) == 8
    assert all(source.closed for source in sources)
    assert list_other_tasks() == set()


async def test_merge_of_nothing_is_nothing() -> None:
    nothing: AsyncIterator[tuple[int, str]] = merge()
    async with closing(nothing) as items:
        assert [item async for item in items] == []


async def test_items_come_as_they_come() -> None:
    first, second = asyncio.Event(), asyncio.Event()

    async def wait(event: asyncio.Event, other: asyncio.Event, name: str) -> AsyncIterator[str]:
        await event.wait()
        yield name
        other.set()

    async with closing(merge(wait(first, second, "late"), wait(second, first, "early"))) as items:
        second.set()
        assert [item async for item in items] == [(1, "early"), (0, "late")]


async def test_a_slow_reader_holds_the_streams_back() -> None:
    fast, other = NumberStream(1000), NumberStream(1000)
    async with closing(merge(fast.stream(), other.stream(), buffer_size=4)) as items:
        await anext(items)
        await let_tasks_run(100)
        # One read, four waiting, and each stream has one in its hand.
        assert fast.given + other.given <= 1 + 4 + 2
        rest = [item async for item in items]
        assert len(rest) == 1999


async def test_an_error_in_one_closes_all_after_what_was_said_before() -> None:
    bad, waiting = NumberStream(2, error=ValueError("broken")), NumberStream(1, hang=True)
    seen: list[tuple[int, int]] = []
    with pytest.raises(ValueError, match="broken"):
        await read_into(merge(bad.stream(), waiting.stream()), seen)
    assert sorted(seen) == [(0, 0), (0, 1), (1, 0)]
    assert bad.closed
    assert waiting.closed
    assert list_other_tasks() == set()


async def test_the_reader_leaving_closes_all() -> None:
    sources = [NumberStream(100), NumberStream(0, hang=True)]
    async with closing(merge(*(source.stream() for source in sources), buffer_size=2)) as items:
        await anext(items)
        await sources[1].at_end.wait()
    assert [source.closed for source in sources] == [True, True]
    assert list_other_tasks() == set()


async def test_a_cancelled_reader_closes_all() -> None:
    source = NumberStream(1, hang=True)

    task = asyncio.create_task(read_into(merge(source.stream()), []))
    await source.at_end.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed
    assert list_other_tasks() == set()
