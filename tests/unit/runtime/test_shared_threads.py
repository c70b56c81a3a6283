"""Runs on threads that two workers share: whichever is asked, the client sees the same."""

import asyncio
import copy
import logging
from functools import partial
from typing import Any

import pytest

from rightseat import Owner, Turn, text_message
from rightseat.errors import StoreFailed
from rightseat.live.memory import EventWatch, MemoryPlane
from rightseat.middleware.recording import DELTAS_PER_ENTRY, record_runs
from rightseat.runtime import shared_threads
from rightseat.runtime.shared_threads import SharedRun, SharedThreadRuns
from rightseat.runtime.threads import RUN_STOPPED, ThreadRuns
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import RunFailed, RunFinished, RunStarted, TextDelta
from rightseat.types.live import READ_RUN, STOP_RUN, ControlMessage
from rightseat.types.streams import closing
from rightseat.types.threads import ANY_FENCE, RUN_RESTARTED, NumberedEntry, StopPending, ThreadBusy
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import read_into, wait_until
from tests.unit.runtime.shared_workers import (
    ME,
    LoggingStore,
    MakeWorkers,
    Workers,
    collect,
    drop_deltas,
    join_words,
    reading,
    wait_for_words,
)


class WindowStore(MemoryStore):
    """A store that writes entries in windows, as one that other processes share; a test closes them."""

    def __init__(self) -> None:
        super().__init__(worker="1")
        self.window: asyncio.Future[None] | None = None
        self.deltas = 0

    def append_entries(
        self, owner: Owner, thread: str, first: int, entries: Any, fence: int = ANY_FENCE
    ) -> asyncio.Future[None] | None:
        super().append_entries(owner, thread, first, entries, fence)
        if self.window is None:
            self.window = asyncio.get_running_loop().create_future()
        self.deltas += sum(isinstance(entry, TextDelta) for entry in entries)
        return self.window

    def close_window(self) -> None:
        window, self.window = self.window, None
        if window is not None:
            window.set_result(None)


