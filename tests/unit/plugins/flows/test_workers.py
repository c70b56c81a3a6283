"""One flow at two workers that share a store: one runs each step, and another goes on when its worker has died."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.errors import Conflict, ContinuationGone, StoreFailed
from rightseat.plugins.flows import checkpoint
from rightseat.plugins.flows.checkpoint import FlowCheckpoint, FlowProgress, make_checkpoint_key
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.flows.step_context import FlowServices, StepOutput
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.events import Event, Interrupt, RunFinished
from rightseat.types.messages import text_message
from rightseat.types.stores import CheckpointStore
from rightseat.types.streams import closing
from rightseat.types.threads import RUN_RESTARTED
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.plugins.flows.conversations import make_flow

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="processes share no store on Windows")]
FLOW = """
name: f
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: POST /one}, next: two}
  - {name: two, call_type: api, params: {endpoint: POST /two}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "{steps}"}}
"""
ANY_ARGUMENTS = {"type": "object", "properties": {}}
OWNER = Owner("me")


@dataclass
class Workers:
    stores: list[SQLiteStore]
    calls: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def make_tool(self, name: str) -> Tool:
        async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
            self.calls.append(name)
            self.begun.set()
            await self.go_on.wait()
            yield Result({"n": name})

        return Tool(name, name, ANY_ARGUMENTS, call)

    async def run(
        self, number: int, answers: tuple[InterruptAnswer, ...] = (), *, is_taken_over: bool = False
    ) -> list[Event]:
        """What the flow answers at a worker."""
        services = FlowServices(
            model=FakeModel(reply_text("All done.")),
            operations={name: self.make_tool(name) for name in ("POST /one", "POST /two")},
            scripts={},
            flows={},
            databases={},
        )
        responder = FlowResponder("p.f", make_flow(FLOW), lambda flow, turn: services, self.stores[number])
        turn = Turn(messages=(text_message("user", "go"),), thread="t", owner=OWNER, answers=answers)
        turn = replace(turn, is_taken_over=is_taken_over)
        async with closing(responder(turn)) as events:
            return [event async for event in events]


@asynccontextmanager
async def start_workers(folder: Path) -> AsyncIterator[Workers]:
    from rightseat.stores.sqlite.shared import SharedSQLiteStore

    run_folder = folder / "run"
    run_folder.mkdir()
    stores: list[SQLiteStore] = [SharedSQLiteStore(folder, run_folder) for _ in range(2)]
    yield Workers(stores)
    for store in stores:
        await store.close()


async def run_at_both(workers: Workers) -> list[list[Event] | BaseException]:
    runs = [asyncio.create_task(workers.run(number)) for number in (0, 1, 0, 1)]
    await workers.begun.wait()
    # All of them have come to their end or to the first step.
    await asyncio.wait(runs, timeout=1, return_when=asyncio.FIRST_COMPLETED)
    workers.go_on.set()
    return await asyncio.gather(*runs, return_exceptions=True)


@pytest.mark.demand("scale.flow_progress")
async def test_of_requests_at_two_workers_at_once_one_runs_each_step(tmp_path: Path) -> None:
    async with start_workers(tmp_path) as workers:
        ends = await run_at_both(workers)
        assert workers.calls == ["POST /one", "POST /two"]
        assert sum(isinstance(end, Conflict) for end in ends) == 3, ends


@pytest.mark.demand("scale.flow_progress")
async def test_without_the_comparison_steps_would_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def overwrite(store: CheckpointStore, owner: Owner, key: str, _: Any, body: bytes | None) -> bool:
        await store.update_checkpoint(owner, key, lambda _: body)
        return True

    monkeypatch.setattr(checkpoint, "replace_checkpoint", overwrite)
    async with start_workers(tmp_path) as workers:
        await run_at_both(workers)
        assert len(workers.calls) > 2


@pytest.mark.demand("scale.flow_progress")
async def test_while_it_runs_at_one_worker_the_other_says_so_and_afterwards_it_is_free(tmp_path: Path) -> None:
    async with start_workers(tmp_path) as workers:
        running = asyncio.create_task(workers.run(0))
        await workers.begun.wait()
        with pytest.raises(Conflict):
            await workers.run(1)
        running.cancel()
        await asyncio.wait([running])
        # The step may have run: it is asked about at any worker.
        assert any(isinstance(event, Interrupt) for event in await workers.run(1))
        assert workers.calls == ["POST /one"]


@pytest.mark.demand("scale.flow_progress")
async def test_the_progress_of_a_dead_worker_is_gone_on_with(tmp_path: Path) -> None:
    async with start_workers(tmp_path) as workers:
        workers.go_on.set()
        flow, turn = make_flow(FLOW), Turn(messages=(), thread="t", owner=OWNER)
        key = make_checkpoint_key(flow, "go", turn)
        held = FlowCheckpoint(workers.stores[0], OWNER)
        progress = await held.begin(flow, "go", turn)
        assert progress.key == key
        await workers.stores[0].close()
        assert isinstance((await workers.run(1))[-1], RunFinished)
        assert workers.calls == ["POST /one", "POST /two"]


@pytest.mark.demand("scale.flows_go_on")
@pytest.mark.parametrize("is_taken_over", [True, False], ids=["taken over", "asked anew"])
async def test_a_run_that_was_taken_over_without_its_progress_runs_no_step(tmp_path: Path, is_taken_over: bool) -> None:
    async with start_workers(tmp_path) as workers:
        workers.go_on.set()
        events = await workers.run(1, is_taken_over=is_taken_over)
        assert (events == [RUN_RESTARTED]) is is_taken_over
        assert bool(workers.calls) is not is_taken_over


@pytest.mark.demand("scale.flows_go_on")
@pytest.mark.parametrize("is_taken_over", [True, False], ids=["taken over", "answered again"])
async def test_an_answer_whose_step_is_done_goes_on_where_its_run_was_taken_over(
    tmp_path: Path, is_taken_over: bool
) -> None:
    """The worker died after the question's step, and the question's continuation is settled."""
    async with start_workers(tmp_path) as workers:
        workers.go_on.set()
        flow, turn = make_flow(FLOW), Turn(messages=(), thread="t", owner=OWNER)
        held = FlowCheckpoint(workers.stores[0], OWNER)
        progress = await held.begin(flow, "go", turn)
        await held.save(progress.after_step(flow.steps["start"], StepOutput({"n": 1}), "two"))
        await workers.stores[0].close()
        answer = InterruptAnswer(f"ask_{'0' * 24}_1", payload={"approved": True})
        if is_taken_over:
            assert isinstance((await workers.run(1, (answer,), is_taken_over=True))[-1], RunFinished)
            assert workers.calls == ["POST /two"]
        else:
            with pytest.raises(ContinuationGone):
                await workers.run(1, (answer,))


@pytest.mark.demand("scale.flow_progress")
async def test_a_worker_that_was_declared_dead_saves_nothing_more(tmp_path: Path) -> None:
    async with start_workers(tmp_path) as workers:
        flow, turn = make_flow(FLOW), Turn(messages=(), thread="t", owner=OWNER)
        zombie = FlowCheckpoint(workers.stores[0], OWNER)
        progress = await zombie.begin(flow, "go", turn)
        workers.stores[1].find_dead = find_all_dead  # type: ignore[method-assign]
        heir = FlowCheckpoint(workers.stores[1], OWNER)
        taken: FlowProgress = await heir.begin(flow, "go", turn)
        assert (taken.run, taken.serial) == (progress.run, progress.serial + 1)
        with pytest.raises(Conflict):
            await zombie.save(progress)
        await zombie.close()
        await zombie.delete()
        await heir.save(taken)


@pytest.mark.demand("cluster.woken_replicas")
@pytest.mark.parametrize("is_guarded", [True, False], ids=["guarded", "twin without"])
async def test_a_worker_that_wakes_after_its_run_was_finished_elsewhere_goes_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    """The finished run has no progress any more, which looks like one that the store has dropped."""
    async with start_workers(tmp_path) as workers:
        first, second = workers.stores
        flow, turn = make_flow(FLOW), Turn(messages=(), thread="t", run="r", owner=OWNER, recording="never")
        await first.begin_run(OWNER, "t", "r", assistant="", name="")
        zombie = FlowCheckpoint(first, OWNER, turn if is_guarded else None)
        progress = await zombie.begin(flow, "go", turn)
        holder = await second.get_lease_holder(OWNER, "t")
        assert holder is not None
        lease = await second.take_over_run(OWNER, "t", holder)
        assert lease is not None
        # The first one is alive again: what it ran is free all the same.
        heir = FlowCheckpoint(second, OWNER, replace(turn, has_displaced_worker=True))
        taken = await heir.begin(flow, "go", turn, only_one=True)
        assert taken.run == progress.run
        await heir.delete()
        await heir.close()
        if is_guarded:
            with pytest.raises(Conflict):
                await zombie.save(progress)
        else:
            await zombie.save(progress)
        await zombie.close()
        second.append_entries(OWNER, "t", lease.last + 1, [RunFinished("stop")], lease.fence)


@pytest.mark.demand("cluster.woken_replicas")
async def test_a_worker_that_wakes_and_saves_does_not_end_the_run_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start_workers(tmp_path) as workers:
        first, second = workers.stores
        flow, turn = make_flow(FLOW), Turn(messages=(), thread="t", run="r", owner=OWNER)
        zombie = FlowCheckpoint(first, OWNER)
        progress = await zombie.begin(flow, "go", turn)
        heir = FlowCheckpoint(second, OWNER, replace(turn, has_displaced_worker=True))
        load, saved = heir.load_body, replace(progress, at="two")

        async def load_before_the_other_saves(key: str) -> bytes | None:
            body = await load(key)
            if zombie.held != replace(saved, runner=zombie.worker):
                await zombie.save(saved)
            return body

        monkeypatch.setattr(heir, "load_body", load_before_the_other_saves)
        taken = await heir.begin(flow, "go", turn, only_one=True)
        assert (taken.run, taken.at) == (progress.run, "two")
        with pytest.raises(Conflict):
            await zombie.save(saved)
        await zombie.close()
        await heir.close()


async def find_all_dead(workers: Any) -> set[str]:
    return set(workers)


class SlowStore(MemoryStore):
    """Store of one process whose writes are done before their callers know."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()
        self.go_on = asyncio.Event()

    async def update_checkpoint(
        self, owner: Owner, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
    ) -> None:
        await super().update_checkpoint(owner, key, update, seconds)
        self.written.set()
        await self.go_on.wait()


