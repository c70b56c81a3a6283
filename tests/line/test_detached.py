"""Detached runs: leaving cancels nothing, any number may watch, stop is a call."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat import Owner, Runtime, Turn, said
from rightseat.detached import Detached, Rules
from rightseat.errors import Conflict, NotFound
from rightseat.events import Event, RunFailed, RunFinished, TextDelta, TextEnd
from rightseat.fragments import Finish, Fragment, Text
from rightseat.prompt import Prompt
from rightseat.streams import closing
from tests.kit.house import Lines, says

ME, OTHER = Owner("me"), Owner("other")


def turn(text: str = "hi", run: str = "", thread: str = "t") -> Turn:
    return Turn(messages=(said("user", text),), thread=thread, run=run, owner=ME)


class Gate:
    """A model that says a word each time it is let."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        try:
            while (word := await self.words.get()) is not None:
                yield Text(word)
            yield Finish("stop")
        finally:
            self.closed.set()


async def read(runs: Detached, after: int = 0) -> list[tuple[int, Event]]:
    async with closing(runs.follow(ME, "t", after)) as items:
        return [item async for item in items]


def words(items: list[tuple[int, Event]]) -> str:
    return "".join(event.text for _, event in items if isinstance(event, TextDelta))


async def test_a_reader_may_leave_and_another_reads_all() -> None:
    gate = Gate()
    runs = Detached(Runtime(model=gate))
    runs.start(turn())
    gate.words.put_nowait("one ")
    async with closing(runs.follow(ME, "t")) as items:
        async for _, event in items:
            if isinstance(event, TextDelta):
                break
    assert not gate.closed.is_set()
    for word in ("two ", "three", None):
        gate.words.put_nowait(word)
    whole = await read(runs)
    assert words(whole) == "one two three"
    assert isinstance(whole[-1][1], RunFinished)
    assert [number for number, _ in whole] == list(range(1, len(whole) + 1))


async def test_rejoining_at_any_event_misses_and_doubles_nothing() -> None:
    runs = Detached(Runtime(model=Lines(says("a", "b", "c"))))
    runs.start(turn())
    whole = await read(runs)
    for cut in range(len(whole) + 1):
        assert whole[:cut] + await read(runs, after=cut) == whole


async def test_two_readers_see_the_same_live_run() -> None:
    gate = Gate()
    runs = Detached(Runtime(model=gate))
    runs.start(turn())
    both = [asyncio.create_task(read(runs)) for _ in range(2)]
    for word in ("x", "y", None):
        gate.words.put_nowait(word)
    first, second = await asyncio.gather(*both)
    assert first == second
    assert words(first) == "xy"


async def test_a_busy_thread_refuses_another_run_and_joins_the_same_one() -> None:
    gate = Gate()
    runs = Detached(Runtime(model=gate))
    runs.start(turn(run="r1"))
    with pytest.raises(Conflict, match="already running"):
        runs.start(turn(run="r2"))
    assert runs.start(turn(run="r1")) == 0
    gate.words.put_nowait(None)
    assert sum(isinstance(event, RunFinished) for _, event in await read(runs)) == 1


async def test_stop_keeps_what_was_said_and_frees_the_thread() -> None:
    gate = Gate()
    runs = Detached(Runtime(model=gate))
    runs.start(turn())
    gate.words.put_nowait("half")
    async with closing(runs.follow(ME, "t")) as items:
        async for _, event in items:
            if isinstance(event, TextDelta):
                break
    assert await runs.stop(ME, "t")
    assert gate.closed.is_set()
    whole = [event for _, event in await read(runs)]
    assert isinstance(whole[-2], TextEnd)
    assert isinstance(whole[-1], RunFailed)
    assert whole[-1].code == "stopped"
    assert not await runs.stop(ME, "t")
    gate.words.put_nowait(None)
    before = runs.start(turn("again"))
    assert before == len(whole)
    assert isinstance((await read(runs, before))[-1][1], RunFinished)


async def test_another_owners_thread_does_not_exist() -> None:
    runs = Detached(Runtime(model=Lines(says("secret"))))
    runs.start(turn())
    await read(runs)
    with pytest.raises(NotFound):
        await runs.stop(OTHER, "t")
    with pytest.raises(NotFound):
        await anext(runs.follow(OTHER, "t"))


async def test_an_orphan_is_stopped() -> None:
    gate = Gate()
    runs = Detached(Runtime(model=gate), Rules(orphan_seconds=0.01))
    runs.start(turn())
    await asyncio.wait_for(gate.closed.wait(), 5)
    [*_, (_, last)] = await read(runs)
    assert isinstance(last, RunFailed)


async def test_a_run_without_end_is_cut_at_its_size() -> None:
    async def endless(prompt: Prompt) -> AsyncIterator[Fragment]:
        while True:
            yield Text("x" * 100)
            await asyncio.sleep(0)

    runs = Detached(Runtime(model=Lines(endless)), Rules(run_bytes=10_000))
    runs.start(turn())
    [*_, (_, last)] = await read(runs)
    assert isinstance(last, RunFailed)
    assert last.code == "too_long"


async def test_old_threads_are_forgotten_and_running_ones_are_not() -> None:
    async def waits(prompt: Prompt) -> AsyncIterator[Fragment]:
        await asyncio.Event().wait()
        yield Finish("stop")

    runs = Detached(Runtime(model=Lines(waits, says("a"), says("b"), says("c"))), Rules(threads=2))
    runs.start(turn(thread="live"))
    await asyncio.sleep(0)
    for thread in ("first", "second", "third"):
        runs.start(turn(thread=thread))
        async with closing(runs.follow(ME, thread)) as items:
            assert [item async for item in items]
    assert [thread for _, thread in runs.logs] == ["live", "third"]
    await runs.close()


async def test_a_threads_oldest_runs_go_and_numbers_stay() -> None:
    lines = [says("x" * 600) for _ in range(5)]
    runs = Detached(Runtime(model=Lines(*lines)), Rules(thread_bytes=3000))
    starts = []
    for _ in range(5):
        starts.append(runs.start(turn()))
        whole = await read(runs, starts[-1])
        assert words(whole) == "x" * 600
        assert whole[0][0] == starts[-1] + 1
    kept = await read(runs)
    assert 1 < kept[0][0] <= starts[-1] + 1
    assert [number for number, _ in kept] == list(range(kept[0][0], kept[-1][0] + 1))
