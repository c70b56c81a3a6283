"""Records of runs in PostgreSQL: written with the lease, deleted after the run's end."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat import Runtime, Turn, text_message
from rightseat.live.memory import MemoryHub, MemoryPlane
from rightseat.runtime.shared_threads import SharedThreadRuns
from rightseat.stores.postgres.prepared import TextRow
from rightseat.stores.postgres.records import RecordTable
from rightseat.stores.postgres.store import PostgresStore
from rightseat.stores.postgres.writer import EntryWriter
from rightseat.types.events import Event, RunFinished, RunStarted, TextDelta
from rightseat.types.threads import (
    RUN_RESTARTED,
    LeaseHolder,
    LeaseLost,
    NumberedEntry,
    RunEnded,
    ThreadBusy,
    ThreadEntry,
    UserInput,
    make_resume_key,
)
from tests.contract.stores.sample_runs import ME
from tests.contract.stores.test_postgres import open_stores, query
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.runtime.shared_workers import GatedModel, ListedPresence

pytestmark = pytest.mark.io
KEY = make_resume_key("t", "r")


async def begin(store: PostgresStore, run: str = "r", record: bytes = b"{}") -> int:
    lease = await store.begin_recorded_run(ME, "t", run, assistant="", name="", digest="d", record=record)
    return lease.fence


@pytest.mark.demand("cluster.recorded_leases")
async def test_a_lease_has_its_record_until_the_run_has_ended(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        fence = await begin(store, record=b"one")
        assert await other.get_checkpoint(ME, KEY) == b"one"
        await store.append_entries(ME, "t", 1, [RunStarted("t", "r"), TextDelta("m", "a")], fence)
        assert await other.get_checkpoint(ME, KEY) == b"one"
        await store.append_entries(ME, "t", 3, [RunFinished("stop")], fence)
        await store.wait_idle()
        assert await other.get_checkpoint(ME, KEY) is None
        assert not store.writer.logs
        # On a thread that is there, in a part of several entries.
        fence = await begin(other, "r2", b"two")
        assert await store.get_checkpoint(ME, make_resume_key("t", "r2")) == b"two"
        await other.append_entries(ME, "t", 4, [TextDelta("m", "a"), RunFinished("stop")], fence)
        await other.wait_idle()
        assert await store.get_checkpoint(ME, make_resume_key("t", "r2")) is None


async def test_the_input_of_a_recorded_run_does_not_wait_for_the_disk(
    url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record has it, and is on the disk with the lease."""
    commits: list[bytes | None] = []
    execute = EntryWriter.execute

    async def note(writer: EntryWriter, values: dict[str, bytes | None]) -> list[TextRow]:
        commits.append(values["commit"])
        return await execute(writer, values)

    monkeypatch.setattr(EntryWriter, "execute", note)
    beginning: list[ThreadEntry] = [UserInput((text_message("user", "hi"),)), RunStarted("t", "r")]
    async with open_stores(url, schema, 1) as (store,):
        fence = await begin(store)
        await store.append_entries(ME, "t", 1, beginning, fence)
        await store.append_entries(ME, "t", 3, [RunFinished("stop")], fence)
        lease = await store.begin_run(ME, "u", "r", assistant="", name="")
        await store.append_entries(ME, "u", 1, beginning, lease.fence)
    assert commits == [b"off", b"on", b"on"]


async def test_whoever_is_refused_leaves_no_record(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        fence = await begin(store)
        with pytest.raises(ThreadBusy):
            await begin(other, "r2")
        assert await store.get_checkpoint(ME, make_resume_key("t", "r2")) is None
        await store.append_entries(ME, "t", 1, [TextDelta("m", "a"), RunFinished("stop")], fence)
        await store.wait_idle()
        with pytest.raises(RunEnded):
            await begin(other)
        assert await store.get_checkpoint(ME, KEY) is None


async def test_whoever_leaves_while_it_begins_leaves_no_record(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1) as (store,):
        await begin(store, "before")
        await store.append_entries(ME, "t", 1, [RunFinished("stop")], 1)
        for pause in range(12):
            task = asyncio.create_task(begin(store, f"r{pause}"))
            for _ in range(pause):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await store.wait_idle()
            if not task.cancelled():
                await store.append_entries(ME, "t", pause + 2, [RunFinished("stop")], task.result())
        assert await store.get_lease_holder(ME, "t") is None
        assert query(url, schema, "SELECT key FROM {s}.kept") == []


async def test_a_run_that_failed_before_it_did_anything_is_recorded_again(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        fence = await begin(store)
        await store.append_entries(ME, "t", 1, [RunStarted("t", "r")], fence)
        assert await other.end_orphaned_runs({store.worker})
        query(url, schema, "DELETE FROM {s}.entries WHERE strpos(body, 'RunFailed') > 0")
        await begin(other, record=b"again")
        assert await store.get_checkpoint(ME, KEY) == b"again"


async def test_the_end_of_a_lost_lease_deletes_no_record(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        fence = await begin(store)
        holder = await other.get_lease_holder(ME, "t")
        assert isinstance(holder, LeaseHolder)
        assert await other.take_over_run(ME, "t", holder) is not None
        with pytest.raises(LeaseLost):
            await store.append_entries(ME, "t", 1, [RunFinished("stop")], fence)
        assert await other.get_checkpoint(ME, KEY) == b"{}"
        assert not store.writer.logs


# A worker that dies at once


def make_runs(store: PostgresStore, hub: MemoryHub, dead: set[str], runtime: Runtime) -> SharedThreadRuns:
    plane = MemoryPlane(hub, store.worker)
    runs = SharedThreadRuns(store, plane=plane, presence=ListedPresence(store.worker, dead))
    runs.get_runner = lambda turn: runtime.run
    return runs


@pytest.mark.demand("cluster.recorded_leases")
@pytest.mark.parametrize("has_recorded_lease", [True, False])
async def test_a_run_whose_worker_dies_with_its_lease_goes_on(
    has_recorded_lease: bool, url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker ends before it can send another statement. Without the record in the first one its run is over."""

    is_over = asyncio.Event()

    async def never(*_: object) -> None:
        await is_over.wait()

    async with open_stores(url, schema) as (store, other):
        hub, dead, model = MemoryHub(), set[str](), GatedModel()
        runtime = Runtime(model=model)
        here, there = (make_runs(each, hub, dead, runtime) for each in (store, other))
        if not has_recorded_lease:
            here.recorded_leases = None
        with monkeypatch.context() as patch:
            patch.setattr(RecordTable, "update_checkpoint", never)
            turn = Turn(messages=(text_message("user", "hi"),), thread="t", run="r", owner=ME)
            is_asked = asyncio.Event()
            task = asyncio.create_task(start(here, turn, is_asked))
            await asyncio.wait_for(is_asked.wait(), HANG_TIMEOUT)
            dead.add(store.worker)
            hub.planes.pop(store.worker, None)
        try:
            await there.settle_dead_workers({store.worker})
            model.say("one", None)
            entries = [entry async for _, entry in there.follow(ME, "t")]
            assert entries[-1] == RUN_RESTARTED if not has_recorded_lease else isinstance(entries[-1], RunFinished)
        finally:
            is_over.set()
        task.cancel()
        await asyncio.wait([task])
        await asyncio.gather(here.close(), there.close())


async def start(runs: SharedThreadRuns, turn: Turn, is_asked: asyncio.Event) -> list[NumberedEntry]:
    async def hang(turn: Turn) -> AsyncIterator[Event]:
        is_asked.set()
        await asyncio.Event().wait()
        yield RunStarted("t", "r")

    return [item async for item in await runs.start(turn, hang)]