@pytest.mark.demand("scale.flow_progress")
async def test_a_client_that_leaves_while_a_run_begins_keeps_nobody_from_it() -> None:
    store, flow, turn = SlowStore(), make_flow(FLOW), Turn(messages=(), thread="t", owner=OWNER)
    left = FlowCheckpoint(store, OWNER)
    beginning = asyncio.create_task(left.begin(flow, "go", turn, only_one=True))
    await store.written.wait()
    beginning.cancel()
    await asyncio.wait([beginning])
    store.go_on.set()
    await left.close()
    body = await store.get_checkpoint(OWNER, make_checkpoint_key(flow, "go", turn))
    assert body is not None
    assert b"runner" not in body, "other workers may go on with it too"
    await FlowCheckpoint(store, OWNER).begin(flow, "go", turn, only_one=True)


@pytest.mark.demand("scale.flow_progress")
@pytest.mark.parametrize("is_freed", [False, True], ids=["at once", "after the store works again"])
async def test_a_run_that_a_failing_store_did_not_give_up_goes_on(
    monkeypatch: pytest.MonkeyPatch, is_freed: bool
) -> None:
    async def fail(*_: object) -> None:
        raise StoreFailed("The disk is full.")

    monkeypatch.setattr(checkpoint, "RELEASE_SECONDS", (0.001, 0.001) if is_freed else (HANG_TIMEOUT, HANG_TIMEOUT))
    store, flow, turn = MemoryStore(), make_flow(FLOW), Turn(messages=(), thread="t", owner=OWNER)
    failed = FlowCheckpoint(store, OWNER)
    begun = await failed.begin(flow, "go", turn, only_one=True)
    with pytest.raises(Conflict):
        await FlowCheckpoint(store, OWNER).begin(flow, "go", turn, only_one=True)
    with monkeypatch.context() as patched:
        patched.setattr(store, "update_checkpoint", fail)
        await failed.close()
        await asyncio.sleep(0.01)
    if is_freed:
        # Now another worker may go on with it too.
        await wait_until(lambda: b"runner" not in (store.checkpoints.get(OWNER, begun.key) or b"runner"))
    resumed = await FlowCheckpoint(store, OWNER).begin(flow, "go", turn, only_one=True)
    assert (resumed.run, resumed.serial) == (begun.run, begun.serial + 1)
    for task in checkpoint._releases:
        task.cancel()
