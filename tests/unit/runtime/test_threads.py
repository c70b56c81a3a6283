"""Detached runs: leaving cancels nothing, any number may watch, stop is a call."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rightseat import Owner, Runtime, Turn, text_message
from rightseat.errors import Conflict, StoreFailed
from rightseat.runtime.threads import RunLimits, ThreadRuns
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.events import RunFailed, RunFinished, RunStarted, TextDelta, TextEnd
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing
from rightseat.types.threads import (
    ANY_FENCE,
    RUN_RESTARTED,
    Lease,
    NumberedEntry,
    ThreadEntry,
    ThreadStore,
    UserInput,
    is_delta,
)
from tests.contract.stores.members import MEMBER_PARAMS, FullStore, MakeStore
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import read_into, wait_until

ME, OTHER = Owner("me"), Owner("other")


def make_turn(text: str = "hi", run: str = "", thread: str = "t") -> Turn:
    return Turn(messages=(text_message("user", text),), thread=thread, run=run, owner=ME)


class GatedModel(Model):
    """A model that says a word each time it is let."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        try:
            while (word := await self.words.get()) is not None:
                yield TextChunk(word)
            yield FinishChunk("stop")
        finally:
            self.closed.set()


class RuntimeThreads(ThreadRuns):
    """Detached runs of one Runtime."""

    def __init__(self, model: Model, store: ThreadStore, **limits: Any) -> None:
        super().__init__(store, RunLimits(**limits))
        self.runtime = Runtime(model=model)

    async def start_run(self, turn: Turn) -> AsyncIterator[NumberedEntry]:
        return await self.start(turn, self.runtime.run)


@pytest.fixture(params=MEMBER_PARAMS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FullStore]:
    keeper: FullStore = request.param(tmp_path, clock=time.time)
    yield keeper
    await keeper.close()


async def collect_entries(items: AsyncIterator[NumberedEntry]) -> list[NumberedEntry]:
    async with closing(items):
        return [item async for item in items]


async def follow_thread(runs: ThreadRuns, after: int = 0, owner: Owner = ME) -> list[NumberedEntry]:
    return await collect_entries(runs.follow(owner, "t", after))


async def read_until_text(items: AsyncIterator[NumberedEntry]) -> None:
    """Until the first words, and then away."""
    async with closing(items):
        async for _, event in items:
            if isinstance(event, TextDelta):
                return


def join_words(items: list[NumberedEntry]) -> str:
    return "".join(event.text for _, event in items if isinstance(event, TextDelta))


