"""A process that the others may take for dead begins no effect: it waits until the database confirms that it runs."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import rightseat
from rightseat import Runtime
from rightseat.errors import StoreFailed
from rightseat.stores.memory import MemoryStore
from rightseat.stores.postgres import presence
from rightseat.stores.postgres.store import PostgresStore
from rightseat.stores.sqlite.store import SQLiteStore
from rightseat.testing import ScriptedModel
from rightseat.types.fencing import FencedStore, RunLease, begin_effect, current_lease
from rightseat.types.stores import ContinuationClaim
from tests.contract.stores.members import make_schema_name
from tests.contract.stores.test_stores import ME, TICKET, make_continuation
from tests.faults.test_flow_takeover import EffectSink
from tests.kit.app_server import serve_app
from tests.kit.client import RawHttpClient
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.postgres import get_session_server
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.timeout(300)]
LEASE_SECONDS = 4.0


class CutOff:
    """A store whose sign of life goes by a relay, while everything else reaches the database."""

    def __init__(self, store: PostgresStore, relay: FaultyRelay) -> None:
        self.store = store
        self.relay = relay
        self.waits = 0
        """How often an effect has waited for the database's word."""
        confirm = store.presence.confirm

        async def count_waits() -> int:
            self.waits += not store.is_confirmed
            return await confirm()

        store.presence.confirm = count_waits  # type: ignore[method-assign]

    async def cut(self) -> None:
        """Let no sign of life through until nobody can know that this process runs."""
        self.relay.is_silent = True
        await wait_until(lambda: not self.store.is_confirmed)

    async def heal(self) -> None:
        """Let the next sign of life through: the connection that was silent is replaced."""
        self.relay.is_silent = False
        self.relay.reset_connections()
        await wait_until(lambda: self.store.is_confirmed)


@pytest.fixture
async def cut_off() -> AsyncIterator[CutOff]:
    server = get_session_server()
    async with FaultyRelay(server.home / ".s.PGSQL.5432") as relay:
        url = f"postgresql://postgres@127.0.0.1:{relay.port}/postgres"
        store = await asyncio.to_thread(PostgresStore, url, schema=make_schema_name(), lease_seconds=LEASE_SECONDS)
        # From here on only the sign of life is behind the relay.
        store.database.url = server.url
        try:
            yield CutOff(store, relay)
        finally:
            relay.reset_connections()
            await store.close()


@asynccontextmanager
async def serve_payments(store: PostgresStore) -> AsyncIterator[tuple[Runtime, EffectSink]]:
    """A runtime whose model calls a tool that has an effect at a server, which counts."""
    sink = EffectSink()
    async with serve_app(sink) as url:

        @rightseat.tool
        async def pay() -> str:
            """Pay."""
            async with RawHttpClient(url) as client:
                await client.post_json("/payments?customer=anna", {})
                await client.read_head()
            return "paid"

        async with Runtime(model=ScriptedModel(("pay", {}), "done"), tools=[pay], store=store) as runtime:
            yield runtime, sink


@pytest.mark.demand("cluster.self_fencing")
async def test_an_effect_waits_until_the_process_is_known_alive(cut_off: CutOff) -> None:
    async with serve_payments(cut_off.store) as (runtime, sink):
        await cut_off.cut()
        asked = asyncio.create_task(runtime.ask("Pay."))
        await wait_until(lambda: cut_off.waits or sink.effects)
        assert not sink.effects
        await cut_off.heal()
        answer = await asked
        assert [call.result for call in answer.tool_calls] == ["paid"]
        assert sink.effects.total() == 1


@pytest.mark.demand("cluster.self_fencing")
async def test_an_effect_that_waits_too_long_is_not_begun(cut_off: CutOff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "CONFIRM_SECONDS", 0.1)
    async with serve_payments(cut_off.store) as (runtime, sink):
        await cut_off.cut()
        answer = await runtime.ask("Pay.")
        assert [call.failed for call in answer.tool_calls] == [True]
        assert "store_failed" in (answer.tool_calls[0].result or "")
        assert not sink.effects


@pytest.mark.demand("cluster.self_fencing")
async def test_an_effect_of_a_run_that_another_process_has_is_not_begun(cut_off: CutOff) -> None:
    store, notes = cut_off.store, 0

    async def note() -> None:
        nonlocal notes
        notes += 1

    async with AsyncExitStack() as stack:
        other = await asyncio.to_thread(
            PostgresStore, get_session_server().url, schema=store.database.schema, lease_seconds=LEASE_SECONDS
        )
        stack.push_async_callback(other.close)
        lease = await store.begin_run(ME, "t", "r", assistant="a", name="n")
        current_lease.set(RunLease(ME, "t", lease.fence))
        await begin_effect(store, note)
        assert notes == 1
        holder = await other.get_lease_holder(ME, "t")
        assert holder is not None
        assert await other.take_over_run(ME, "t", holder)
        with pytest.raises(StoreFailed):
            await begin_effect(store, note)
        assert notes == 1


@pytest.mark.demand("cluster.self_fencing")
async def test_an_effect_of_an_answer_that_another_process_has_is_not_begun(cut_off: CutOff) -> None:
    store, notes = cut_off.store, 0

    async def note() -> None:
        nonlocal notes
        notes += 1

    async def find_all_dead(workers: Collection[str]) -> set[str]:
        return set(workers)

    other = await asyncio.to_thread(PostgresStore, get_session_server().url, schema=store.database.schema)
    try:
        await store.save_continuation(make_continuation())
        continuation = await store.claim_continuation(ME, TICKET, "default", ["ask_1"])
        assert continuation is not None
        claim = ContinuationClaim(store, continuation)
        await begin_effect(store, note, claim)
        assert notes == 1
        other.records.find_dead = find_all_dead
        assert await other.claim_continuation(ME, TICKET, "default", ["ask_1"])
        with pytest.raises(StoreFailed):
            await begin_effect(store, note, claim)
        assert notes == 1
    finally:
        await other.close()


@pytest.mark.demand("cluster.self_fencing")
async def test_a_process_that_stood_still_looks_again(cut_off: CutOff) -> None:
    """Between the note and the effect the others may have taken the process for dead."""
    notes = 0

    async def note() -> None:
        nonlocal notes
        notes += 1
        if notes == 1:
            await cut_off.cut()
            await cut_off.heal()

    lapses = cut_off.store.lapses
    await begin_effect(cut_off.store, note)
    assert notes == 2
    assert cut_off.store.lapses > lapses


async def test_a_process_that_leaves_begins_nothing(cut_off: CutOff) -> None:
    await cut_off.store.leave()
    with pytest.raises(StoreFailed):
        await cut_off.store.confirm_presence()


async def test_locks_of_the_kernel_do_not_lapse(tmp_path: Path) -> None:
    sqlite = SQLiteStore(tmp_path)
    assert not isinstance(sqlite, FencedStore)
    assert not isinstance(MemoryStore(), FencedStore)
    await sqlite.close()
