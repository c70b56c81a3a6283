"""`rightseat store move`: what is carried over, what is refused, and how a cut move goes on."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rightseat.errors import ConfigError, Conflict
from rightseat.stores.postgres import transfer as postgres_transfer
from rightseat.stores.postgres.schema import name_schema
from rightseat.stores.postgres.store import PostgresStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.stores.sqlite.transfer import SQLiteRowTarget
from rightseat.stores.transfer import RowKind, StoredRow, Transfer, TransferState
from rightseat.types.events import RunFinished, RunStarted, TextDelta, TextEnd, TextStart
from rightseat.types.stores import Continuation, PendingQuestion
from rightseat.types.threads import RunEnded
from rightseat.types.turn import Owner
from tests.kit.command import CommandResult, run_command
from tests.kit.postgres import get_session_server
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.timeout(300)]
ME, OTHER, LONG = Owner("me"), Owner("andere Ü"), Owner("o" * 600)
THREADS = [f"t{number}" for number in range(6)]
LONG_THREAD = "long " * 200
LOCK_TARGET_FREE = "SELECT pg_try_advisory_lock(hashtextextended('rightseat move SCHEMA', 0))"


@pytest.fixture
def url() -> str:
    return get_session_server().url


@pytest.fixture
def schema(request: pytest.FixtureRequest, url: str) -> Iterator[str]:
    name = f"move_{abs(hash(request.node.nodeid)) % 10**10}_{os.getpid()}"
    yield name
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


async def write_run(store: SQLiteStore, owner: Owner, thread: str, run: str, *, ends: bool = True) -> None:
    lease = await store.begin_run(owner, thread, run, assistant="a", name=f"name of {thread}"[:50], digest="d")
    texts = [TextDelta("m", f"word\0{number} ") for number in range(5)]
    entries: list[Any] = [RunStarted(thread, run), TextStart("m"), *texts, TextEnd("m")]
    entries += [RunFinished("stop")] if ends else []
    stored = store.append_entries(owner, thread, lease.before + 1, entries, lease.fence)
    if stored is not None:
        await stored


async def fill(folder: Path) -> None:
    """A store with everything that a store keeps, and a run that its process did not end."""
    store = SQLiteStore(folder)
    for owner in (ME, OTHER, LONG):
        for thread in THREADS:
            await write_run(store, owner, thread, "r1")
            await write_run(store, owner, thread, "r2")
    await write_run(store, ME, LONG_THREAD, "r1")
    await store.update_thread(ME, "t1", name="a new name", archived=True)
    await write_run(store, ME, "open", "r9", ends=False)
    continuation = Continuation(
        ticket="ticket", owner=ME, assistant="a", added=(), calls={}, rounds=1, number=1, digest="d", expires=1e12
    )
    await store.save_continuation(continuation)
    await store.save_pending_question(ME, "talk", PendingQuestion("ask_1", "ask", "?"))
    await store.save_results(ME, {f"call{number}": f"result {number} \ud800" for number in range(20)})
    await store.save_checkpoint(OTHER, "used today", b'{"spent": 3}', 1000.0)
    await store.save_checkpoint(LONG, "k" * 700, b"\x00\xff")
    await store.close()


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    await fill(folder)
    return folder


async def move(source: str, target: str, schema: str, *more: str) -> CommandResult:
    return await run_command("store", "move", source, target, "--schema", schema, *more)


TABLES = ("threads", "entries", "runs", "kept")


def query(url: str, schema: str, text: str) -> Any:
    with psycopg.connect(url) as connection:
        row = connection.execute(name_schema(text, schema)).fetchone()
        return row[0] if row else None


def count_rows(url: str, schema: str) -> dict[str, int]:
    return {table: query(url, schema, f"SELECT count(*) FROM {{s}}.{table}") for table in TABLES}  # noqa: S608


def count_file(folder: Path) -> dict[str, int]:
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as database:
        return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}  # noqa: S608


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


@pytest.mark.demand("cluster.store_move")
async def test_everything_is_carried_over(data: Path, url: str, schema: str) -> None:
    before = read_files(data)
    shown = await move(f"sqlite://{data}", url, schema, "--dry-run")
    assert (shown.code, "Nothing was written" in shown.out) == (0, True)
    moved = await move(f"sqlite://{data}", url, schema, "--batch", "7")
    assert moved.code == 0, moved.err + moved.out
    assert read_files(data) == before, "the source is as it was"
    assert count_rows(url, schema) == count_file(data)
    source, target = SQLiteStore(data), PostgresStore(url, schema=schema)
    try:
        for owner in (ME, OTHER, LONG):
            threads = await source.list_threads(owner, archived=True)
            there = {thread.id: thread for thread in await target.list_threads(owner, archived=True)}
            for thread in threads:
                if thread.id != "open":
                    # SQLite has ended the open run when it was opened again.
                    assert there[thread.id] == thread
                    assert await target.read_entries(owner, thread.id) == await source.read_entries(owner, thread.id)
        assert await target.get_results(ME, ["call3"]) == {"call3": "result 3 \ud800"}
        assert await target.get_checkpoint(OTHER, "used today") == b'{"spent": 3}'
        assert await target.get_checkpoint(LONG, "k" * 700) == b"\x00\xff"
        assert await target.get_pending_question(ME, "talk") == PendingQuestion("ask_1", "ask", "?")
        assert (await target.get_continuation(ME, "ticket")) is not None
        with pytest.raises(RunEnded):
            await target.begin_run(ME, "t0", "r2", assistant="a", name="n", digest="d")
        lease = await target.begin_run(ME, "t0", "r3", assistant="a", name="n", digest="d")
        assert lease.fence == 3
        holder = await target.get_lease_holder(ME, "open")
        assert holder is not None
        assert await target.find_dead([holder.worker]) == {holder.worker}
        assert await target.end_orphaned_runs([holder.worker])
    finally:
        await source.close()
        await target.close()
    again = await move(f"sqlite://{data}", url, schema)
    assert again.code == 1, "the source was opened by a server since"


@pytest.mark.demand("cluster.store_move")
async def test_a_finished_move_is_not_done_twice(data: Path, url: str, schema: str) -> None:
    assert (await move(f"sqlite://{data}", url, schema)).code == 0
    counts = count_rows(url, schema)
    again = await move(f"sqlite://{data}", url, schema)
    assert (again.code, "nothing to do" in again.out) == (0, True)
    assert count_rows(url, schema) == counts


@pytest.mark.demand("cluster.store_move")
async def test_expiry_carries_over_by_the_clock_of_the_database(data: Path, url: str, schema: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # This machine's clock is an hour behind the database's.
        patch.setattr(postgres_transfer, "read_clock_offset", lambda _: 3600.0)
        assert (await move(f"sqlite://{data}", url, schema)).code == 0
    with closing(sqlite3.connect(data / DATABASE_FILE)) as database:
        (expires,) = database.execute("SELECT expires FROM kept WHERE key = 'used today'").fetchone()
    assert query(url, schema, "SELECT expires FROM {s}.kept WHERE key = 'used today'") == expires + 3600.0


@pytest.mark.demand("cluster.store_move")
async def test_back_to_sqlite(data: Path, tmp_path: Path, url: str, schema: str) -> None:
    assert (await move(f"sqlite://{data}", url, schema)).code == 0
    back = tmp_path / "back"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACK", f"sqlite://{back}")
        patch.setenv("DATABASE", url)
        returned = await move("env:DATABASE", "env:BACK", schema, "--batch", "7")
    # Records of an owner whose long name no thread tells cannot be named any more; here one does.
    assert returned.code == (1 if "hash" in returned.err else 0), returned.err
    expected = count_file(data)
    lost = returned.err.count("as a hash only")
    assert sum(count_file(back).values()) == sum(expected.values()) - lost
    again = await move(url, f"sqlite://{back}", schema)
    assert (again.code, "before: nothing to do" in again.out) == (returned.code, True), again.err
    one, other = SQLiteStore(data), SQLiteStore(back)
    try:
        assert await one.read_entries(ME, "t1") == await other.read_entries(ME, "t1")
        assert (await other.get_thread(ME, "t1")) == (await one.get_thread(ME, "t1"))
    finally:
        await one.close()
        await other.close()
    assert not list(back.glob("*.moving"))
    # A server has used it, and it is still the end of the same move; that of another source is refused.
    again = await move(url, f"sqlite://{back}", schema)
    assert "before: nothing to do" in again.out, again.err
    refused = await move(f"sqlite://{data}", f"sqlite://{back}", schema)
    assert (refused.code, "holds other data" in refused.err) == (1, True)
    assert not list(back.glob("*.moving"))


@pytest.mark.demand("cluster.store_move_resumes")
async def test_ctrl_c_says_how_to_go_on(data: Path, url: str, schema: str) -> None:
    process = start_move(data, url, schema, stderr=subprocess.PIPE)
    await wait_next_state(process, url, schema, read_state(url, schema))
    assert process.poll() is None, "it was at work"
    process.send_signal(signal.SIGINT)
    _, said = await asyncio.to_thread(process.communicate, timeout=HANG_TIMEOUT)
    assert process.returncode == 130, said
    assert b"interrupted; run the same command again to go on" in said
    assert b"Traceback" not in said
    moved = await move(f"sqlite://{data}", url, schema)
    assert moved.code == 0, moved.err
    assert count_rows(url, schema) == count_file(data)


class CutWrites:
    """Writes of a target until the cut, after which nothing reaches it."""

    def __init__(self, write: Callable[..., None], left: int) -> None:
        self.write = write
        self.left = left

    def __get__(self, target: Any, owner: type) -> Callable[..., None]:
        return partial(self, target)

    def __call__(self, target: Any, kind: RowKind, rows: Sequence[StoredRow], state: TransferState) -> None:
        if not self.left:
            raise ConfigError("cut")
        self.left -= 1
        self.write(target, kind, rows, state)


@pytest.mark.demand("cluster.store_move_resumes")
@pytest.mark.parametrize("to_postgres", [True, False])
async def test_a_move_that_is_cut_after_each_batch_goes_on(
    data: Path, tmp_path: Path, url: str, schema: str, to_postgres: bool
) -> None:
    source, target = f"sqlite://{data}", url
    target_class: Any = postgres_transfer.PostgresRowTarget
    if not to_postgres:
        assert (await move(source, target, schema)).code == 0
        source, target, target_class = url, f"sqlite://{tmp_path / 'back'}", SQLiteRowTarget
    whole = target_class.write
    cuts = 0
    while True:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(target_class, "write", CutWrites(whole, 2))
            result = await move(source, target, schema, "--batch", "20")
        if "cut" not in result.err:
            break
        cuts += 1
        assert cuts < 30, "it never ends"
        if to_postgres:
            with pytest.raises(ConfigError, match="is not finished"):
                PostgresStore(url, schema=schema)
            other = await move(f"sqlite://{tmp_path / 'other'}", url, schema)
            assert other.code == 1
    assert cuts > 3
    assert "differs" not in result.out
    if to_postgres:
        assert result.code == 0, result.err
        assert count_rows(url, schema) == count_file(data)
    else:
        lost = result.err.count("as a hash only")
        assert sum(count_file(tmp_path / "back").values()) == sum(count_file(data).values()) - lost


def start_move(data: Path, url: str, schema: str, stderr: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "rightseat", "store", "move", f"sqlite://{data}", "env:TARGET"]
    return subprocess.Popen(
        [*command, "--schema", schema, "--batch", "2"],
        env={**os.environ, "TARGET": url},
        stdout=subprocess.DEVNULL,
        stderr=stderr,
    )


def read_state(url: str, schema: str) -> str:
    try:
        return str(query(url, schema, "SELECT state FROM {s}.moves"))
    except psycopg.errors.UndefinedTable:
        return ""


async def wait_next_state(process: "subprocess.Popen[bytes]", url: str, schema: str, state: str) -> str:
    deadline = time.monotonic() + HANG_TIMEOUT
    while process.poll() is None and time.monotonic() < deadline:
        if (now := read_state(url, schema)) != state:
            return now
        await asyncio.sleep(0.001)
    return state


@pytest.mark.demand("cluster.store_move_resumes")
async def test_a_move_that_is_killed_goes_on(data: Path, url: str, schema: str) -> None:
    kills = 0
    for _ in range(3):
        process = start_move(data, url, schema)
        state = read_state(url, schema)
        for _ in range(4):
            state = await wait_next_state(process, url, schema, state)
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert kills, "at least one was killed before its end"
    # The server notices at once that the connection of the killed one is gone, but not before.
    await wait_until(lambda: query(url, schema, LOCK_TARGET_FREE.replace("SCHEMA", schema)))
    moved = await move(f"sqlite://{data}", url, schema)
    assert moved.code == 0, moved.err
    assert count_rows(url, schema) == count_file(data)


@pytest.mark.demand("cluster.store_move_refuses")
async def test_a_source_that_a_server_uses(data: Path, tmp_path: Path, url: str, schema: str) -> None:
    server = SQLiteStore(data)
    try:
        refused = await move(f"sqlite://{data}", url, schema)
    finally:
        await server.close()
    assert (refused.code, f"pid {os.getpid()}" in refused.err, "Stop" in refused.err) == (1, True, True)
    assert (await move(f"sqlite://{data}", url, schema)).code == 0


@pytest.mark.demand("cluster.store_move_refuses")
async def test_tables_that_a_server_uses(data: Path, tmp_path: Path, url: str, schema: str) -> None:
    replica = PostgresStore(url, schema=schema)
    try:
        refused = await move(f"sqlite://{data}", url, schema)
        assert (refused.code, "Servers use the target" in refused.err) == (1, True)
        refused = await move(url, f"sqlite://{tmp_path / 'back'}", schema)
        assert (refused.code, "Servers use the source" in refused.err) == (1, True)
    finally:
        await replica.close()


@pytest.mark.demand("cluster.store_move_refuses")
async def test_a_target_with_other_data(data: Path, url: str, schema: str) -> None:
    replica = PostgresStore(url, schema=schema)
    await replica.begin_run(ME, "t1", "theirs", assistant="a", name="their own")
    await replica.save_results(ME, {"call3": "their own"})
    await replica.close()
    refused = await move(f"sqlite://{data}", url, schema)
    assert (refused.code, "--into-existing" in refused.err) == (1, True)
    added = await move(f"sqlite://{data}", url, schema, "--into-existing")
    assert added.code == 1
    assert "thread (owner me, thread t1) is in the target already" in added.err
    assert "key call3) is in the target already" in added.err
    replica = PostgresStore(url, schema=schema)
    try:
        thread = await replica.get_thread(ME, "t1")
        assert thread is not None
        assert (thread.name, await replica.read_entries(ME, "t1")) == ("their own", [])
        assert await replica.get_results(ME, ["call3", "call4"]) == {"call3": "their own", "call4": "result 4 \ud800"}
        assert len(await replica.read_entries(ME, "t2")) > 5
    finally:
        await replica.close()


@pytest.mark.demand("cluster.store_move_refuses")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("sqlite://nowhere", "There is no store in nowhere"),
        ("mysql://host/x", "no address of a store"),
        ("sqlite://", "names no folder"),
        ("env:NOT_SET_HERE", "NOT_SET_HERE is not set"),
        ("postgresql://me:very-secret-word@127.0.0.1:1/x", "cannot be used"),
    ],
)
async def test_addresses(source: str, message: str, schema: str, url: str) -> None:
    result = await move(source, "sqlite://there", schema)
    assert (result.code, message in result.err) == (1, True), result.err
    assert "very-secret-word" not in result.err + result.out
    assert "there" not in os.listdir()


def damage(folder: Path, table: str, where: str) -> None:
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as database, database:
        changed = database.execute(f"UPDATE {table} SET checksum = checksum + 1 WHERE {where}").rowcount  # noqa: S608
    assert changed == 1


@pytest.mark.demand("cluster.store_move_damage")
async def test_damaged_rows_are_named_and_left_out(data: Path, url: str, schema: str) -> None:
    damage(data, "kept", "key = 'call3'")
    damage(data, "threads", "owner = 'me' AND id = 't2'")
    damage(
        data,
        "entries",
        "owner = 'me' AND thread = 't3' AND last = (SELECT MAX(last) FROM entries "
        "WHERE owner = 'me' AND thread = 't3')",
    )
    damage(data, "runs", "owner = 'me' AND thread = 't4' AND id = 'r1'")
    shown = await move(f"sqlite://{data}", url, schema, "--dry-run")
    moved = await move(f"sqlite://{data}", url, schema)
    assert (shown.code, moved.code) == (1, 1)
    for text in ("key call3) is damaged", "thread t2) is damaged", "thread t3, number", "run r1"):
        assert text in moved.err, moved.err
        assert text in shown.err
    assert "must not take effect twice" in moved.err
    target = PostgresStore(url, schema=schema)
    try:
        assert await target.get_results(ME, ["call3", "call4"]) == {"call4": "result 4 \ud800"}
        assert await target.get_thread(ME, "t2") is None
        assert await target.get_continuation(ME, "ticket") is None
        for thread in ("t3", "t4"):
            with pytest.raises(Conflict, match="is not run again"):
                await target.begin_run(ME, thread, "r1", assistant="a", name="n", digest="d")
    finally:
        await target.close()


@pytest.mark.demand("cluster.store_move_damage")
async def test_a_row_that_differs_in_the_target_is_named(data: Path, url: str, schema: str) -> None:
    compare = Transfer.compare

    def spoil(self: Any, report: Any) -> Any:
        self.target.execute("UPDATE {s}.kept SET body = 'x' WHERE key = 'call3'")
        self.target.execute("DELETE FROM {s}.runs WHERE thread = 't1' AND id = 'r1' AND owner = 'me'")
        return compare(self, report)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transfer, "compare", spoil)
        moved = await move(f"sqlite://{data}", url, schema)
    assert moved.code == 1
    assert "key call3) differs" in moved.err
    assert "thread t1, run r1, digest d) is not in the target" in moved.err
    with pytest.raises(ConfigError, match="is not finished"):
        PostgresStore(url, schema=schema)


def test_every_statement_names_its_owner() -> None:
    texts = {name: text for name, text in vars(postgres_transfer).items() if name.startswith(("PUT", "FETCH_"))}
    assert len(texts) >= 8
    assert all("owner = k.a" in text or "%(owner)s" in text or name == "PUT_STATE" for name, text in texts.items())
