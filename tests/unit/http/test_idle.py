"""The timer of a stream that may fall silent."""

import asyncio

import pytest

from rightseat.http.idle import NEVER, IdleTimer

SHORT, LONG = 0.05, 30.0


class Source:
    waiting_since = NEVER


async def test_a_stream_that_does_not_begin_is_idle_at_its_deadline() -> None:
    idle = asyncio.Event()
    timer = IdleTimer(LONG, Source(), idle.set, deadline=asyncio.get_running_loop().time() + SHORT)
    await asyncio.wait_for(idle.wait(), LONG)
    assert timer.expired
    assert not timer.begun


async def test_only_the_time_of_a_wait_counts() -> None:
    source, idle = Source(), asyncio.Event()
    timer = IdleTimer(SHORT, source, idle.set)
    await asyncio.sleep(3 * SHORT)
    assert not timer.expired
    source.waiting_since = asyncio.get_running_loop().time()
    await asyncio.wait_for(idle.wait(), LONG)
    assert timer.expired


async def test_a_stopped_timer_says_nothing() -> None:
    idle = asyncio.Event()
    timer = IdleTimer(LONG, Source(), idle.set, deadline=asyncio.get_running_loop().time() + SHORT)
    timer.stop()
    await asyncio.sleep(2 * SHORT)
    assert not timer.expired
    assert not idle.is_set()


async def test_a_deadline_moves() -> None:
    now = asyncio.get_running_loop().time
    timer = IdleTimer(LONG, Source(), deadline=now() + SHORT)
    timer.deadline = now() + LONG
    await asyncio.sleep(2 * SHORT)
    assert not timer.expired
    timer.stop()


async def test_a_wait_that_takes_too_long_raises() -> None:
    timer = IdleTimer(SHORT)
    async with timer:
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with timer:
            await asyncio.sleep(LONG)
    task = asyncio.current_task()
    assert timer.expired
    assert task is not None
    assert not task.cancelling()


async def test_a_cancellation_from_elsewhere_goes_on() -> None:
    timer = IdleTimer(SHORT)

    async def wait() -> None:
        async with timer:
            await asyncio.sleep(LONG)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not timer.expired
    timer.stop()


async def test_a_token_reschedules_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = IdleTimer(LONG)
    scheduled: list[object] = []
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "call_at", lambda *args: scheduled.append(args))
        for _ in range(100):
            async with timer:
                await asyncio.sleep(0)
    timer.stop()
    assert not scheduled