@pytest.mark.demand("engine.detached_runs_log_number")
async def test_a_reader_may_leave_and_another_reads_all(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    items = await runs.start_run(make_turn())
    gate.words.put_nowait("one ")
    await read_until_text(items)
    assert not gate.closed.is_set()
    for word in ("two ", "three", None):
        gate.words.put_nowait(word)
    whole = await follow_thread(runs)
    assert join_words(whole) == "one two three"
    assert whole[0] == (1, UserInput((text_message("user", "hi"),)))
    assert isinstance(whole[1][1], RunStarted)
    assert whole[-1][0] == 8
    assert isinstance(whole[-1][1], RunFinished)


@pytest.mark.demand("engine.detached_runs_log_number")
async def test_rejoining_at_any_event_misses_and_doubles_nothing(store: FullStore) -> None:
    """In memory while it runs, and in the journal after it."""
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    watching = asyncio.create_task(collect_entries(await runs.start_run(make_turn())))
    for word in ("a", "b", "c", "d"):
        gate.words.put_nowait(word)
        await let_tasks_run()
        # What begins a text is shown when it is stored.
        await store.get_thread(ME, "t")
        await let_tasks_run()
    joined = [asyncio.create_task(follow_thread(runs, cut)) for cut in range(9)]
    await let_tasks_run()
    gate.words.put_nowait(None)
    whole = await watching
    assert [number for number, _ in whole] == list(range(1, 10))
    for cut, live in enumerate(joined):
        for found in (await live, await follow_thread(runs, after=cut)):
            assert join_words(found) == join_words(whole[cut:])
            assert drop_text(found) == drop_text(whole[cut:])
            assert found[-1] == whole[-1]


async def let_tasks_run() -> None:
    """Until everybody who can do something has done it."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_words_that_wait_for_their_reader_come_as_one(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    items = await runs.start_run(make_turn())
    async with closing(items):
        for word in ("a", "b", "c"):
            gate.words.put_nowait(word)
        await let_tasks_run()
        # Where workers share the store, words are shown when they are stored.
        await store.get_thread(ME, "t")
        await let_tasks_run()
        found = [await anext(items) for _ in range(4)]
        text = found[-1][1]
        assert isinstance(text, TextDelta)
        assert (found[-1][0], text.text) == (6, "abc")
        # Whoever comes back in the middle of them has the rest.
        later = runs.follow(ME, "t", 4)
        async with closing(later):
            assert join_words([await anext(later)]) == "bc"
        gate.words.put_nowait(None)
        assert [number async for number, _ in items] == [7, 8]


def drop_text(items: list[NumberedEntry]) -> list[NumberedEntry]:
    return [item for item in items if not isinstance(item[1], TextDelta)]


async def test_two_readers_see_the_same_live_run(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    await runs.start_run(make_turn())
    both = [asyncio.create_task(follow_thread(runs)) for _ in range(2)]
    for word in ("x", "y", None):
        gate.words.put_nowait(word)
    first, second = await asyncio.gather(*both)
    assert first == second
    assert join_words(first) == "xy"


async def test_a_reader_too_slow_for_the_ring_reads_on_from_the_journal(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store, ring_size=4)
    items = await runs.start_run(make_turn())
    async with closing(items):
        assert isinstance((await anext(items))[1], UserInput)
        for number in range(50):
            gate.words.put_nowait(f"{number} ")
        for _ in range(200):
            await asyncio.sleep(0)
        gate.words.put_nowait(None)
        whole = [item async for item in items]
    assert join_words(whole) == "".join(f"{number} " for number in range(50))
    assert isinstance(whole[-1][1], RunFinished)


@pytest.mark.demand("engine.detached_runs_log_number")
async def test_a_busy_thread_refuses_another_run_and_joins_the_same_one(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    first = await runs.start_run(make_turn(run="r1"))
    with pytest.raises(Conflict, match="already running"):
        await runs.start_run(make_turn(run="r2"))
    second = await runs.start_run(make_turn(run="r1"))
    gate.words.put_nowait(None)
    whole = await collect_entries(first)
    assert await collect_entries(second) == whole
    assert sum(isinstance(event, RunFinished) for _, event in await follow_thread(runs)) == 1


@pytest.mark.demand("engine.detached_runs_log_number")
async def test_stop_keeps_what_was_said_and_frees_the_thread(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    items = await runs.start_run(make_turn())
    gate.words.put_nowait("half")
    await read_until_text(items)
    assert await runs.stop(ME, "t")
    assert gate.closed.is_set()
    whole = [event for _, event in await follow_thread(runs)]
    assert isinstance(whole[-2], TextEnd)
    assert isinstance(whole[-1], RunFailed)
    assert whole[-1].code == "stopped"
    assert not await runs.stop(ME, "t")
    gate.words.put_nowait(None)
    again = await collect_entries(await runs.start_run(make_turn("again")))
    assert again[0] == (len(whole) + 1, UserInput((text_message("user", "again"),)))
    assert isinstance(again[-1][1], RunFinished)


async def test_stopped_at_once_it_still_ends_and_frees_the_thread(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    begun = asyncio.create_task(runs.start_run(make_turn()))
    await asyncio.sleep(0)
    assert await runs.stop(ME, "t")
    whole = await collect_entries(await begun)
    assert isinstance(whole[-1][1], RunFailed)
    assert sum(isinstance(event, RunFailed) for _, event in whole) == 1
    gate.words.put_nowait(None)
    assert isinstance((await collect_entries(await runs.start_run(make_turn())))[-1][1], RunFinished)


async def test_whoever_begins_may_leave_before_it_began(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    begun = asyncio.create_task(runs.start_run(make_turn()))
    await asyncio.sleep(0)
    begun.cancel()
    await asyncio.wait([begun])
    for word in ("all of it", None):
        gate.words.put_nowait(word)
    assert join_words(await follow_thread(runs)) == "all of it"


async def test_another_owners_thread_does_not_exist(store: FullStore) -> None:
    runs = RuntimeThreads(FakeModel(reply_text("secret")), store)
    await collect_entries(await runs.start_run(make_turn()))
    assert not await runs.stop(OTHER, "t")
    assert await follow_thread(runs, owner=OTHER) == []
    assert await runs.read_run_until(OTHER, "t", 3) == []
    assert not await runs.delete(OTHER, "t")
    assert join_words(await follow_thread(runs)) == "secret"


@pytest.mark.demand("engine.detached_runs_log_number")
async def test_an_orphan_is_stopped(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store, orphan_seconds=0.01)
    await runs.start_run(make_turn())
    await asyncio.wait_for(gate.closed.wait(), HANG_TIMEOUT)
    [*_, (_, last)] = await follow_thread(runs)
    assert isinstance(last, RunFailed)


async def test_a_run_that_is_read_is_no_orphan(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    ahead, real = 0.0, loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + ahead)
    gate = GatedModel()
    runs = RuntimeThreads(gate, store, orphan_seconds=HANG_TIMEOUT)
    reader = asyncio.create_task(collect_entries(await runs.start_run(make_turn())))
    [live] = runs.active_runs.values()
    await wait_until(lambda: live.readers and live.started.is_set())
    ahead = 2 * HANG_TIMEOUT
    # A timer that is due now runs in the next turn, and ends the run in those after it.
    for _ in range(10):
        await asyncio.sleep(0)
    assert not gate.closed.is_set()
    gate.words.put_nowait(None)
    assert isinstance((await reader)[-1][1], RunFinished)


async def test_a_run_without_end_is_cut_at_its_size(store: FullStore) -> None:
    async def endless(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        while True:
            yield TextChunk("x" * 100)
            await asyncio.sleep(0)

    runs = RuntimeThreads(FakeModel(endless), store, run_bytes=10_000)
    [*_, (_, last)] = await collect_entries(await runs.start_run(make_turn()))
    assert isinstance(last, RunFailed)
    assert last.code == "too_long"


async def test_a_run_up_to_a_number(store: FullStore) -> None:
    runs = RuntimeThreads(FakeModel(reply_text("a", "b"), reply_text("c", "d")), store)
    await collect_entries(await runs.start_run(make_turn()))
    second = await collect_entries(await runs.start_run(make_turn("more")))
    for number, _ in second:
        told = await runs.read_run_until(ME, "t", number)
        expected = [entry for place, entry in second if place <= number]
        assert join_words(list(enumerate(told))) == join_words(list(enumerate(expected)))
        assert told[0] == second[0][1]


async def test_deleted_while_it_runs(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    reader = asyncio.create_task(collect_entries(await runs.start_run(make_turn())))
    await asyncio.sleep(0)
    assert await runs.delete(ME, "t")
    assert gate.closed.is_set()
    assert isinstance((await reader)[-1][1], RunFailed)
    assert await follow_thread(runs) == []


async def test_closing_stops_what_runs(store: FullStore) -> None:
    gate = GatedModel()
    runs = RuntimeThreads(gate, store)
    items = await runs.start_run(make_turn())
    gate.words.put_nowait("x")
    await read_until_text(items)
    await runs.close()
    assert gate.closed.is_set()
    assert isinstance((await follow_thread(runs))[-1][1], RunFailed)


async def test_an_answer_is_given_although_it_cannot_be_kept() -> None:
    class Full(MemoryStore):
        async def begin_run(self, owner: Owner, thread: str, run: str, **given: Any) -> Lease:
            raise StoreFailed("The disk is full.")

    runs = RuntimeThreads(FakeModel(reply_text("a", "b")), Full())
    whole = await collect_entries(await runs.start_run(make_turn()))
    assert join_words(whole) == "ab"
    assert isinstance(whole[-1][1], RunFinished)
    assert await follow_thread(runs) == []


async def test_a_store_that_breaks_before_the_run_begins_gets_no_entry() -> None:
    class Broken(MemoryStore):
        fails = False

        async def begin_run(self, owner: Owner, thread: str, run: str, **given: Any) -> Lease:
            if self.fails:
                raise RuntimeError("broken")
            return await super().begin_run(owner, thread, run, **given)

    store = Broken()
    runs = RuntimeThreads(FakeModel(reply_text("a"), reply_text("b")), store)
    await collect_entries(await runs.start_run(make_turn()))
    before = await follow_thread(runs)
    store.fails = True
    async with asyncio.timeout(HANG_TIMEOUT):
        failed = await collect_entries(await runs.start_run(make_turn("again")))
    assert isinstance(failed[-1][1], RunFailed)
    assert await follow_thread(runs) == before
    assert runs.active_runs == {}


async def test_a_store_that_takes_no_entry_ends_the_stream() -> None:
    class Closed(MemoryStore):
        def append_entries(
            self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
        ) -> asyncio.Future[None] | None:
            raise RuntimeError("closed")

    runs = RuntimeThreads(FakeModel(reply_text("a")), Closed())
    async with asyncio.timeout(HANG_TIMEOUT):
        failed = await collect_entries(await runs.start_run(make_turn()))
    assert isinstance(failed[-1][1], RunFailed)
    assert runs.active_runs == {}


class SlowStore(MemoryStore):
    """Says of each entry but a delta that it is stored when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Future[None]] = []

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Sequence[ThreadEntry], fence: int = ANY_FENCE
    ) -> asyncio.Future[None] | None:
        super().append_entries(owner, thread, first, entries, fence)
        if is_delta(entries[-1]):
            return None
        self.waiting.append(asyncio.get_running_loop().create_future())
        return self.waiting[-1]

    async def store_next(self) -> None:
        self.waiting.pop(0).set_result(None)
        await let_tasks_run()


