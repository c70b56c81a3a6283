"""A worker that is about to end leaves its runs to the others, at the end of a step where it can."""

import asyncio
from typing import Any

import pytest

from rightseat.types.events import RunFinished, StepEnd, StepStart, TextStart
from rightseat.types.threads import MAX_TAKE_OVERS, make_resume_key
from tests.kit.waiting import wait_until
from tests.unit.runtime.shared_workers import ME, MakeWorkers, Workers, collect, reading
from tests.unit.runtime.test_takeover import StepRunner, check_one_run, count, let_go_on, start_steps

NEVER = 3600.0


@pytest.mark.demand("scale.drain_hands_over")
async def test_a_run_leaves_at_the_end_of_its_step(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    workers.b.poll_seconds = workers.a.poll_seconds = 0.01
    async with reading(await start_steps(workers, runner)) as seen_at_a, reading(workers.b.follow(ME, "t")) as seen:
        await wait_until(lambda: count(seen, TextStart) == 2)
        leaving = asyncio.create_task(workers.a.hand_over(NEVER))
        await wait_until(lambda: workers.a.is_handing_over)
        runner.gate.set()
        await leaving
        assert runner.done == ["one", "two"]
        await wait_until(lambda: count(seen, StepEnd) == 2)
        assert count(seen, StepStart) == 2
        workers.kill(workers.a)
        await workers.b.sweep_once()
        await wait_until(lambda: isinstance(seen[-1][1], RunFinished))
        # Readers at the worker that leaves get the rest from the store.
        await wait_until(lambda: seen_at_a == seen)
    check_one_run(seen)
    assert runner.done == ["one", "two", "three"]
    assert await collect(workers.b.follow(ME, "t")) == seen


@pytest.mark.demand("scale.drain_hands_over")
async def test_a_run_leaves_in_the_middle_when_its_time_is_over(workers: Workers) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    workers.b.poll_seconds = 0.01
    async with reading(await start_steps(workers, runner)), reading(workers.b.follow(ME, "t")) as seen:
        await wait_until(lambda: count(seen, TextStart) == 2)
        await workers.a.hand_over(0)
        assert not workers.a.active_runs
        workers.kill(workers.a)
        runner.gate.set()
        await workers.b.sweep_once()
        await wait_until(lambda: isinstance(seen[-1][1], RunFinished))
    check_one_run(seen)
    assert runner.done == ["one", "two", "three"]


@pytest.mark.demand("scale.drain_hands_over")
async def test_hand_overs_are_not_counted(make_workers: MakeWorkers) -> None:
    workers = make_workers()
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner)
    await wait_until(lambda: len(runner.done) == 1)
    for _ in range(MAX_TAKE_OVERS + 2):
        await workers.a.hand_over(0)
        workers.dead.add(workers.a.store.worker)
        await workers.b.sweep_once()
        workers.dead.clear()
        workers.a.is_handing_over = False
        workers.a, workers.b = workers.b, workers.a
    runner.gate.set()
    check_one_run(await collect(workers.a.follow(ME, "t")))


async def test_a_run_without_a_record_is_not_handed_over(workers: Workers) -> None:
    items = await workers.start(workers.a)
    workers.model.say("one ")
    async with reading(items) as seen:
        await wait_until(lambda: bool(seen))
        await workers.a.hand_over(0)
        assert workers.a.active_runs
        workers.model.say(None)
        await wait_until(lambda: isinstance(seen[-1][1], RunFinished))
    store: Any = workers.a.store
    assert await store.get_checkpoint(ME, make_resume_key("t", "r1")) is None
