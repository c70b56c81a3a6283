"""What only a database has that several processes use: fences, presence by locks and beats, outages, deployments."""

import asyncio
import inspect
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rightseat.errors import ConfigError, RightseatError, StoreFailed
from rightseat.middleware.quota import Quota
from rightseat.middleware.shared_quota import SharedLedger
from rightseat.stores.postgres import clock, statements
from rightseat.stores.postgres import presence as presence_module
from rightseat.stores.postgres import schema as schema_module
from rightseat.stores.postgres.database import connect
from rightseat.stores.postgres.prepared import TextRow
from rightseat.stores.postgres.schema import MIGRATIONS, migrate, name_schema, read_version
from rightseat.stores.postgres.store import PostgresStore
from rightseat.stores.postgres.writer import EntryWriter
from rightseat.types.events import CallResult, RunFinished, TextDelta, TextStart
from rightseat.types.threads import RUN_NUMBERS, RUN_RESTARTED, LeaseLost, OrphanedRun, ThreadBusy, ThreadEntry
from rightseat.types.turn import Owner
from rightseat.wiring.storage import make_shared_ledger
from tests.contract.stores.members import make_schema_name
from tests.contract.stores.test_shared import Child
from tests.contract.stores.test_stores import TICKET, make_continuation
from tests.kit.postgres import PostgresServer, require_programs, run_server
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io
ME = Owner("me")
CHILD = Path(__file__).with_name("shared_child.py")
DURABLE = "AND (l.f = 0 OR h.fence = l.f)"


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    with run_server(require_programs()) as server:
        yield server


@asynccontextmanager
async def open_stores(url: str, schema: str, count: int = 2, **options: Any) -> AsyncIterator[list[PostgresStore]]:
    stores = [PostgresStore(url, schema=schema, **options) for _ in range(count)]
    try:
        yield stores
    finally:
        for store in stores:
            await store.close()