@pytest.mark.demand("crashes.numbers_never_used_again")
async def test_an_entry_is_shown_when_it_is_stored_and_its_text_with_it() -> None:
    gate, store = GatedModel(), SlowStore()
    runs = RuntimeThreads(gate, store)
    seen: list[NumberedEntry] = []
    reading = asyncio.create_task(read_into(await runs.start_run(make_turn()), seen))
    for word in ("a", "b"):
        gate.words.put_nowait(word)
        await let_tasks_run()
    assert seen == [], "the input is not stored yet"
    await store.store_next()
    assert [type(entry) for _, entry in seen] == [UserInput]
    await store.store_next()
    assert [type(entry) for _, entry in seen] == [UserInput, RunStarted]
    await store.store_next()
    assert join_words(seen) == "ab"
    gate.words.put_nowait("c")
    await let_tasks_run()
    assert join_words(seen) == "abc", "a delta does not wait"
    gate.words.put_nowait(None)
    await let_tasks_run()
    assert not runs.active_runs
    assert not reading.done()
    for last in (TextEnd, RunFinished):
        assert not isinstance(seen[-1][1], last)
        await store.store_next()
        assert isinstance(seen[-1][1], last)
    await asyncio.wait_for(reading, HANG_TIMEOUT)
    assert [number for number, _ in seen] == sorted({number for number, _ in seen})


