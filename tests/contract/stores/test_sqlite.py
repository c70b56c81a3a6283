"""What only the file has: it outlives a process, however that ends, and has one at a time."""

import asyncio
import os
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from rightseat.errors import ConfigError, StoreFailed
from rightseat.stores.sqlite import SQLiteStore
from rightseat.stores.sqlite.database import MIGRATIONS, checksum_row, open_database
from rightseat.stores.sqlite.store import DATABASE_FILE, FLUSH_SECONDS
from rightseat.types.events import (
    CallEnd,
    CallResult,
    CallStart,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import text_message
from rightseat.types.stores import PendingQuestion
from rightseat.types.threads import RUN_NUMBERS, RUN_RESTARTED, Lease, ThreadBusy, ThreadEntry, UserInput
from rightseat.types.turn import Owner
from tests.kit.timeouts import HANG_TIMEOUT

ME = Owner("me")

CHILD_PROGRAM = """
import asyncio, sys
from pathlib import Path
from rightseat.types.events import RunStarted, TextDelta, TextStart
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.turn import Owner

async def main():
    store = SQLiteStore(Path(sys.argv[1]))
    before = (await store.begin_run(Owner("me"), "t", "r", assistant="a", name="n")).before
    store.append_entries(Owner("me"), "t", before + 1, [RunStarted("t", "r"), TextStart("m")])
    for number in range(100):
        store.append_entries(Owner("me"), "t", before + 3 + number, [TextDelta("m", f"{number} ")])
    await store.read_entries(Owner("me"), "t")
    print("said", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@asynccontextmanager
async def start_other_process(folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process in the middle of a run."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD_PROGRAM, str(folder), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"said\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def read_entries(store: SQLiteStore, thread: str = "t") -> list[ThreadEntry]:
    return [entry for _, entry in await store.read_entries(ME, thread)]


async def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    said_: list[ThreadEntry] = [
        UserInput((text_message("user", "hi", id="1"),)),
        RunStarted("t", "r"),
        RunFinished("stop"),
    ]
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="a", name="hi")
    store.append_entries(ME, "t", 1, said_)
    store.append_entries(ME, "t", 4, [TextDelta("m", "not yet written")])
    await store.save_pending_question(ME, "k", PendingQuestion("ask_1", "ask", "?"))
    await store.save_results(ME, {"c": "7"})
    await store.close()
    store = SQLiteStore(tmp_path)
    assert await read_entries(store) == [*said_, TextDelta("m", "not yet written")]
    assert await store.take_pending_question(ME, "k") == PendingQuestion("ask_1", "ask", "?")
    assert await store.get_results(ME, ["c"]) == {"c": "7"}
    assert await store.has_thread(ME, "t")
    assert store.recovered == 0
    await store.close()


@pytest.mark.io
async def test_the_second_process_is_told_who_is_the_first(tmp_path: Path) -> None:
    async with start_other_process(tmp_path) as process:
        with pytest.raises(ConfigError, match=rf"pid {process.pid}\)") as found:
            SQLiteStore(tmp_path)
    assert "RIGHTSEAT_DATA" in found.value.message
    store = SQLiteStore(tmp_path)
    await store.close()


async def test_nor_may_one_process_have_it_twice(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    with pytest.raises(ConfigError, match=f"pid {os.getpid()}"):
        SQLiteStore(tmp_path)
    await store.close()
    store = SQLiteStore(tmp_path)
    await store.close()


@pytest.mark.demand("copilotkit.sqlite_data_folder_default")
@pytest.mark.io
async def test_a_killed_process_leaves_its_text_and_a_free_thread(tmp_path: Path) -> None:
    async with start_other_process(tmp_path) as process:
        process.kill()
        await process.wait()
        store = SQLiteStore(tmp_path)
        assert store.recovered == 1
        whole = await read_entries(store)
        text = "".join(entry.text for entry in whole if isinstance(entry, TextDelta))
        assert text == "".join(f"{number} " for number in range(100))
        assert whole[-2:] == [TextEnd("m"), RUN_RESTARTED]
        thread = await store.get_thread(ME, "t")
        assert thread is not None
        assert thread.run == ""
        assert (await store.begin_run(ME, "t", "r2", assistant="a", name="n")).before == RUN_NUMBERS + 2
        await store.close()


async def test_only_the_run_that_was_cut_is_ended_and_only_once(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "whole", "r", assistant="", name="")
    store.append_entries(ME, "whole", 1, [RunStarted("whole", "r"), RunFinished("stop")])
    await store.begin_run(ME, "t", "r1", assistant="", name="")
    store.append_entries(ME, "t", 1, [TextStart("old"), RunFailed("x", "y")])
    await store.begin_run(ME, "t", "r2", assistant="", name="")
    store.append_entries(ME, "t", 3, [TextStart("m"), CallStart("c", "f", "m")])
    await store.close()
    for recovered in (1, 0):
        store = SQLiteStore(tmp_path)
        assert store.recovered == recovered
        assert (await read_entries(store))[2:] == [
            TextStart("m"),
            CallStart("c", "f", "m"),
            TextEnd("m"),
            RUN_RESTARTED,
        ]
        assert len(await read_entries(store, "whole")) == 2
        await store.close()


async def test_a_run_that_had_hardly_begun_is_ended_as_one_that_had(tmp_path: Path) -> None:
    """Clients take no end without a beginning."""
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="", name="")
    store.append_entries(ME, "t", 1, [UserInput((text_message("user", "hi"),))])
    await store.close()
    store = SQLiteStore(tmp_path)
    assert (await read_entries(store))[1:] == [RunStarted("t", "r"), RUN_RESTARTED]
    await store.close()


@pytest.mark.demand("crashes.numbers_never_used_again")
async def test_after_a_crash_no_number_comes_again_that_a_reader_may_have_seen(tmp_path: Path) -> None:
    before = 0
    for run in ("r1", "r2", "r3"):
        store = SQLiteStore(tmp_path)
        assert (await store.begin_run(ME, "t", run, assistant="", name="")).before >= before
        before += 1
        store.append_entries(ME, "t", before, [RunStarted("t", run)])
        # Closed without an end, as a killed process leaves it; its readers may have seen much more.
        await store.close()
        before += RUN_NUMBERS
    store = SQLiteStore(tmp_path)
    numbered = await store.read_entries(ME, "t")
    ends = [number for number, entry in numbered if entry == RUN_RESTARTED]
    assert [end // RUN_NUMBERS for end in ends] == [1, 2, 3]
    assert [number for number, _ in numbered] == sorted({number for number, _ in numbered})
    await store.close()


@pytest.mark.demand("crashes.numbers_never_used_again")
async def test_a_run_that_an_older_version_left_ends_behind_all_that_it_may_have_shown(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / DATABASE_FILE, MIGRATIONS[:1])) as database, database:
        database.execute("INSERT INTO threads VALUES ('me', 't', '', '', 1, 1, 0, 15, 1, 0)")
        database.execute("INSERT INTO leases VALUES ('me', 't', 'r', 'p', 0, 1)")
    store = SQLiteStore(tmp_path)
    numbered = await store.read_entries(ME, "t")
    assert [entry for _, entry in numbered] == [RunStarted("t", "r"), RUN_RESTARTED]
    assert numbered[0][0] == 15 + RUN_NUMBERS + 1
    await store.close()


@pytest.mark.demand("crashes.numbers_never_used_again")
async def test_entries_say_when_they_are_stored_and_deltas_do_not_wait(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="", name="")
    assert store.append_entries(ME, "t", 1, [TextDelta("m", "a")]) is None
    first = store.append_entries(ME, "t", 2, [TextEnd("m")])
    assert first is not None
    assert store.append_entries(ME, "t", 3, [CallEnd("c")]) is first, "one flush"
    await asyncio.wait_for(first, HANG_TIMEOUT)
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as other:
        assert other.execute("SELECT MAX(last) FROM entries").fetchone() == (3,)
    # Nobody waits for what cannot be stored.
    await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA max_page_count = 1").fetchone())
    failed = store.append_entries(ME, "t", 4, [CallResult("c", "x" * 100_000)])
    assert failed is not None
    await asyncio.wait_for(failed, HANG_TIMEOUT)
    assert len(store.unwritten) == 1
    await store.close()


async def test_runs_that_take_turns_have_their_words_together(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    for thread in ("a", "b"):
        await store.begin_run(ME, thread, "r", assistant="", name="")
    for number in (1, 2, 3):
        for thread in ("a", "b"):
            store.append_entries(ME, thread, number, [TextDelta("m", f"{thread}{number} ")])
    assert await store.read_entries(ME, "a") == [(3, TextDelta("m", "a1 a2 a3 "))]
    assert await store.read_entries(ME, "b", 1) == [(3, TextDelta("m", "b2 b3 "))]
    store.append_entries(ME, "a", 4, [RunFinished("stop")])
    threads = {thread.id: thread for thread in await store.list_threads(ME)}
    assert [(threads[id].last, threads[id].run) for id in ("a", "b")] == [(4, ""), (3, "r")]
    await store.close()


@pytest.mark.slow
async def test_deltas_wait_a_moment_and_others_do_not(tmp_path: Path) -> None:
    def written() -> int:
        with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as other:
            found: int = other.execute("SELECT COALESCE(MAX(last), 0) FROM entries").fetchone()[0]
            return found

    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="", name="")
    store.append_entries(ME, "t", 1, [TextDelta("m", "a")])
    store.append_entries(ME, "t", 2, [TextDelta("m", "b")])
    # Nothing has been handed over: the timer is what brings it there.
    assert len(store.unwritten) == 2
    handed = asyncio.Event()
    asyncio.get_running_loop().call_later(FLUSH_SECONDS, handed.set)
    await handed.wait()
    assert store.unwritten == []
    await store.writer.run_outside_tx(lambda: None)
    assert written() == 2
    store.append_entries(ME, "t", 3, [TextDelta("m", "c")])
    store.append_entries(ME, "t", 4, [TextEnd("m")])
    await asyncio.sleep(0)
    assert store.unwritten == []
    await store.writer.run_outside_tx(lambda: None)
    assert written() == 4
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as other:
        assert other.execute("SELECT COUNT(*) FROM entries").fetchone() == (3,)
    await store.close()


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_an_older_file_is_copied_and_brought_forward(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    first = "CREATE TABLE a (x); INSERT INTO a VALUES (7); PRAGMA user_version = 1;"
    second = "ALTER TABLE a ADD COLUMN y DEFAULT 8; PRAGMA user_version = 2;"
    open_database(path, (first,)).close()
    assert not (tmp_path / "x.db.v1.bak").exists()
    with closing(open_database(path, (first, second))) as database:
        assert database.execute("SELECT x, y FROM a").fetchall() == [(7, 8)]
    with closing(sqlite3.connect(tmp_path / "x.db.v1.bak")) as copy:
        assert copy.execute("SELECT * FROM a").fetchall() == [(7,)]
        assert copy.execute("PRAGMA user_version").fetchone() == (1,)
    with closing(open_database(path, (first, second))) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,)


async def test_a_step_that_fails_has_not_happened(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    first = "CREATE TABLE a (x); PRAGMA user_version = 1;"
    open_database(path, (first,)).close()
    with pytest.raises(ConfigError, match="no such table"):
        open_database(path, (first, "ALTER TABLE a ADD COLUMN y; ALTER TABLE b ADD COLUMN y;"))
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        assert len(database.execute("PRAGMA table_info(a)").fetchall()) == 1


async def test_a_newer_file_is_not_touched(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as database:
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(ConfigError, match="newer rightseat"):
        SQLiteStore(tmp_path)
    with pytest.raises(ConfigError, match="newer rightseat"):
        SQLiteStore(tmp_path)


@pytest.mark.demand("security.store_damage")
async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    content = b"something else" * 1000
    (tmp_path / DATABASE_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match="store repair"):
        SQLiteStore(tmp_path, damaged="refuse")
    assert (tmp_path / DATABASE_FILE).read_bytes() == content
    store = SQLiteStore(tmp_path)
    await store.close()
    assert store.repair_report is not None
    assert store.repair_report.kept_aside is not None
    assert store.repair_report.kept_aside.read_bytes() == content


async def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be used.*RIGHTSEAT_DATA"):
        SQLiteStore(tmp_path / "file" / "below")


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
async def test_rows_that_somebody_changed_are_left_out(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="", name="")
    store.append_entries(ME, "t", 1, [RunStarted("t", "r"), TextStart("m"), RunFinished("stop")])
    await store.save_pending_question(ME, "k", PendingQuestion("ask_1", "ask", "?"))
    await store.close()
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as database, database:
        database.create_function("row_checksum", -1, checksum_row)
        entry, record = b'{"type":"Popen"}', b"\xff["
        change = "UPDATE entries SET body = ?, checksum = row_checksum('entries', ?, owner, thread, first, last, cuts)"
        database.execute(change + " WHERE last = 2", (entry, entry))
        checksum = "row_checksum('kept', ?, kind, owner, key, expires, weight, number)"
        database.execute("UPDATE kept SET body = ?, checksum = " + checksum, (record, record))  # noqa: S608
    store = SQLiteStore(tmp_path)
    assert await read_entries(store) == [RunStarted("t", "r"), RunFinished("stop")]
    assert await store.take_pending_question(ME, "k") is None
    await store.close()


async def test_a_disk_that_takes_nothing_fails_by_name_and_what_waits_is_written_later(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="", name="")
    (pages,) = await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA page_count").fetchone())
    await store.writer.run_outside_tx(lambda: store.database.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    big = "x" * 50_000
    store.append_entries(ME, "t", 1, [TextStart("m"), TextDelta("m", big)])
    with pytest.raises(StoreFailed):
        await store.save_results(ME, {"c": big})
    assert await read_entries(store) == []
    await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA max_page_count = 1000000").fetchone())
    store.append_entries(ME, "t", 3, [RunFinished("stop")])
    assert await read_entries(store) == [TextStart("m"), TextDelta("m", big), RunFinished("stop")]
    await store.save_results(ME, {"c": big})
    assert await store.get_results(ME, ["c"]) == {"c": big}
    await store.close()


async def test_what_waits_at_the_same_time_is_one_transaction_and_each_has_its_own_end(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    begun: list[str] = []
    store.database.set_trace_callback(lambda said: begun.append(said) if said.startswith("BEGIN") else None)
    big = "x" * 50_000
    first = asyncio.create_task(store.save_results(ME, {"first": "1"}))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asked = [store.begin_run(ME, "t", f"r{n}", assistant="", name="") for n in range(10)]
    outcomes = await asyncio.gather(*asked, store.save_results(ME, {"c": "1"}), first, return_exceptions=True)
    assert len(begun) == 2
    assert [type(outcome) for outcome in outcomes[:3]] == [Lease, ThreadBusy, ThreadBusy]
    assert await store.get_results(ME, ["first", "c"]) == {"first": "1", "c": "1"}
    # One that the file does not take spoils it for itself alone.
    (pages,) = await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA page_count").fetchone())
    await store.writer.run_outside_tx(lambda: store.database.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    tries = [store.save_results(ME, {key: text}) for key, text in (("a", "2"), ("b", big), ("c", "3"))]
    failed = await asyncio.gather(*tries, return_exceptions=True)
    assert [type(one) for one in failed] == [type(None), StoreFailed, type(None)]
    assert await store.get_results(ME, ["a", "b", "c"]) == {"a": "2", "c": "3"}
    await store.close()


async def test_what_one_of_them_breaks_is_its_own(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)

    def broken() -> None:
        store.records.put("result", ME, "broken", b"x")
        raise ZeroDivisionError

    tries = [store.save_results(ME, {"a": "1"}), store.run(broken), store.save_results(ME, {"b": "2"})]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert [type(one) for one in results] == [type(None), ZeroDivisionError, type(None)]
    assert await store.get_results(ME, ["a", "b", "broken"]) == {"a": "1", "b": "2"}
    # What was counted for it was taken back too.
    assert await store.read(lambda: store.records.get_weight("result")) == 2
    await store.close()


async def test_who_has_left_before_it_began_wants_nothing(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    await store.save_pending_question(ME, "k", PendingQuestion("ask_1", "ask", "?"))
    task = asyncio.create_task(store.take_pending_question(ME, "k"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert await store.take_pending_question(ME, "k") == PendingQuestion("ask_1", "ask", "?")
    await store.close()


async def test_a_thread_that_was_made_for_nobody_is_not_listed(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    for steps in range(1, 4):
        task = asyncio.create_task(store.begin_run(ME, "t", f"r{steps}", assistant="", name=""))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    assert await store.list_threads(ME) == []
    await store.close()


async def test_it_is_closed_although_its_file_fails_and_then_says_so(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA busy_timeout = 0").fetchone())
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert await store.get_thread(ME, "t") is None, "reading waits for nobody who writes"
        with pytest.raises(StoreFailed):
            await store.save_results(ME, {"c": "7"})
        await store.close()
    with pytest.raises(StoreFailed, match="closed"):
        await store.get_thread(ME, "t")
    await store.close()
    again = SQLiteStore(tmp_path)
    assert await again.get_thread(ME, "t") is None
    await again.close()


def find_files_with(folder: Path, text: str) -> list[str]:
    return [path.name for path in folder.iterdir() if text.encode() in path.read_bytes()]


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_what_was_deleted_is_not_in_the_files(tmp_path: Path) -> None:
    secret = "a canary in a thread"
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="", name=secret)
    store.append_entries(ME, "t", 1, [TextDelta("m", secret), RunFinished("stop")])
    assert len(await read_entries(store)) == 2
    assert find_files_with(tmp_path, secret)
    assert await store.delete_thread(ME, "t")
    assert not find_files_with(tmp_path, secret)
    await store.close()


async def test_only_its_user_may_read_the_file(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "made")
    assert (tmp_path / "made" / DATABASE_FILE).stat().st_mode & 0o077 == 0
    assert (tmp_path / "made").stat().st_mode & 0o077 == 0
    await store.close()


async def test_a_look_for_a_thread_writes_no_deltas(tmp_path: Path) -> None:
    """Every request at the AG-UI door looks for its thread: deltas of other runs wait for the next flush."""
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="a", name="n")
    store.append_entries(ME, "t", 1, [TextDelta("m", "one ")])
    assert await store.has_thread(ME, "t")
    assert not await store.has_thread(ME, "u")
    assert len(store.unwritten) == 1
    await store.close()


async def test_who_stops_waiting_for_a_busy_thread_does_not_free_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run may be posted again by a client that has lost its connection, and loses it again."""
    store = SQLiteStore(tmp_path)
    await store.begin_run(ME, "t", "r", assistant="a", name="n")
    begin_run, entered, go_on = store.thread_table.begin_run, asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def begin_slowly(*arguments: str) -> object:
        loop.call_soon_threadsafe(entered.set)
        assert go_on.wait(HANG_TIMEOUT)
        return begin_run(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(store.thread_table, "begin_run", begin_slowly)
    again = asyncio.create_task(store.begin_run(ME, "t", "r", assistant="a", name="n"))
    await entered.wait()
    again.cancel()
    go_on.set()
    await asyncio.wait([again])
    assert await store.get_lease_holder(ME, "t") is not None
    await store.close()
