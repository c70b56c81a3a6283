"""The store in PostgreSQL while its server is away: what waits, what is shown, what is kept afterwards."""

import asyncio
import io
import logging
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest

from rightseat.cli.log import ConsoleFormatter
from rightseat.errors import StoreFailed
from rightseat.http.endpoint import REQUEST_ID
from rightseat.stores.postgres import database, presence, writer
from rightseat.stores.postgres.database import PostgresDatabase, Row
from rightseat.stores.postgres.lease_log import LeaseLog
from rightseat.stores.postgres.prepared import PreparedStatement, TextRow
from rightseat.stores.postgres.store import PostgresStore
from rightseat.types.events import CallResult, RunFinished, TextDelta, TextStart
from rightseat.types.threads import LeaseLost, NumberedEntry, RequestedStop
from rightseat.types.turn import Owner
from tests.contract.stores.test_postgres import end_run_elsewhere, open_stores
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.postgres import get_session_server
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io
ME = Owner("me")


@asynccontextmanager
async def open_behind(relay: FaultyRelay, schema: str, count: int) -> AsyncIterator[list[PostgresStore]]:
    """Open stores behind a relay of this process. They connect in a thread: the relay needs the event loop."""
    url = f"postgresql://postgres@127.0.0.1:{relay.port}/postgres"
    stores = [await asyncio.to_thread(PostgresStore, url, schema=schema) for _ in range(count)]
    try:
        yield stores
    finally:
        for store in stores:
            await store.close()


@pytest.mark.demand("cluster.woken_replicas")
@pytest.mark.parametrize("notices", [True, False], ids=["the answer is looked at", "twin: the time is over"])
async def test_who_wakes_shows_nothing_that_the_database_has_refused(
    url: str, schema: str, monkeypatch: pytest.MonkeyPatch, notices: bool
) -> None:
    monkeypatch.setattr(writer, "MAX_HOLD_SECONDS", 0.2)
    monkeypatch.setattr(writer, "STANDSTILL_SECONDS", 0.1 if notices else float("inf"))
    async with open_stores(url, schema) as (store, other):
        send = PreparedStatement.send

        def send_and_stand_still(statement: PreparedStatement) -> None:
            send(statement)
            # As a process that is stopped: no timer and no answer is looked at.
            time.sleep(0.6)

        late = await end_run_elsewhere(store, other)
        monkeypatch.setattr(PreparedStatement, "send", send_and_stand_still)
        if notices:
            with pytest.raises(LeaseLost):
                await late
        else:
            await late


@pytest.mark.demand("cluster.outage")
@pytest.mark.parametrize("joins", [False, True], ids=["written again as it was", "twin: written with what came later"])
async def test_a_window_whose_acknowledgement_is_lost_is_there_once(
    url: str, schema: str, monkeypatch: pytest.MonkeyPatch, joins: bool
) -> None:
    async with open_stores(url, schema, 1) as (store,):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        run, put_back = PreparedStatement.run, store.writer.put_back
        is_lost, has_failed = True, asyncio.Event()

        async def lose_answer(statement: PreparedStatement, values: dict[str, bytes | None]) -> list[TextRow]:
            rows = await run(statement, values)
            if is_lost:
                raise psycopg.OperationalError("the connection is lost")
            return rows

        def note_failure(window: list[tuple[LeaseLog, list[NumberedEntry]]]) -> None:
            put_back(window)
            has_failed.set()
            if joins:
                ((_, numbered),) = store.writer.failed
                for lease in store.writer.unwritten:
                    numbered += lease.take()
                store.writer.unwritten = []

        monkeypatch.setattr(PreparedStatement, "run", lose_answer)
        monkeypatch.setattr(store.writer, "put_back", note_failure)
        for number in range(2, 40):
            store.append_entries(ME, "t", number, [TextDelta("m", f"{number} ")], lease.fence)
            if number == 10:
                # The first window has these, and the others wait.
                await wait_until(lambda: store.writer.task is not None)
        await asyncio.wait_for(has_failed.wait(), HANG_TIMEOUT)
        is_lost = False
        await wait_until(lambda: not store.writer.count and store.writer.task is None)
        entries = await store.read_entries(ME, "t")
        texts = "".join(entry.text for _, entry in entries if isinstance(entry, TextDelta)).split()
        assert (texts == [str(number) for number in range(2, 40)]) is not joins