@pytest.mark.demand("crashes.same_run_id_replays")
async def test_the_same_run_after_its_end_is_replayed_alone(store: FullStore) -> None:
    model = FakeModel(reply_text("one"), reply_text("two"), reply_text("three"))
    runs = RuntimeThreads(model, store)
    first = await collect_entries(await runs.start_run(make_turn(run="r1")))
    await collect_entries(await runs.start_run(make_turn("more", run="r2")))
    again = [await collect_entries(await runs.start_run(make_turn(run="r1"))) for _ in range(2)]
    assert again == [first, first]
    both = await asyncio.gather(*(runs.start_run(make_turn(run="r1")) for _ in range(2)))
    assert [await collect_entries(items) for items in both] == [first, first]
    assert len(model.prompts) == 2
    assert join_words(await collect_entries(await runs.start_run(make_turn("other", run="r1")))) == "three"


def test_a_run_has_numbers_for_all_that_it_may_hold() -> None:
    RunLimits(run_bytes=8 << 20)
    with pytest.raises(ValueError, match="run_bytes"):
        RunLimits(run_bytes=1 << 30)


@pytest.mark.demand("copilotkit.sqlite_data_folder_default")
async def test_after_a_restart_the_thread_is_replayed_and_goes_on(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    whole = await collect_entries(await RuntimeThreads(FakeModel(reply_text("before")), store).start_run(make_turn()))
    await store.close()
    store = SQLiteStore(tmp_path)
    runs = RuntimeThreads(FakeModel(reply_text("after")), store)
    assert [entry for _, entry in await follow_thread(runs)] == [entry for _, entry in whole]
    await collect_entries(await runs.start_run(make_turn("more")))
    assert join_words(await follow_thread(runs)) == "beforeafter"
    await store.close()


@pytest.mark.demand("scale.fence")
@pytest.mark.parametrize("make", MEMBER_PARAMS)
async def test_a_run_that_lost_its_thread_shows_what_the_store_has(make: MakeStore, tmp_path: Path) -> None:
    """Its worker was declared dead: nothing more of it is shown or kept, and its reader gets the end from the store."""
    gate, store = GatedModel(), make(tmp_path, clock=time.time)
    runs = RuntimeThreads(gate, store)
    seen: list[NumberedEntry] = []
    reading = asyncio.create_task(read_into(await runs.start_run(make_turn()), seen))
    gate.words.put_nowait("before ")
    await wait_until(lambda: "before" in join_words(seen))
    await store.end_orphaned_runs({store.worker})
    gate.words.put_nowait("after")
    gate.words.put_nowait(None)
    async with asyncio.timeout(HANG_TIMEOUT):
        await reading
        await gate.closed.wait()
    kept = await follow_thread(runs)
    assert seen[-1] == kept[-1]
    assert kept[-1][1] == RUN_RESTARTED
    assert "after" not in join_words(kept)
    assert runs.active_runs == {}
    await store.close()
