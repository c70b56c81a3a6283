"""Runs of a worker that has died go on at another one, under the same id and with growing numbers."""

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import pytest

from rightseat import Turn, text_message
from rightseat.types.agents import Responder
from rightseat.types.events import Event, RunFinished, RunStarted, StepEnd, StepStart, TextEnd, TextStart
from rightseat.types.streams import closing
from rightseat.types.threads import MAX_TAKE_OVERS, RUN_RESTARTED, NumberedEntry, ThreadBusy, UserInput, make_resume_key
from rightseat.types.turn import ForwardedProps, TurnClient
from tests.kit.waiting import wait_until
from tests.unit.runtime.shared_workers import ME, Workers, collect, reading


class StepRunner:
    """A runner whose steps count, and which goes on after those that are done."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.turns: list[Turn] = []
        self.done: list[str] = []
        self.steps = ("one", "two", "three")

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        self.turns.append(turn)
        yield RunStarted(turn.thread, turn.run)
        for step in self.steps[len(self.done) :]:
            yield StepStart(step)
            yield TextStart(f"{step}-{len(self.turns)}")
            if step == "two":
                await self.gate.wait()
            self.done.append(step)
            yield TextEnd(f"{step}-{len(self.turns)}")
            yield StepEnd(step)
        yield RunFinished("stop")


def let_go_on(workers: Workers, runner: StepRunner) -> None:
    for worker in (workers.a, workers.b):
        worker.get_runner = lambda turn: runner


async def start_steps(workers: Workers, runner: StepRunner, **client: Any) -> AsyncIterator[NumberedEntry]:
    turn = Turn(
        messages=(text_message("user", "hi"),),
        thread="t",
        run="r1",
        owner=ME,
        assistant="f",
        client=TurnClient(**client),
    )
    items = await workers.a.start(turn, runner)
    await wait_recorded(workers, "t")
    return items


async def wait_recorded(workers: Workers, thread: str) -> None:
    """A run is recorded beside its start, which does not wait for that."""
    active = workers.a.active_runs.get((ME.name, thread))
    if active is not None and active.recording is not None:
        await active.recording


def count(items: list[NumberedEntry], kind: type) -> int:
    return sum(isinstance(entry, kind) for _, entry in items)


def check_one_run(items: list[NumberedEntry]) -> None:
    """Everything that was begun has its end, once, and numbers grow."""
    numbers = [number for number, _ in items]
    assert numbers == sorted(set(numbers))
    assert count(items, UserInput) == count(items, RunStarted) == count(items, RunFinished) == 1
    for start, end in ((StepStart, StepEnd), (TextStart, TextEnd)):
        assert count(items, start) == count(items, end)


@pytest.mark.demand("scale.flows_go_on")
async def test_a_run_with_progress_goes_on_at_another_worker(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    workers.b.poll_seconds = 0.01
    items = await start_steps(workers, runner)
    async with reading(items) as seen_at_a, reading(workers.b.follow(ME, "t")) as seen:
        await wait_until(lambda: count(seen, TextStart) == 2)
        workers.kill(workers.a)
        await workers.b.sweep_once()
        holder = await workers.b.store.get_lease_holder(ME, "t")
        assert holder is not None
        assert (holder.run, holder.worker) == ("r1", workers.b.store.worker)
        runner.gate.set()
        await wait_until(lambda: isinstance(seen[-1][1], RunFinished))
        # The old worker goes on too, and shows nothing.
        await wait_until(lambda: not workers.a.active_runs)
        assert count(seen_at_a, RunFinished) == 0 or seen_at_a == seen
    check_one_run(seen)
    assert [turn.is_taken_over for turn in runner.turns] == [False, True]
    whole = await collect(workers.b.follow(ME, "t"))
    assert whole == seen
    await wait_until(lambda: not workers.b.active_runs)
    store: Any = workers.b.store
    assert await store.get_checkpoint(ME, make_resume_key("t", "r1")) is None
    joined = await collect(await start_steps(workers, runner))
    assert joined == whole, "the same run again is replayed"
    assert len(runner.turns) == 2


@pytest.mark.demand("scale.flows_go_on")
async def test_the_same_run_posted_elsewhere_is_joined_where_it_goes_on(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner)
    await wait_until(lambda: len(runner.done) == 1)
    workers.kill(workers.a)
    workers.a, workers.b = workers.b, workers.a
    items, _ = await asyncio.gather(start_steps(workers, runner), workers.a.sweep_once())
    with pytest.raises(ThreadBusy):
        await workers.start(workers.a, "r2")
    runner.gate.set()
    check_one_run(await collect(items))


@pytest.mark.demand("scale.flows_go_on")
async def test_a_run_that_has_lost_three_workers_ends_as_restarted(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner)
    await wait_until(lambda: len(runner.done) == 1)
    for number in range(MAX_TAKE_OVERS + 1):
        old, new = (workers.a, workers.b) if number % 2 == 0 else (workers.b, workers.a)
        workers.dead.clear()
        workers.dead.add(old.store.worker)
        await new.sweep_once()
        await wait_until(lambda: len(runner.turns) == min(number, MAX_TAKE_OVERS - 1) + 2)  # noqa: B023
    # From the store: the workers that count as dead here have not heard of it.
    entries = await workers.b.store.read_entries(ME, "t")
    assert entries[-1][1] == RUN_RESTARTED
    assert count(entries, RunStarted) == 1
    assert await workers.b.store.get_lease_holder(ME, "t") is None
    runner.gate.set()


@pytest.mark.demand("scale.flows_go_on")
@pytest.mark.parametrize(
    "client",
    [
        {"headers": {"authorization": "Bearer x"}},
        {"headers": {"x-tenant": "x"}},
        {"forwarded": ForwardedProps({"apiKey": "x"})},
        {"forwarded": ForwardedProps({}, {}, {"a": [{"access_token": "x"}]})},
    ],
    ids=["authorization", "a header", "a property", "a nested property"],
)
async def test_a_run_with_credentials_ends_as_restarted(workers: Workers, client: dict[str, Any]) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner, **client)
    await wait_until(lambda: len(runner.done) == 1)
    store: Any = workers.b.store
    assert await store.get_checkpoint(ME, make_resume_key("t", "r1")) is None
    workers.kill(workers.a)
    await workers.b.sweep_once()
    assert (await collect(workers.b.follow(ME, "t")))[-1][1] == RUN_RESTARTED
    runner.gate.set()


@pytest.mark.demand("scale.flows_go_on")
async def test_headers_of_a_trace_are_left_out_of_the_record(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner, headers={"traceparent": "00-1-2-01"}, forwarded=ForwardedProps({"zone": "UTC"}))
    await wait_until(lambda: len(runner.done) == 1)
    store: Any = workers.b.store
    assert b"traceparent" not in await store.get_checkpoint(ME, make_resume_key("t", "r1"))
    workers.kill(workers.a)
    await workers.b.sweep_once()
    await wait_until(lambda: len(runner.turns) == 2)
    assert runner.turns[1].client.headers == {}
    assert runner.turns[1].client.forwarded.properties == {"zone": "UTC"}
    runner.gate.set()
    check_one_run(await collect(workers.b.follow(ME, "t")))


@pytest.mark.demand("scale.flows_go_on")
async def test_stop_ends_one_run_of_a_dead_worker_and_leaves_the_others(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner)
    await wait_until(lambda: len(runner.done) == 1)
    other = Turn(messages=(text_message("user", "hi"),), thread="t2", run="r2", owner=ME, assistant="f")
    await workers.a.start(other, runner)
    await wait_recorded(workers, "t2")
    await wait_until(lambda: len(runner.turns) == 2)
    workers.kill(workers.a)
    assert await workers.b.stop(ME, "t")
    assert (await collect(workers.b.follow(ME, "t")))[-1][1] == RUN_RESTARTED
    await workers.b.sweep_once()
    holder = await workers.b.store.get_lease_holder(ME, "t2")
    assert holder is not None
    assert holder.worker == workers.b.store.worker
    runner.gate.set()


@pytest.mark.demand("scale.flows_go_on")
async def test_a_worker_that_leaves_takes_nothing_over(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner)
    await wait_until(lambda: len(runner.done) == 1)
    workers.kill(workers.a)
    workers.b.is_leaving = True
    await workers.b.sweep_once()
    holder = await workers.b.store.get_lease_holder(ME, "t")
    assert holder is not None
    assert holder.worker == workers.a.store.worker
    runner.gate.set()


@pytest.mark.demand("scale.flows_go_on")
async def test_a_run_goes_on_outside_the_request_that_found_its_worker_dead(workers: Workers) -> None:
    runner = StepRunner()
    variable = ContextVar("request", default="none")
    requests: list[str] = []

    def get_runner(turn: Turn) -> Responder:
        async def run(turn: Turn) -> AsyncIterator[Event]:
            requests.append(variable.get())
            async with closing(runner(turn)) as events:
                async for event in events:
                    yield event

        return run

    let_go_on(workers, runner)
    await start_steps(workers, runner)
    await wait_until(lambda: len(runner.done) == 1)
    workers.kill(workers.a)
    workers.b.get_runner = get_runner
    variable.set("of a stranger")
    with pytest.raises(ThreadBusy):
        await workers.start(workers.b, "r2")
    await wait_until(lambda: bool(requests))
    assert requests == ["none"]
    runner.gate.set()