@pytest.mark.demand("cluster.outage_is_bounded")
async def test_what_waits_is_bounded_and_what_is_not_kept_is_said(
    schema: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "MAX_UNWRITTEN", 100)
    monkeypatch.setattr(writer, "MAX_UNWRITTEN_BYTES", 50_000)
    monkeypatch.setattr(writer, "MAX_WINDOW_ENTRIES", 20)
    async with (
        FaultyRelay(get_session_server().home / ".s.PGSQL.5432") as relay,
        open_behind(relay, schema, 1) as (store,),
    ):
        leases = {name: await store.begin_run(ME, name, "r", assistant="", name="") for name in "tu"}
        async with relay.refuse():
            for number in range(1, 300):
                await store.append_entries(ME, "t", number, [TextDelta("m", "x")], leases["t"].fence)
                assert store.writer.count <= 100 + 1
            for number in range(1, 30):
                await store.append_entries(ME, "u", number, [CallResult("c", "y" * 9000)], leases["u"].fence)
                assert store.writer.size <= 50_000 + 10_000
            for name, lease in leases.items():
                await store.append_entries(ME, name, 300, [RunFinished("stop")], lease.fence)
            state = store.get_state()
            assert (state.state, state.not_kept > 200) == ("away", True)
            assert caplog.text.count("are not kept") == 1
        await wait_until(lambda: not store.writer.count and store.writer.task is None)
        for name in "tu":
            entries = await store.read_entries(ME, name)
            assert entries[-1] == (300, RunFinished("stop"))
            numbers = [number for number, _ in entries]
            assert numbers == sorted(set(numbers))
            assert await store.get_lease_holder(ME, name) is None