@asynccontextmanager
async def start_children(url: str, schema: str, count: int) -> AsyncIterator[list[Child]]:
    """Start processes that open the store at the same moment."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, str(CHILD), url, schema)
    children = [Child(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)) for _ in range(count)]
    try:
        yield children
    finally:
        for child in children:
            await child.kill()


def query(url: str, schema: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(name_schema(statement, schema))
        return cursor.fetchall() if cursor.description else []


def read_texts(url: str, schema: str) -> list[str]:
    return [body for (body,) in query(url, schema, "SELECT body FROM {s}.entries ORDER BY last")]


# Log before show, and fences


@pytest.mark.demand("cluster.postgres_store")
async def test_a_delta_is_in_the_database_when_its_reader_may_have_it(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        for number in range(1, 8):
            await store.append_entries(ME, "t", number, [TextDelta("m", f"{number} ")], lease.fence)
            assert len(read_texts(url, schema)) == number
            assert (await other.read_entries(ME, "t", number - 1))[-1] == (number, TextDelta("m", f"{number} "))


@pytest.mark.demand("cluster.postgres_store")
async def test_all_runs_of_a_window_are_one_statement(url: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_stores(url, schema, 1) as (store,):
        names = [f"t{number}" for number in range(20)]
        leases = {name: await store.begin_run(ME, name, "r", assistant="", name="") for name in names}
        await store.wait_idle()
        windows: list[dict[str, Any]] = []
        execute = EntryWriter.execute

        async def count(writer: EntryWriter, values: dict[str, Any]) -> list[TextRow]:
            windows.append(values)
            return await execute(writer, values)

        monkeypatch.setattr(EntryWriter, "execute", count)
        stored = []
        for number in range(1, 11):
            for name, lease in leases.items():
                stored.append(store.append_entries(ME, name, number, [TextDelta("m", f"{number} ")], lease.fence))
            await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.gather(*stored), HANG_TIMEOUT)
        assert len(windows) <= 3
        for name in names:
            entries = await store.read_entries(ME, name)
            texts = [entry.text for _, entry in entries if isinstance(entry, TextDelta)]
            assert "".join(texts).split() == [str(number) for number in range(1, 11)]


async def end_run_elsewhere(store: PostgresStore, other: PostgresStore) -> asyncio.Future[None]:
    """Take a thread over in the middle of its run, and append to it as its old process does."""
    lease = await store.begin_run(ME, "t", "r", assistant="", name="")
    await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
    assert await other.end_orphaned_runs({store.worker}) == [OrphanedRun(ME, "t", "r")]
    # Above all numbers of the thread: nothing but the fence refuses it.
    return store.append_entries(ME, "t", 2 * RUN_NUMBERS, [TextDelta("m", "late")], lease.fence)


@pytest.mark.demand("cluster.fence")
async def test_entries_of_a_lost_lease_are_refused_and_others_of_the_window_are_not(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        with pytest.raises(LeaseLost):
            await (await end_run_elsewhere(store, other))
        beside = await store.begin_run(ME, "beside", "r", assistant="", name="")
        late = store.append_entries(ME, "t", 3, [TextDelta("m", "late")], beside.fence)
        kept = store.append_entries(ME, "beside", 1, [TextDelta("m", "kept")], beside.fence)
        with pytest.raises(LeaseLost):
            await late
        await kept
        texts = "".join(read_texts(url, schema))
        assert "late" not in texts
        assert "kept" in texts


@pytest.mark.demand("cluster.fence")
async def test_without_the_fence_they_are_written(url: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert DURABLE in statements.APPEND_ENTRIES
    monkeypatch.setattr(statements, "APPEND_ENTRIES", statements.APPEND_ENTRIES.replace(DURABLE, ""))
    async with open_stores(url, schema) as (store, other):
        await (await end_run_elsewhere(store, other))
        assert "late" in "".join(read_texts(url, schema)), "the fence is what refuses them"


@pytest.mark.demand("cluster.fence")
async def test_a_thread_that_is_made_anew_has_a_fence_of_its_own(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        assert await other.delete_thread(ME, "t")
        again = await other.begin_run(ME, "t", "r2", assistant="", name="")
        assert again.fence > lease.fence
        with pytest.raises(LeaseLost):
            await store.append_entries(ME, "t", 2, [TextDelta("m", "late")], lease.fence)


@pytest.mark.demand("cluster.postgres_store")
async def test_a_window_that_is_written_twice_is_there_once(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1) as (store,):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        for _ in range(2):
            await store.append_entries(ME, "t", 1, [TextStart("m"), TextDelta("m", "a")], lease.fence)
        assert len(read_texts(url, schema)) == 2


async def test_a_text_may_have_any_character(url: str, schema: str) -> None:
    text = 'a\0b\ud7ff\ue000\ue001\U0001f600\u2028"\\u0000'
    async with open_stores(url, schema, 1) as (store,):
        lease = await store.begin_run(ME, text, text, assistant=text, name=text)
        await store.append_entries(ME, text, 1, [CallResult("c", text), RunFinished("stop")], lease.fence)
        assert await store.read_entries(ME, text) == [(1, CallResult("c", text)), (2, RunFinished("stop"))]
        await store.save_results(ME, {text: text, "lone": "\ud800"})
        assert await store.get_results(ME, [text, "lone"]) == {text: text, "lone": "\ud800"}
        assert [thread.id for thread in await store.list_threads(ME, assistant=text)] == [text]


# Presence


@pytest.mark.demand("cluster.presence")
async def test_who_has_left_or_was_never_there_is_dead(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1) as (store,):
        other = PostgresStore(url, schema=schema)
        assert await store.find_dead({other.worker, store.worker}) == set()
        await other.close()
        names = {other.worker, store.worker, "4711", "no name", "f" * 16}
        assert await store.find_dead(names) == names - {store.worker}


@pytest.mark.demand("cluster.presence")
async def test_a_killed_process_is_dead_and_its_runs_end_as_restarted(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1, lease_seconds=60) as (store,), start_children(url, schema, 1) as (child,):
        (worker,) = await child.read()
        assert (await child.ask("begin", "t"))[0] == "lease"
        assert await child.ask("say", "t", "5") == ["said", "5"]
        assert await find_by_lock(store, worker) == set(), "its lock says that it lives"
        await child.kill()
        async with asyncio.timeout(HANG_TIMEOUT):
            while not await find_by_lock(store, worker):
                pass
        assert await store.end_orphaned_runs({worker}) == [OrphanedRun(ME, "t", f"r-{worker}")]
        entries = await store.read_entries(ME, "t")
        assert entries[-1][1] == RUN_RESTARTED
        assert entries[-1][0] > RUN_NUMBERS
        assert await store.get_lease_holder(ME, "t") is None


async def find_by_lock(store: PostgresStore, worker: str) -> set[str]:
    """Ask who is dead by the lock alone, as if nobody had beaten for some time."""
    query(store.database.url, store.database.schema, "UPDATE {s}.replicas SET beat = now() - interval '4 seconds'")
    values = {"workers": [worker], "locks": [presence_module.parse_lock(worker)], "lease": 60, "silence": 3}
    # As if the server had run for longer than a lease.
    text = statements.FIND_DEAD.replace("pg_postmaster_start_time()", "to_timestamp(0)")
    return {row[0] for row in await store.database.execute(text, values)}


@pytest.mark.demand("cluster.presence")
async def test_a_process_that_the_database_cannot_reach_is_dead_after_the_lease(url: str, schema: str) -> None:
    async with open_stores(url, schema, lease_seconds=0.01) as (store, other):
        async with asyncio.timeout(HANG_TIMEOUT):
            # Although it holds its lock.
            while await store.find_dead({other.worker}) != {other.worker}:
                query(url, schema, "UPDATE {s}.replicas SET beat = now() - interval '1 hour'")


@pytest.mark.demand("cluster.presence")
async def test_a_blocked_event_loop_goes_on_beating(url: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_stores(url, schema, 1) as (store,), start_children(url, schema, 1) as (child,):
        (worker,) = await child.read()
        child.send("block")
        assert await child.read() == ["blocking"]
        beats: set[tuple[Any, ...]] = set()
        async with asyncio.timeout(HANG_TIMEOUT):
            while len(beats) < 3:
                beats |= set(query(url, schema, "SELECT id, beat FROM {s}.replicas"))
                beats = {beat for beat in beats if beat[0] == worker}
                await asyncio.sleep(0.05)
        assert await store.find_dead({worker}) == set()


@pytest.mark.demand("cluster.presence")
async def test_after_an_outage_nobody_is_judged_at_first(own_server: PostgresServer, schema: str) -> None:
    async with open_stores(own_server.url, schema) as (store, other):
        own_server.stop()
        await wait_until(lambda: store.presence.connection is None)
        assert await store.find_dead({other.worker}) == set()
        own_server.start()
        await wait_until(lambda: store.presence.connection is not None)
        query(own_server.url, schema, "UPDATE {s}.replicas SET beat = now() - interval '1 hour'")
        assert await store.find_dead({other.worker}) == set()
        # The same without the rule.
        store.presence.lease_seconds = 0.01
        async with asyncio.timeout(HANG_TIMEOUT):
            while await store.find_dead({other.worker}) != {other.worker}:
                store.presence.judges_after = 0.0
                query(own_server.url, schema, "UPDATE {s}.replicas SET beat = now() - interval '1 hour'")


# Outages


@pytest.mark.demand("cluster.outage")
async def test_an_outage_cuts_nothing_and_what_waited_is_kept(
    own_server: PostgresServer, schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "s3cret-word"
    url = own_server.url.replace("postgres@", f"postgres:{secret}@")
    caplog.set_level(logging.DEBUG)
    async with open_stores(url, schema, 1) as (store,):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        own_server.stop(signal.SIGQUIT)
        for number in range(2, 30):
            stored = store.append_entries(ME, "t", number, [TextDelta("m", f"{number} ")], lease.fence)
            await asyncio.wait_for(stored, HANG_TIMEOUT)
        assert "cannot be reached" in store.failure
        assert store.usable
        with pytest.raises(StoreFailed):
            await store.claim_continuation(ME, TICKET, "default", ["ask_1"])
        own_server.start()
        await wait_until(lambda: not store.writer.count and store.writer.task is None)
        entries = await store.read_entries(ME, "t")
        texts = "".join(entry.text for _, entry in entries if isinstance(entry, TextDelta))
        assert texts.split() == [str(number) for number in range(2, 30)]
        assert store.failure == ""
    assert secret not in caplog.text


@pytest.mark.demand("cluster.outage")
async def test_a_broken_connection_is_replaced_within_a_request(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1) as (store,):
        await store.save_continuation(make_continuation())
        for number in range(5):
            break_connections(url, schema)
            lease = await store.begin_run(ME, f"t{number}", "r", assistant="", name="")
            break_connections(url, schema)
            entries: list[ThreadEntry] = [CallResult("c", "7"), RunFinished("stop")]
            await store.append_entries(ME, f"t{number}", lease.before + 1, entries, lease.fence)
            break_connections(url, schema)
            assert len(await store.read_entries(ME, f"t{number}")) == 2
        break_connections(url, schema)
        claims = [store.claim_continuation(ME, TICKET, "default", ["ask_1"]) for _ in range(5)]
        claimed = await asyncio.gather(*claims)
        assert [claim for claim in claimed if claim] == [make_continuation()]


def break_connections(url: str, schema: str) -> None:
    """End the sessions that have used the tables of a schema."""
    query(
        url,
        schema,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND strpos(query, '{s}.') > 0",
    )


# Deployments and versions


@pytest.mark.demand("cluster.deployments_apart")
async def test_two_deployments_in_one_database_see_nothing_of_each_other(url: str) -> None:
    async with open_stores(url, make_schema_name(), 1) as (one,), open_stores(url, make_schema_name(), 1) as (two,):
        lease = await one.begin_run(ME, "t", "r", assistant="", name="")
        await one.append_entries(ME, "t", 1, [CallResult("c", "mine")], lease.fence)
        await one.save_continuation(make_continuation())
        await one.save_results(ME, {"c": "mine"})
        await one.save_checkpoint(ME, "t/k", b"mine")
        assert not await two.has_thread(ME, "t")
        assert await two.list_threads(ME) == []
        assert await two.read_entries(ME, "t") == []
        assert await two.list_lease_workers() == set()
        assert await two.end_orphaned_runs({one.worker}) == []
        assert await two.claim_continuation(ME, TICKET, "default", ["ask_1"]) is None
        assert await two.get_results(ME, ["c"]) == {}
        assert await two.get_checkpoint(ME, "t/k") is None
        assert await two.sweep.sweep()
        assert (await two.begin_run(ME, "t", "r", assistant="", name="")).before == 0
        await two.delete_thread(ME, "t")
        assert len(await one.read_entries(ME, "t")) == 1
        assert await one.get_results(ME, ["c"]) == {"c": "mine"}


@pytest.mark.parametrize("name", ["", "Upper", "a-b", "a;b", "x" * 56, '"a"', "1a", "a.b"])
def test_a_schema_is_a_plain_name(url: str, name: str) -> None:
    with pytest.raises(ConfigError, match=r"\[store\] schema"):
        PostgresStore(url, schema=name)


@pytest.mark.demand("cluster.migrations")
async def test_processes_that_start_at_once_migrate_once(url: str, schema: str) -> None:
    async with start_children(url, schema, 4) as children:
        workers = {(await child.read())[0] for child in children}
        assert len(workers) == 4
        for number, child in enumerate(children):
            assert (await child.ask("begin", f"t{number}"))[0] == "lease"
    assert query(url, schema, "SELECT version FROM {s}.schema_version") == [(len(MIGRATIONS),)]


@pytest.mark.demand("cluster.migrations")
async def test_two_versions_run_together_on_one_schema(url: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    next_steps = (*MIGRATIONS, "ALTER TABLE {s}.threads ADD COLUMN next text NOT NULL DEFAULT ''")
    async with open_stores(url, schema, 1) as (old,):
        lease = await old.begin_run(ME, "t", "r", assistant="", name="")
        with connect(url) as connection:
            assert migrate(connection, schema, "auto", next_steps) == (len(MIGRATIONS), len(next_steps))
            assert migrate(connection, schema, "never", next_steps) == (len(next_steps), len(next_steps))
        await old.append_entries(ME, "t", 1, [RunFinished("stop")], lease.fence)
        # One of the old version starts during the roll-out.
        async with open_stores(url, schema, 1) as (another,):
            assert (await another.begin_run(ME, "t", "r2", assistant="", name="")).before == 1
            assert (await another.begin_run(ME, "t2", "r", assistant="", name="")).before == 0
        with connect(url) as connection:
            migrate(connection, schema, "auto", (*next_steps, "SELECT 1"))
        with pytest.raises(ConfigError, match="newer rightseat"):
            PostgresStore(url, schema=schema)


@pytest.mark.demand("cluster.migrations")
def test_a_step_that_fails_leaves_no_trace(url: str, schema: str) -> None:
    with connect(url) as connection:
        with pytest.raises(psycopg.Error):
            migrate(connection, schema, "auto", (*MIGRATIONS, "CREATE TABLE {s}.x (y int); SELECT 1/0"))
        assert read_version(connection, schema) == 0
        with pytest.raises(ConfigError, match="rightseat store migrate"):
            migrate(connection, schema, "never")


# Isolation


@pytest.mark.demand("cluster.owner_in_every_statement")
def test_every_statement_names_its_owner() -> None:
    texts = {name: text for name, text in vars(statements).items() if name.isupper() and isinstance(text, str)}
    assert len(texts) > 30
    without = {name for name, text in texts.items() if "owner = " not in text and "%(owner)s" not in text}
    allowed = {name for name, text in texts.items() if text in statements.SWEEPS}
    assert without - allowed == set()
    assert allowed <= {*without, "LIST_ORPHANS"}, "what names an owner is no sweep"
    tables = [line for step in MIGRATIONS for line in step.split("CREATE TABLE")[1:]]
    keyed = [table for table in tables if "replicas" not in table.splitlines()[0]]
    assert all(table.splitlines()[1].strip().startswith("owner text") for table in keyed)
    assert all("PRIMARY KEY (owner" in table or "owner text PRIMARY KEY" in table for table in keyed)
    others = [module for module in (schema_module, presence_module) if "{s}.threads" in inspect.getsource(module)]
    assert others == [schema_module], "statements are in one place"


@pytest.mark.demand("cluster.owner_in_every_statement")
async def test_callers_that_leave_never_give_their_reply_to_another(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1, pool=4) as (store,):
        owners = [Owner(f"owner{number}") for number in range(20)]
        for owner in owners:
            await store.save_results(owner, {"c": f"canary of {owner.name}"})
        for step in range(10):
            tasks = [asyncio.create_task(store.get_results(owner, ["c"])) for owner in owners]
            for _ in range(step):
                await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.wait(tasks)
            for owner, task in zip(owners, tasks, strict=True):
                if not task.cancelled():
                    assert task.result() == {"c": f"canary of {owner.name}"}


@pytest.mark.demand("cluster.credentials_unseen")
def test_an_address_that_cannot_be_used_is_said_without_its_password(tmp_path: Path) -> None:
    secret = "s3cret-word"
    addresses = [
        f"postgresql://me:{secret}@127.0.0.1:1/things",
        f"postgresql://me:{secret}@/things?host={tmp_path}",
        f"postgresql://me:{secret}@host:port:more/things",
        f"postgresql://me:{secret}/x@127.0.0.1/things",
        f"postgresql://me:@{secret}@127.0.0.1/things",
        f"postgresql://me:?{secret}@127.0.0.1/things",
        f"postgresql://me:#{secret}@127.0.0.1/things",
        f"postgresql://me:%zz{secret}@127.0.0.1/things",
        f"{secret} is no address",
    ]
    for address in addresses:
        with pytest.raises(ConfigError, match=r"\[store\] url") as refused:
            PostgresStore(address)
        assert secret not in str(refused.value)
        assert refused.value.__suppress_context__


# Limits


@pytest.mark.demand("cluster.limits_hold_together")
async def test_a_quota_is_exact_over_three_processes(url: str, schema: str) -> None:
    async with open_stores(url, schema, 3) as stores:
        ledgers = [SharedLedger(store, store.presence) for store in stores]
        quota = Quota(requests_per_minute=100)
        now = time.time()
        for ledger in ledgers:
            ledger.wall_clock = lambda: now
        tries = [ledgers[number % 3].admit(ME, quota) for number in range(1000)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(result, RightseatError) for result in results) == 900
        assert sum(not isinstance(result, BaseException) for result in results) == 100


@pytest.mark.demand("cluster.clocks_do_not_matter")
async def test_quotas_are_counted_by_the_clock_of_the_database(
    url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stores(url, schema, 1) as (store,):
        monkeypatch.setattr(time, "time", lambda: 0.0)
        monkeypatch.setattr(clock, "PRECISE_SECONDS", HANG_TIMEOUT)
        ledger = make_shared_ledger(store)
        assert isinstance(ledger, SharedLedger)
        ((now,),) = query(url, schema, "SELECT extract(epoch FROM clock_timestamp())::float8")
        assert abs(ledger.wall_clock() - now) < HANG_TIMEOUT
        # Measured again while it is used: clocks drift.
        store.server_clock.measured, store.server_clock.offset = float("-inf"), 0.0
        ledger.wall_clock()
        await wait_until(lambda: abs(ledger.wall_clock() - now) < HANG_TIMEOUT)


@pytest.mark.demand("cluster.limits_hold_together")
async def test_one_process_at_a_time_deletes_what_is_old(url: str, schema: str) -> None:
    async with open_stores(url, schema, lifetime=0.001) as (store, other):
        await store.save_results(ME, {f"c{number}": "x" for number in range(1200)})
        async with store.database.session() as session:
            await session.execute(statements.TRY_SWEEP, {"schema": schema})
            assert not await other.sweep.sweep()
            assert query(url, schema, "SELECT count(*) FROM {s}.kept") == [(1200,)]
            await session.execute(statements.END_SWEEP, {"schema": schema})
        assert await other.sweep.sweep()
        assert query(url, schema, "SELECT count(*) FROM {s}.kept") == [(0,)]


@pytest.mark.demand("cluster.limits_hold_together")
async def test_a_process_has_no_more_connections_than_it_may(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1, pool=6) as (store,):
        count = "SELECT count(*) FROM pg_stat_activity WHERE strpos(query, '{s}.') > 0 AND pid <> pg_backend_pid()"
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        for _ in range(5):
            await asyncio.gather(*(store.read_entries(ME, "t") for _ in range(200)))
            [(connections,)] = query(url, schema, count)
            assert connections <= 5


async def test_a_busy_thread_is_busy_at_the_other_too(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        with pytest.raises(ThreadBusy) as busy:
            await other.begin_run(ME, "t", "r2", assistant="", name="")
        assert (busy.value.holder.worker, busy.value.holder.fence) == (store.worker, lease.fence)