@pytest.fixture
def is_waiting(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once a reader waits for a notification."""
    event, wait = asyncio.Event(), EventWatch.wait

    async def wait_seen(self: EventWatch, seconds: float) -> bool:
        event.set()
        return await wait(self, seconds)

    monkeypatch.setattr(EventWatch, "wait", wait_seen)
    return event


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_a_run_is_followed_elsewhere_from_any_number(workers: Workers) -> None:
    here = asyncio.create_task(collect(await workers.start(workers.a)))
    joined: list[asyncio.Task[list[NumberedEntry]]] = []
    async with reading(workers.a.follow(ME, "t")) as seen:
        for number, word in enumerate("abcdef"):
            workers.model.say(word)
            await wait_for_words(seen, "abcdef"[: number + 1])
            joined += [asyncio.create_task(collect(workers.b.follow(ME, "t", cut))) for cut in range(number + 4)]
        workers.model.say(None)
        whole = await here
    assert isinstance(whole[-1][1], RunFinished)
    cuts = [cut for number in range(6) for cut in range(number + 4)]
    for cut, task in zip(cuts, joined, strict=True):
        found = await task
        rest = [item for item in whole if item[0] > cut]
        assert join_words(found) == "abcdef"[max(0, cut - 3) :]
        assert drop_deltas(found) == drop_deltas(rest)
        numbers = [number for number, _ in found]
        assert numbers == sorted(set(numbers))
    assert join_words(await collect(workers.b.follow(ME, "t", 0))) == "abcdef"


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_a_reader_elsewhere_sees_words_as_they_come(workers: Workers) -> None:
    workers.b.poll_seconds = HANG_TIMEOUT
    await workers.start(workers.a)
    async with reading(workers.b.follow(ME, "t")) as seen:
        workers.model.say("one ")
        await wait_for_words(seen, "one ")
        workers.model.say("two ")
        await wait_for_words(seen, "one two ")


@pytest.mark.demand("scale.runs_followed_anywhere")
@pytest.mark.parametrize("is_told", [True, False], ids=["", "twin without a plane"])
async def test_a_reader_elsewhere_sees_an_attached_run_as_it_is_written(
    workers: Workers, is_told: bool, is_waiting: asyncio.Event
) -> None:
    """One that is recorded while its client reads it directly."""
    workers.b.poll_seconds = HANG_TIMEOUT
    record = record_runs(workers.a.store, plane=workers.a.plane if is_told else None)
    turn = Turn(messages=(text_message("user", "hi"),), thread="t", run="r1", owner=ME, recording="asked")
    words = "".join(f"{number} " for number in range(DELTAS_PER_ENTRY))
    async with closing(record(workers.runtime.run)(turn)) as events:
        assert isinstance(await anext(events), RunStarted)
        async with reading(workers.b.follow(ME, "t")) as seen:
            await is_waiting.wait()
            workers.model.say(*(f"{number} " for number in range(DELTAS_PER_ENTRY)))
            async for event in events:
                if isinstance(event, TextDelta) and event.text == f"{DELTAS_PER_ENTRY - 1} ":
                    break
            if is_told:
                await wait_for_words(seen, words)
            else:
                await asyncio.sleep(0.05)
                assert join_words(seen) == ""


async def test_one_write_of_the_store_is_one_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tokens it has."""
    store = WindowStore()
    workers = Workers((store, store))
    stored: list[int] = []
    on_stored = SharedRun.on_stored

    def count_callback(run: SharedRun, number: int, is_lost: bool) -> None:
        stored.append(number)
        on_stored(run, number, is_lost)

    monkeypatch.setattr(SharedRun, "on_stored", count_callback)
    async with reading(await workers.start(workers.a)) as seen:
        workers.model.say(*"abcdefgh")
        await wait_until(lambda: store.deltas == len("abcdefgh"))
        assert join_words(seen) == ""
        store.close_window()
        await wait_for_words(seen, "abcdefgh")
        assert len(stored) == 1
    await workers.a.close()
    await workers.b.close()


@pytest.mark.demand("scale.runs_followed_anywhere")
@pytest.mark.parametrize("poll_seconds", [0.01, HANG_TIMEOUT], ids=["with a poll", "twin without"])
async def test_a_lost_notification_costs_time_only(
    workers: Workers, poll_seconds: float, is_waiting: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.b.poll_seconds = poll_seconds
    monkeypatch.setattr(MemoryPlane, "notify", lambda *args: None)
    async with closing(await workers.start(workers.a)) as items:
        assert await anext(items)
    async with reading(workers.b.follow(ME, "t")) as seen:
        await is_waiting.wait()
        workers.model.say("a", None)
        await collect(workers.a.follow(ME, "t"))
        if poll_seconds == HANG_TIMEOUT:
            # Without the poll behind it a lost notification would be the end.
            await asyncio.sleep(0.05)
            assert join_words(seen) == ""
        else:
            await wait_until(lambda: isinstance(seen[-1][1], RunFinished))
            assert join_words(seen) == "a"


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_a_slow_reader_elsewhere_gets_all(workers: Workers) -> None:
    await workers.start(workers.a)
    items = workers.b.follow(ME, "t")
    seen = [await anext(items)]
    workers.model.say(*map(str, range(100)), None)
    await collect(workers.a.follow(ME, "t"))
    seen += await collect(items)
    assert join_words(seen) == "".join(map(str, range(100)))
    assert isinstance(seen[-1][1], RunFinished)


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_the_same_run_id_elsewhere_joins_the_run(workers: Workers) -> None:
    first, second = await asyncio.gather(workers.start(workers.a), workers.start(workers.b))
    workers.model.say("a", "b", None)
    here, there = await asyncio.gather(collect(first), collect(second))
    assert workers.model.calls == 1
    assert join_words(here) == join_words(there) == "ab"
    assert drop_deltas(here) == drop_deltas(there)
    again = await collect(await workers.start(workers.b))
    assert join_words(again) == "ab"
    assert workers.model.calls == 1


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_the_same_run_id_joins_after_earlier_runs(workers: Workers) -> None:
    workers.model.say("old", None)
    await collect(await workers.start(workers.a, "r0"))
    await workers.start(workers.a, "r1", "more")
    joined = await workers.start(workers.b, "r1", "more")
    workers.model.say("new", None)
    assert join_words(await collect(joined)) == "new"


async def test_another_run_on_a_busy_thread_is_refused_anywhere(workers: Workers) -> None:
    await workers.start(workers.a)
    for worker in (workers.a, workers.b):
        with pytest.raises(ThreadBusy):
            await workers.start(worker, "r2")
    thread = (await workers.b.store.list_threads(ME))[0]
    assert thread.run == "r1"
    assert workers.model.calls <= 1


async def test_a_reader_who_comes_while_a_run_is_refused_follows_the_right_one(workers: Workers) -> None:
    await workers.start(workers.a)
    refused = asyncio.create_task(workers.start(workers.b, "r2"))
    await asyncio.sleep(0)
    assert workers.b.active_runs
    following = asyncio.create_task(collect(workers.b.follow(ME, "t")))
    with pytest.raises(ThreadBusy):
        await refused
    workers.model.say("a", None)
    assert join_words(await following) == "a"


@pytest.mark.demand("scale.stop_anywhere")
async def test_stop_elsewhere_ends_the_run(workers: Workers) -> None:
    workers.b.poll_seconds = HANG_TIMEOUT
    assert not await workers.b.stop(ME, "t")
    items = await workers.start(workers.a)
    workers.model.say("a")
    async with reading(items) as seen:
        await wait_for_words(seen, "a")
        assert await workers.b.stop(ME, "t")
        assert await workers.b.store.get_lease_holder(ME, "t") is None
        assert workers.model.closed.is_set()
        await wait_until(lambda: seen[-1][1] == RUN_STOPPED)
    assert not await workers.b.stop(ME, "t")


@pytest.mark.demand("scale.stop_anywhere")
async def test_a_lost_stop_is_sent_again(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    await workers.start(workers.a)
    workers.b.poll_seconds = 0.01
    messages: list[ControlMessage] = []
    handle = workers.a.on_stop_message
    workers.a.plane.handle(STOP_RUN, lambda m: handle(m) if messages else messages.append(m))
    assert await workers.b.stop(ME, "t")
    assert workers.model.closed.is_set() or workers.model.calls == 0
    assert await workers.b.store.get_lease_holder(ME, "t") is None


async def test_a_worker_that_hangs_makes_stop_wait_for_a_while_only(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_threads, "STOP_SECONDS", 0.05)
    workers.b.poll_seconds = 0.01
    await workers.start(workers.a)
    workers.a.plane.handle(STOP_RUN, lambda message: None)
    with pytest.raises(StopPending) as pending:
        await workers.b.stop(ME, "t")
    assert pending.value.is_kept, "the message was taken"
    assert "has not stopped" in caplog.text
    with pytest.raises(ThreadBusy):
        await workers.b.delete(ME, "t")
    assert await workers.a.store.has_thread(ME, "t")


async def test_a_run_that_ends_with_its_client_is_not_stopped(workers: Workers) -> None:
    """A run that is only recorded has the thread, and no stop button at its own worker either."""
    workers.b.poll_seconds = 0.01
    lease = await workers.a.store.begin_run(ME, "t", "r1", assistant="", name="")
    assert not await workers.a.stop(ME, "t")
    assert not await workers.b.stop(ME, "t")
    workers.a.store.append_entries(ME, "t", 1, [RunFinished("stop")], lease.fence)


@pytest.mark.demand("scale.stop_anywhere")
async def test_delete_elsewhere_ends_the_run_first(workers: Workers) -> None:
    items = await workers.start(workers.a)
    workers.model.say("a")
    async with reading(items) as seen:
        await wait_for_words(seen, "a")
        assert await workers.b.delete(ME, "t")
    assert workers.model.closed.is_set()
    assert not workers.a.active_runs
    assert not await workers.a.store.has_thread(ME, "t")
    assert await collect(workers.b.follow(ME, "t")) == []


@pytest.mark.demand("scale.dead_workers_swept")
async def test_the_run_of_a_dead_worker_is_ended_for_its_readers(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_threads, "SWEEP_SECONDS", 0.01)
    caplog.set_level(logging.WARNING)
    await workers.start(workers.a)
    workers.model.say("a")
    workers.b.get_runner = lambda turn: None
    workers.b.poll_seconds = HANG_TIMEOUT
    async with reading(workers.b.follow(ME, "t")) as seen:
        await wait_for_words(seen, "a")
        await workers.b.open()
        await workers.b.open()
        workers.kill(workers.a)
        await wait_until(lambda: seen[-1][1] == RUN_RESTARTED)
        # What the dead worker still says is neither kept nor shown.
        workers.model.say("never")
        await wait_until(lambda: not workers.a.active_runs)
        assert "never" not in join_words(seen)
    assert "never" not in join_words(await collect(workers.b.follow(ME, "t")))


@pytest.mark.demand("scale.dead_workers_swept")
async def test_the_thread_of_a_dead_worker_is_free_at_once(workers: Workers) -> None:
    await workers.start(workers.a)
    workers.kill(workers.a)
    items = await workers.start(workers.b, "r2", "again")
    workers.model.say("b", "b", None, None)
    assert isinstance((await collect(items))[-1][1], RunFinished)


@pytest.mark.demand("scale.dead_workers_swept")
async def test_of_two_who_take_a_thread_over_one_joins_the_other(workers: Workers) -> None:
    """Both find the holder dead; the second finds the thread leased to the first."""
    await workers.start(workers.a, "r0", "other")
    third = copy.copy(workers.a.store)
    if not isinstance(third, MemoryStore):
        pytest.skip("one file of three stores")
    third.worker = "3"
    c = workers.make_worker(third)
    workers.kill(workers.a)
    first, second = await asyncio.gather(workers.start(workers.b), workers.start(c))
    calls = workers.model.calls
    workers.model.say(*["x", None] * 2)
    here, there = await asyncio.gather(collect(first), collect(second))
    assert drop_deltas(here) == drop_deltas(there)
    assert workers.model.calls <= calls + 1
    await c.close()


@pytest.mark.demand("scale.dead_workers_swept")
async def test_the_same_run_id_of_a_dead_worker_is_not_run_again(workers: Workers) -> None:
    await workers.start(workers.a)
    workers.kill(workers.a)
    calls = workers.model.calls
    assert (await collect(await workers.start(workers.b)))[-1][1] == RUN_RESTARTED
    assert workers.model.calls == calls


@pytest.mark.demand("scale.stop_anywhere")
async def test_stop_ends_the_run_of_a_dead_worker(workers: Workers) -> None:
    await workers.start(workers.a)
    workers.kill(workers.a)
    assert await workers.b.stop(ME, "t")
    assert await workers.b.store.get_lease_holder(ME, "t") is None


async def test_a_failing_sweep_is_tried_again(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_threads, "SWEEP_SECONDS", 0.001)
    failures: list[Exception] = [RuntimeError("broken"), StoreFailed("full")]
    calls = 0

    async def fail() -> set[str]:
        nonlocal calls
        calls += 1
        if failures:
            raise failures.pop()
        return set()

    monkeypatch.setattr(workers.b.store, "list_lease_workers", fail)
    await workers.b.open()
    await wait_until(lambda: calls > 2)
    assert "could not be ended" in caplog.text
    assert "the store failed" in caplog.text


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_a_reader_elsewhere_keeps_a_run_alive(make_workers: MakeWorkers) -> None:
    workers = make_workers(orphan_seconds=0.6)
    workers.b.poll_seconds = 0.01
    await workers.start(workers.a)
    async with reading(workers.b.follow(ME, "t")) as seen:
        await asyncio.sleep(0.9)
        assert workers.a.active_runs
        assert not any(isinstance(entry, RunFailed) for _, entry in seen)
    await wait_until(lambda: not workers.a.active_runs)
    assert (await collect(workers.b.follow(ME, "t")))[-1][1] == RUN_STOPPED


async def count_notifications(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each notification of worker A."""
    told: list[str] = []
    notify = MemoryPlane.notify

    def note(self: MemoryPlane, owner: Owner, thread: str) -> None:
        told.append(thread)
        notify(self, owner, thread)

    monkeypatch.setattr(MemoryPlane, "notify", note)
    return told


@pytest.mark.demand("scale.told_where_followed")
async def test_words_are_told_elsewhere_only_while_somebody_follows_there(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.b.poll_seconds = HANG_TIMEOUT
    async with reading(await workers.start(workers.a)) as here:
        workers.model.say("a")
        await wait_for_words(here, "a")
        told = await count_notifications(workers, monkeypatch)
        workers.model.say("b", "c")
        await wait_for_words(here, "abc")
        assert told == []
        async with reading(workers.b.follow(ME, "t")) as seen:
            await wait_for_words(seen, "abc")
            for number, word in enumerate("defgh"):
                workers.model.say(word)
                await wait_for_words(seen, "abcdefgh"[: number + 4])
        assert len(told) >= 5
        workers.model.say(None)


@pytest.mark.demand("scale.told_where_followed")
async def test_a_reader_whose_word_was_lost_sends_it_again(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message is a hint: the reader polls until the run's worker knows of it."""
    lost: list[ControlMessage] = []
    send = MemoryPlane.send

    async def lose_first(self: MemoryPlane, worker: str, message: ControlMessage) -> bool:
        if message.kind == READ_RUN and not lost:
            lost.append(message)
            return True
        return await send(self, worker, message)

    monkeypatch.setattr(MemoryPlane, "send", lose_first)
    workers.b.poll_seconds = 0.05
    async with reading(await workers.start(workers.a)) as here, reading(workers.b.follow(ME, "t")) as seen:
        await wait_until(lambda: bool(lost))
        workers.model.say("a")
        await wait_for_words(here, "a")
        [active] = workers.a.active_runs.values()
        assert isinstance(active, SharedRun)
        for word in "bcdefgh":
            workers.model.say(word)
            await wait_until(lambda word=word: has_word(seen, word))  # type: ignore[misc]
        await wait_until(lambda: active.is_followed)
        workers.model.say(None)


def has_word(seen: list[NumberedEntry], word: str) -> bool:
    return word in join_words(seen)


@pytest.mark.parametrize("is_logged_first", [True, False], ids=["log before show", "twin that shows first"])
async def test_nothing_is_shown_that_the_log_does_not_have(is_logged_first: bool) -> None:
    """A worker that dies shows at most what others find in the log."""
    store = LoggingStore(worker="1")
    if not is_logged_first:
        append = store.append_entries

        def show_first(*args: Any) -> None:
            append(*args)

        store.append_entries = show_first  # type: ignore[assignment, method-assign]
    workers = Workers((store, store))
    contradicted = 0
    async with reading(await workers.start(workers.a)) as seen:
        for word in "abcdef":
            workers.model.say(word)
            for _ in range(30):
                await asyncio.sleep(0)
                logged = join_words(await store.read_entries(ME, "t"))
                contradicted += not logged.startswith(join_words(seen))
            await wait_until(partial(has_word, seen, word))
    assert (contradicted == 0) is is_logged_first
    await workers.a.close()
    await workers.b.close()


def test_both_kinds_have_the_same_methods() -> None:
    own = {name for name in vars(ThreadRuns) if not name.startswith("_")}
    assert own <= set(dir(SharedThreadRuns))


@pytest.mark.demand("cluster.woken_replicas")
@pytest.mark.parametrize("is_followed", [True, False], ids=["followed", "twin that looks once"])
async def test_readers_of_a_run_that_was_taken_over_follow_it_there(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, is_followed: bool
) -> None:
    if not is_followed:
        monkeypatch.setattr(SharedThreadRuns, "stream_lost", ThreadRuns.stream_lost)
    seen: list[NumberedEntry] = []
    reader = asyncio.create_task(read_into(await workers.start(workers.a), seen))
    workers.model.say("one ")
    await wait_for_words(seen, "one ")
    holder = await workers.b.store.get_lease_holder(ME, "t")
    assert holder is not None
    lease = await workers.b.store.take_over_run(ME, "t", holder)
    assert lease is not None
    # The worker that has lost the run learns it with its next word, before the run ends at the other one.
    workers.model.say("late ")
    async with asyncio.timeout(HANG_TIMEOUT):
        await workers.model.closed.wait()
        if not is_followed:
            await reader
        stored = workers.b.store.append_entries(ME, "t", lease.last + 1, [RunFinished("stop")], lease.fence)
        if stored is not None:
            await stored
        await reader
    assert join_words(seen) == "one "
    assert (seen[-1] == (lease.last + 1, RunFinished("stop"))) is is_followed