@pytest.mark.demand("cluster.outage")
async def test_an_outage_is_said_once_and_so_is_its_end(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LONGEST_RETRY_PAUSE", 0.1)
    monkeypatch.setattr(writer, "MAX_WINDOW_ENTRIES", 20)
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(ConsoleFormatter())
    monkeypatch.setattr(writer.log, "handlers", [handler])
    async with (
        FaultyRelay(get_session_server().home / ".s.PGSQL.5432") as relay,
        open_behind(relay, schema, 1) as (store,),
    ):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        REQUEST_ID.set("req-of-one")
        failures, put_back = 0, store.writer.put_back

        def count_failure(window: list[tuple[LeaseLog, list[NumberedEntry]]]) -> None:
            nonlocal failures
            failures += 1
            put_back(window)

        monkeypatch.setattr(store.writer, "put_back", count_failure)
        async with relay.refuse():
            for number in range(1, 51):
                await store.append_entries(ME, "t", number, [CallResult("c", "y")], lease.fence)
            await wait_until(lambda: failures > 3)
            assert lines.getvalue().count("wait to be kept") == 1
        await wait_until(lambda: not store.writer.count and store.writer.task is None)
    said = lines.getvalue()
    assert said.count("wait to be kept") == 1, said
    assert said.count("50 entries of threads that waited are kept, 0 are not") == 1, said
    assert "req-of-one" not in said


@pytest.mark.demand("cluster.outage")
async def test_a_half_open_connection_is_given_up(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        FaultyRelay(get_session_server().home / ".s.PGSQL.5432") as relay,
        open_behind(relay, schema, 2) as (store, other),
    ):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        # Short only while nothing answers: a busy machine may take half a second for what is well.
        with monkeypatch.context() as short:
            short.setattr(PostgresDatabase.fetch_rows, "__defaults__", (0.5,))
            short.setattr(presence, "HANG_UP_SECONDS", 0.5)
            short.setattr(writer, "STATEMENT_SECONDS", 0.5)
            async with relay.be_silent():
                for number in range(1, 9):
                    stored = store.append_entries(ME, "t", number, [TextDelta("m", f"{number} ")], lease.fence)
                    await asyncio.wait_for(stored, HANG_TIMEOUT)
                with pytest.raises(StoreFailed):
                    await store.list_threads(ME)
                await wait_until(lambda: store.presence.connection is None and other.presence.connection is None)
        await wait_until(lambda: not store.writer.count and store.writer.task is None)
        await wait_until(lambda: store.presence.connection is not None)
        assert await store.find_dead({other.worker}) == set()
        entries = await asyncio.wait_for(read_when_back(store), HANG_TIMEOUT)
        assert "".join(entry.text for _, entry in entries if isinstance(entry, TextDelta)) == "1 2 3 4 5 6 7 8 "


@pytest.mark.demand("cluster.outage")
async def test_a_connection_that_is_half_open_from_the_beginning_is_given_up(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool makes one connection at a time: statements would wait for that one."""
    monkeypatch.setattr(database, "CONNECT_SECONDS", 1)
    silences = 0
    async with (
        FaultyRelay(get_session_server().home / ".s.PGSQL.5432") as relay,
        open_behind(relay, schema, 1) as (store,),
    ):
        configure = store.database.configure

        async def configure_in_silence(connection: psycopg.AsyncConnection[Row]) -> None:
            nonlocal silences
            silences += 1
            if silences > 1:
                await configure(connection)
                return
            async with relay.be_silent():
                await configure(connection)

        monkeypatch.setattr(store.database, "configure", configure_in_silence)
        await asyncio.wait_for(read_when_back(store), HANG_TIMEOUT)
        assert silences > 1


async def read_when_back(store: PostgresStore) -> list[NumberedEntry]:
    """Read a thread as a client that tries again: connections begun during the outage may still fail."""
    while True:
        try:
            return await store.read_entries(ME, "t")
        except StoreFailed:
            await asyncio.sleep(0.1)


@pytest.mark.demand("cluster.stop_is_kept")
async def test_a_stop_is_kept_for_its_run_only(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        assert not await other.request_stop(ME, "t", "another")
        assert await store.list_stop_requests() == []
        assert await other.request_stop(ME, "t", "r")
        assert await store.list_stop_requests() == [RequestedStop(ME, "t", "r")]
        assert await other.list_stop_requests() == []
        holder = await other.get_lease_holder(ME, "t")
        assert holder is not None
        assert await other.take_over_run(ME, "t", holder) is not None
        assert await store.list_stop_requests() == []
        assert await other.list_stop_requests() == [RequestedStop(ME, "t", "r")]
        await other.append_entries(ME, "t", 1, [RunFinished("stop")], lease.fence + 1)
        await store.begin_run(ME, "t", "r2", assistant="", name="")
        assert await store.list_stop_requests() == []


@pytest.mark.demand("cluster.outage")
@pytest.mark.parametrize("is_limited", [True, False], ids=["given up", "twin: without a limit"])
async def test_a_transaction_on_a_half_open_connection_is_given_up(
    schema: str, monkeypatch: pytest.MonkeyPatch, is_limited: bool
) -> None:
    async with (
        FaultyRelay(get_session_server().home / ".s.PGSQL.5432") as relay,
        open_behind(relay, schema, 1) as (store,),
    ):
        await store.save_checkpoint(ME, "key", b"one")
        monkeypatch.setattr(database, "STATEMENT_SECONDS", 0.5 if is_limited else float("inf"))
        async with relay.be_silent():
            saved = asyncio.create_task(store.save_checkpoint(ME, "key", b"two"))
            await asyncio.wait([saved], timeout=HANG_TIMEOUT if is_limited else 3)
            assert saved.done() is is_limited
            relay.reset_connections()
            with pytest.raises(StoreFailed):
                await saved


@pytest.mark.demand("cluster.partitions")
@pytest.mark.parametrize("is_watched", [True, False], ids=["told", "twin: nobody listens"])
async def test_who_was_cut_off_learns_that_its_run_is_another_s(url: str, schema: str, is_watched: bool) -> None:
    losses: list[tuple[str, str, int]] = []
    async with (
        FaultyRelay(get_session_server().home / ".s.PGSQL.5432") as relay,
        open_behind(relay, schema, 1) as (store,),
        open_stores(url, schema, 1) as (other,),
    ):
        if is_watched:
            store.lost_listeners.append(lambda owner, thread, fence: losses.append((owner, thread, fence)))
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        kept = await store.begin_run(ME, "u", "r", assistant="", name="")
        async with relay.refuse():
            # Shown: the database is away.
            await store.append_entries(ME, "t", 1, [TextDelta("m", "x")], lease.fence)
            await store.append_entries(ME, "u", 1, [TextDelta("m", "y")], kept.fence)
            holder = await other.get_lease_holder(ME, "t")
            assert holder is not None
            assert await other.take_over_run(ME, "t", holder) is not None
        await wait_until(lambda: not store.writer.count and store.writer.task is None)
        assert losses == ([(ME.name, "t", lease.fence)] if is_watched else [])
        assert await store.read_entries(ME, "t") == []
        assert await store.read_entries(ME, "u") == [(1, TextDelta("m", "y"))]


async def test_a_statement_that_has_ended_leaves_its_descriptor_to_others(url: str) -> None:
    """The library closes the socket of a lost connection itself, and the next one may have the same number."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        statement = PreparedStatement(connection, b"SELECT 1").open()
        assert await statement.run({}) == [(b"1",)]
        statement.fail(psycopg.OperationalError("the connection is lost"))
        loop = asyncio.get_running_loop()
        loop.add_reader(connection.fileno(), lambda: None)
        statement.close()
        assert loop.remove_reader(connection.fileno())


SYNC = b"S\x00\x00\x00\x04"
"""A message of PostgreSQL's protocol that the server leaves unread while it runs a statement."""


async def cut_statement(url: str) -> None:
    """End a statement's backend with input left unread: the client's socket has an error, and an answer to read."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        statement = PreparedStatement(connection, b"SELECT pg_sleep(600)::text").open()
        running = asyncio.create_task(statement.run({}))
        pid = connection.info.backend_pid
        with psycopg.connect(url, autocommit=True) as other:
            asking = "SELECT wait_event FROM pg_stat_activity WHERE pid = %s"
            await wait_until(lambda: other.execute(asking, (pid,)).fetchone() == ("PgSleep",))
            with socket.socket(fileno=os.dup(connection.fileno())) as peer:
                peer.send(SYNC)
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))
        # Nothing else runs here meanwhile: the loop finds the answer and the error at once.
        with suppress(ProcessLookupError):
            while True:
                os.kill(pid, 0)
        async with asyncio.timeout(HANG_TIMEOUT):
            with pytest.raises(psycopg.OperationalError):
                await running


@pytest.mark.demand("cluster.outage_cuts_no_stream")
@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not there")
async def test_a_statement_of_a_server_that_ends_fails_on_the_loop_of_the_server_too(url: str) -> None:
    """uvloop calls a reader once for a socket with an error, whatever is left to read."""
    import uvloop

    await cut_statement(url)
    await asyncio.to_thread(uvloop.run, cut_statement(url))
