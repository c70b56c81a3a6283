"""Threads for plain functions: what comes back, what is abandoned, and that it is counted both ways."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat.errors import ToolThreadsExhausted
from rightseat.tools.function import MAX_ABANDONED, ToolThreadRunner
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")


class BlockingWork:
    """Work that runs until it is let go."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.release = threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self) -> str:
        self.thread = threading.current_thread()
        self.started.set()
        assert self.release.wait(HANG_TIMEOUT)
        return "late"

    async def call_until_timeout(self, threads: ToolThreadRunner) -> None:
        """A call that times out while it is at work."""
        self.started.clear()
        call = asyncio.create_task(threads.run(self))
        await wait_until(self.started.is_set)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await call


@asynccontextmanager
async def abandon_calls(threads: ToolThreadRunner, count: int = 1) -> AsyncIterator[BlockingWork]:
    """So many calls timed out, their threads still at work; they are let go at the end."""
    gate = BlockingWork()
    for _ in range(count):
        await gate.call_until_timeout(threads)
    try:
        yield gate
    finally:
        gate.release.set()
        await wait_until_drained(threads)


async def wait_until_drained(threads: ToolThreadRunner) -> None:
    await wait_until(lambda: not threads.abandoned)


async def test_a_value_comes_back_from_a_daemon_of_its_own() -> None:
    def work() -> threading.Thread:
        return threading.current_thread()

    threads = ToolThreadRunner()
    first, second = await asyncio.gather(threads.run(work), threads.run(work))
    assert first is not second
    assert first is not threading.current_thread()
    assert first.daemon
    assert threads.abandoned == 0


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("k"), TimeoutError("its own")])
async def test_an_exception_comes_back_as_itself(error: Exception) -> None:
    def work() -> None:
        raise error

    threads = ToolThreadRunner()
    with pytest.raises(type(error)) as caught:
        await threads.run(work)
    assert caught.value is error
    assert threads.abandoned == 0


async def test_stop_iteration_does_not_hang_the_call() -> None:
    async with asyncio.timeout(HANG_TIMEOUT):
        with pytest.raises(RuntimeError, match="StopIteration"):
            await ToolThreadRunner().run(lambda: next(iter(())))


@pytest.mark.demand("engine.sync_tools_threads_abandoned")
async def test_a_timeout_abandons_the_thread_and_its_return_is_counted() -> None:
    threads = ToolThreadRunner()
    async with abandon_calls(threads) as gate:
        assert threads.abandoned == 1
        assert gate.thread is not None
        assert gate.thread.is_alive()
        assert await threads.run(lambda: "others go on") == "others go on"
    assert threads.abandoned == 0


async def test_a_cancelled_call_is_counted_too_and_an_error_lets_the_count_sink() -> None:
    threads, go = ToolThreadRunner(), threading.Event()

    def work() -> None:
        go.wait(HANG_TIMEOUT)
        raise ValueError("nobody hears this")

    task = asyncio.create_task(threads.run(work))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert threads.abandoned == 1
    go.set()
    await wait_until_drained(threads)


@pytest.mark.demand("engine.sync_tools_threads_abandoned")
async def test_beyond_the_limit_a_call_is_refused_in_words_and_later_taken_again() -> None:
    threads = ToolThreadRunner(limit=2)
    async with abandon_calls(threads, 2):
        ran: list[int] = []
        with pytest.raises(ToolThreadsExhausted, match="2 earlier tool calls are still running") as caught:
            await threads.run(lambda: ran.append(1))
        assert caught.value.code == "threads_exhausted"
        assert "isolate=True" in caught.value.message
        assert ran == []
    assert await threads.run(lambda: "again") == "again"


@pytest.mark.demand("engine.sync_tools_threads_abandoned")
def test_the_limit_is_sixteen() -> None:
    assert ToolThreadRunner().limit == MAX_ABANDONED == 16


async def test_context_variables_are_seen_and_not_changed() -> None:
    def work() -> str:
        seen = place.get()
        place.set("elsewhere")
        return seen

    place.set("here")
    assert await ToolThreadRunner().run(work) == "here"
    assert place.get() == "here"


def test_a_thread_that_outlives_its_loop_ends_quietly() -> None:
    gate = BlockingWork()

    asyncio.run(gate.call_until_timeout(ToolThreadRunner()))
    gate.release.set()
    assert gate.thread is not None
    gate.thread.join(HANG_TIMEOUT)
    assert not gate.thread.is_alive()


async def test_a_cancel_just_after_the_end_is_not_counted() -> None:
    threads, gate = ToolThreadRunner(), BlockingWork()
    task: asyncio.Task[Any] = asyncio.create_task(threads.run(gate))
    await wait_until(gate.started.is_set)
    gate.release.set()
    assert gate.thread is not None
    gate.thread.join(HANG_TIMEOUT)  # its result is now in the loop's queue, and the cancel comes right behind it
    asyncio.get_running_loop().call_soon(task.cancel)
    await asyncio.wait([task])
    assert threads.abandoned == 0


def test_a_tool_that_exits_ends_only_its_call() -> None:
    def work() -> None:
        raise SystemExit(3)

    async def call() -> Any:
        return await asyncio.gather(ToolThreadRunner().run(work), return_exceptions=True)

    try:
        [error] = asyncio.run(call())
    except SystemExit:
        pytest.fail("the process would have left")
    assert isinstance(error, Exception)
