"""What only a file has that several workers use: each entry is there before it is shown, and whose worker is dead is
seen by its lock."""

import asyncio
import errno
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("workers share a store on POSIX only", allow_module_level=True)

from rightseat.errors import ConfigError, StoreDamaged, StoreFailed
from rightseat.stores.sqlite import SQLiteStore
from rightseat.stores.sqlite import shared as shared_module
from rightseat.stores.sqlite.database import DamagedFile, check_file
from rightseat.stores.sqlite.presence import LOCKS_FOLDER, WorkerLocks
from rightseat.stores.sqlite.repair import copy_database
from rightseat.stores.sqlite.shared import SharedSQLiteStore
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.stores.sqlite.threads import FencedKey, PendingEntry, ThreadTable
from rightseat.types.events import CallResult, RunFinished, RunStarted, TextDelta, TextEnd, TextStart
from rightseat.types.threads import (
    ANY_FENCE,
    RUN_NUMBERS,
    RUN_RESTARTED,
    LeaseLost,
    OrphanedRun,
    Retention,
    ThreadBusy,
    ThreadEntry,
    make_resume_key,
)
from rightseat.types.turn import Owner
from tests.kit.timeouts import HANG_TIMEOUT

ME = Owner("me")
CHILD = Path(__file__).with_name("shared_child.py")


def open_shared(folder: Path, **options: object) -> SharedSQLiteStore:
    (folder / "run").mkdir(exist_ok=True)
    return SharedSQLiteStore(folder, folder / "run", **options)


@asynccontextmanager
async def open_two(folder: Path, **options: object) -> AsyncIterator[tuple[SharedSQLiteStore, SharedSQLiteStore]]:
    first, second = open_shared(folder, **options), open_shared(folder, **options)
    try:
        yield first, second
    finally:
        await first.close()
        await second.close()


def find_files_with(folder: Path, text: str) -> list[str]:
    files = [path for path in folder.iterdir() if path.is_file()]
    return [path.name for path in files if text.encode() in path.read_bytes()]


def read_texts(folder: Path) -> list[bytes]:
    """Return what another process finds committed."""
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as other:
        return [body for (body,) in other.execute("SELECT body FROM entries ORDER BY last")]


class Child:
    """Another process with the store, which does what it is told and says what came of it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ask(self, *words: str) -> list[str]:
        self.send(*words)
        return await self.read()

    def send(self, *words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(words).encode() + b"\n")

    async def read(self) -> list[str]:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), HANG_TIMEOUT)
        return line.decode().split()

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def start_children(folder: Path, count: int) -> AsyncIterator[list[Child]]:
    """Start processes that open the store at the same moment."""
    (folder / "run").mkdir(exist_ok=True)
    pipe = asyncio.subprocess.PIPE
    children = [
        Child(await asyncio.create_subprocess_exec(sys.executable, str(CHILD), str(folder), stdin=pipe, stdout=pipe))
        for _ in range(count)
    ]
    try:
        yield children
    finally:
        for child in children:
            await child.kill()


@pytest.mark.demand("scale.log_before_show")
async def test_a_delta_is_in_the_file_when_its_reader_may_have_it(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        for number in range(1, 20):
            await store.append_entries(ME, "t", number, [TextDelta("m", f"{number} ")], lease.fence)
            assert len(read_texts(tmp_path)) == number
            (last, entry) = (await other.read_entries(ME, "t", number - 1))[-1]
            assert (last, entry) == (number, TextDelta("m", f"{number} "))


@pytest.mark.demand("scale.log_before_show")
async def test_shown_at_once_the_log_lacks_what_a_reader_has(tmp_path: Path) -> None:
    """The same without the rule: what one process does is shown before it is in the file."""
    store = SQLiteStore(tmp_path)
    lease = await store.begin_run(ME, "t", "r", assistant="", name="")
    assert store.append_entries(ME, "t", 1, [TextDelta("m", "1 ")], lease.fence) is None
    assert read_texts(tmp_path) == []
    await store.close()


@pytest.mark.demand("scale.log_before_show")
async def test_what_comes_within_a_window_is_one_transaction(tmp_path: Path) -> None:
    store = open_shared(tmp_path)
    leases = {name: await store.begin_run(ME, name, "r", assistant="", name="") for name in ("a", "b", "c")}
    begun: list[str] = []
    store.database.set_trace_callback(lambda said: begun.append(said) if said.startswith("BEGIN IMM") else None)
    stored = []
    for number in range(1, 31):
        stored += [
            store.append_entries(ME, name, number, [TextDelta("m", f"{number} ")], lease.fence)
            for name, lease in leases.items()
        ]
        if number == 1:
            # After a pause the first one waits for nobody.
            await asyncio.sleep(0)
            assert store.unwritten == []
        await asyncio.sleep(0)
    await asyncio.wait_for(asyncio.gather(*stored), HANG_TIMEOUT)
    assert len(set(map(id, stored))) == 3 * len(begun), "one future for a run and window"
    assert len(begun) <= 3
    assert len(read_texts(tmp_path)) == 3 * len(begun), "deltas of a window are one row"
    for name in leases:
        entries = await store.read_entries(ME, name)
        assert "".join(entry.text for _, entry in entries if isinstance(entry, TextDelta)).split() == [
            str(number) for number in range(1, 31)
        ]
    await store.close()


@pytest.mark.demand("scale.log_before_show")
async def test_readers_of_other_threads_do_not_end_a_window(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, _):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        waits = store.append_entries(ME, "t", 2, [TextDelta("m", "a")], lease.fence)
        await store.read_entries(ME, "other")
        assert not waits.done()
        assert [number for number, _ in await store.read_entries(ME, "t")] == [1, 2]
        await waits


async def end_run_elsewhere(store: SharedSQLiteStore, other: SharedSQLiteStore) -> asyncio.Future[None]:
    """Take a thread over in the middle of its run, and append to it as its old worker does."""
    lease = await store.begin_run(ME, "t", "r", assistant="", name="")
    await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
    assert await other.end_orphaned_runs({store.worker}) == [OrphanedRun(ME, "t", "r")]
    return store.append_entries(ME, "t", 2, [TextDelta("m", "late")], lease.fence)


@pytest.mark.demand("scale.fence")
async def test_deltas_of_a_lost_lease_are_refused_and_others_of_the_window_are_not(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        with pytest.raises(LeaseLost):
            await (await end_run_elsewhere(store, other))
        beside = await store.begin_run(ME, "beside", "r", assistant="", name="")
        # Both in one window.
        late = store.append_entries(ME, "t", 3, [TextDelta("m", "late")], beside.fence)
        kept = store.append_entries(ME, "beside", 1, [TextDelta("m", "kept")], beside.fence)
        with pytest.raises(LeaseLost):
            await late
        await kept
        assert b"late" not in b"".join(read_texts(tmp_path))
        assert b"kept" in b"".join(read_texts(tmp_path))


@pytest.mark.demand("scale.fence")
async def test_without_the_fence_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = ThreadTable.write_entries

    def write_unfenced(table: ThreadTable, pending: list[PendingEntry]) -> set[FencedKey]:
        return written(table, [((key, ANY_FENCE), number, entry) for (key, _), number, entry in pending])

    monkeypatch.setattr(ThreadTable, "write_entries", write_unfenced)
    async with open_two(tmp_path) as (store, other):
        await (await end_run_elsewhere(store, other))
        assert b"late" in b"".join(read_texts(tmp_path)), "the fence is what refuses them"


@pytest.mark.demand("scale.flows_go_on")
@pytest.mark.parametrize("is_fenced", [True, False], ids=["with the fence", "twin without"])
async def test_a_worker_that_goes_on_beside_the_one_that_took_over_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_fenced: bool
) -> None:
    """The presence lies: the worker that is taken for dead still writes."""
    if not is_fenced:
        written = ThreadTable.write_entries

        def write_unfenced(table: ThreadTable, pending: list[PendingEntry]) -> set[FencedKey]:
            return written(table, [((key, ANY_FENCE), number, entry) for (key, _), number, entry in pending])

        monkeypatch.setattr(ThreadTable, "write_entries", write_unfenced)
    async with open_two(tmp_path) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        holder = await other.get_lease_holder(ME, "t")
        assert holder is not None
        taken = await other.take_over_run(ME, "t", holder)
        assert taken is not None
        late = store.append_entries(ME, "t", 2, [TextDelta("m", "late")], lease.fence)
        await asyncio.wait([late])
        await other.append_entries(ME, "t", taken.last + 1, [RunFinished("stop")], taken.fence)
        assert isinstance(late.exception(), LeaseLost) is is_fenced
        assert (b"late" not in b"".join(read_texts(tmp_path))) is is_fenced


@pytest.mark.demand("scale.flows_go_on")
async def test_of_two_that_take_a_run_over_one_gets_it(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        third = open_shared(tmp_path)
        for number in range(20):
            await third.begin_run(ME, f"t{number}", "r", assistant="", name="")
            holder = await third.get_lease_holder(ME, f"t{number}")
            assert holder is not None
            leases = await asyncio.gather(*(s.take_over_run(ME, f"t{number}", holder) for s in (store, other)))
            assert sum(lease is not None for lease in leases) == 1
        await third.close()


@pytest.mark.demand("scale.flows_go_on")
@pytest.mark.io
async def test_a_worker_that_starts_leaves_runs_that_can_go_on(tmp_path: Path) -> None:
    async with start_children(tmp_path, 1) as (child,):
        (name,) = await child.read()
        for thread in ("kept", "ended"):
            assert (await child.ask("begin", thread))[0] == "lease"
        store = open_shared(tmp_path)
        await store.save_checkpoint(ME, make_resume_key("kept", f"r-{name}"), b"{}")
        await child.kill()
        later = open_shared(tmp_path)
        assert later.recovered == 1
        assert await later.list_orphaned_runs({name}) == [OrphanedRun(ME, "kept", f"r-{name}")]
        await later.close()
        await store.close()


@pytest.mark.demand("scale.fence")
async def test_a_thread_that_is_made_anew_has_a_fence_of_its_own(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        await store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        assert await other.delete_thread(ME, "t")
        again = await other.begin_run(ME, "t", "r2", assistant="", name="")
        assert again.fence > lease.fence
        with pytest.raises(LeaseLost):
            await store.append_entries(ME, "t", 2, [TextDelta("m", "late")], lease.fence)


async def test_who_leaves_does_not_free_what_another_worker_has(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        await other.begin_run(ME, "t", "r", assistant="", name="")
        for steps in range(1, 4):
            task = asyncio.create_task(store.begin_run(ME, "t", "r", assistant="", name=""))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await store.writer.run(lambda: None)
        holder = await store.get_lease_holder(ME, "t")
        assert holder is not None
        assert holder.worker == other.worker


@pytest.mark.parametrize("retention", [Retention(threads=3), Retention(bytes=9000)])
async def test_what_two_of_them_keep_is_bounded_together(tmp_path: Path, retention: Retention) -> None:
    async with open_two(tmp_path, retention=retention, capacity=5000) as stores:
        for number in range(12):
            store = stores[number % 2]
            lease = await store.begin_run(ME, f"t{number}", "r", assistant="", name="")
            entries: list[ThreadEntry] = [CallResult("c", "x" * 2000), RunFinished("stop")]
            await store.append_entries(ME, f"t{number}", 1, entries, lease.fence)
            await store.save_results(ME, {f"c{number}": "x" * 1000})
        kept = [n for n in range(12) if await stores[0].has_thread(ME, f"t{n}")]
        assert kept == list(range(12 - len(kept), 12))
        assert 3 <= len(kept) <= 5
        results = await stores[1].get_results(ME, [f"c{number}" for number in range(12)])
        assert list(results) == [f"c{number}" for number in range(7, 12)]


async def test_a_disk_that_takes_nothing_shows_all_the_same(tmp_path: Path) -> None:
    store = open_shared(tmp_path)
    lease = await store.begin_run(ME, "t", "r", assistant="", name="")
    await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA max_page_count = 1").fetchone())
    await asyncio.wait_for(store.append_entries(ME, "t", 1, [CallResult("c", "x" * 99_999)], lease.fence), HANG_TIMEOUT)
    assert len(store.unwritten) == 1
    assert "disk" in store.failure
    await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA max_page_count = 100000").fetchone())
    await asyncio.wait_for(store.append_entries(ME, "t", 2, [TextDelta("m", "a")], lease.fence), HANG_TIMEOUT)
    assert [number for number, _ in await store.read_entries(ME, "t")] == [1, 2]
    await store.close()


async def test_a_busy_file_is_waited_for(tmp_path: Path) -> None:
    store = open_shared(tmp_path)
    lease = await store.begin_run(ME, "t", "r", assistant="", name="")
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        stored = store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence)
        done, _ = await asyncio.wait([stored], timeout=0.3)
        assert not done, "nothing is shown that is not in the log"
        other.execute("COMMIT")
    await asyncio.wait_for(stored, HANG_TIMEOUT)
    assert store.failure == ""
    await store.close()


async def test_a_file_that_stays_busy_fails_by_name_and_keeps_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_module, "SET_BUSY_TIMEOUT", "PRAGMA busy_timeout = 0")
    store = open_shared(tmp_path)
    lease = await store.begin_run(ME, "t", "r", assistant="", name="")
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await asyncio.wait_for(store.append_entries(ME, "t", 1, [TextStart("m")], lease.fence), HANG_TIMEOUT)
        with pytest.raises(StoreFailed):
            await store.save_results(ME, {"c": "7"})
        other.execute("COMMIT")
    await asyncio.wait_for(store.append_entries(ME, "t", 2, [TextDelta("m", "a")], lease.fence), HANG_TIMEOUT)
    assert await store.read_entries(ME, "t") == [(1, TextStart("m")), (2, TextDelta("m", "a"))]
    await store.close()


@pytest.mark.demand("scale.presence")
async def test_a_worker_is_dead_when_its_lock_is_free(tmp_path: Path) -> None:
    first, second = WorkerLocks(tmp_path, "1"), WorkerLocks(tmp_path, "2")
    assert await first.find_dead({"1", "2"}) == set()
    assert await second.find_dead({"1", "2", "77", "no name"}) == {"77", "no name"}
    first.remove_free_locks({"2", "77"})
    assert await first.find_dead({"2"}) == set(), "a lock that is held is not removed"
    await second.close()
    await second.close()
    assert await first.find_dead({"1", "2"}) == {"2"}
    # Left behind by a killed process.
    (tmp_path / LOCKS_FOLDER / "3").touch()
    assert await first.find_dead({"3"}) == {"3"}
    first.remove_free_locks({"3"})
    assert sorted(path.name for path in (tmp_path / LOCKS_FOLDER).iterdir()) == ["1"]
    await first.close()


@pytest.mark.demand("scale.presence")
async def test_who_cannot_look_takes_nobody_for_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no file descriptor is left."""
    first, second = WorkerLocks(tmp_path, "1"), WorkerLocks(tmp_path, "2")

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        assert first.find_free_locks({"2"}) == set()
        first.remove_free_locks({"2"})
    assert await first.find_dead({"2"}) == set()
    await second.close()
    await first.close()


@pytest.mark.demand("scale.presence")
@pytest.mark.io
async def test_children_of_a_worker_do_not_keep_its_lock(tmp_path: Path) -> None:
    async with start_children(tmp_path, 1) as (worker,):
        (name,) = await worker.read()
        (pid,) = await worker.ask("fork")
        store = open_shared(tmp_path)
        assert await store.presence.find_dead({name}) == set()
        await worker.kill()
        os.kill(int(pid), 0)
        assert await store.presence.find_dead({name}) == {name}
        os.kill(int(pid), 9)
        await store.close()


@pytest.mark.demand("scale.presence")
@pytest.mark.io
async def test_a_killed_workers_runs_end_and_those_of_others_do_not(tmp_path: Path) -> None:
    async with start_children(tmp_path, 3) as children:
        workers = [(await child.read())[0] for child in children]
        assert len(set(workers)) == 3
        for child, name in zip(children, workers, strict=True):
            assert (await child.ask("begin", f"of-{name}"))[0] == "lease"
            assert await child.ask("say", f"of-{name}", "20") == ["said", "20"]
        killed, alive, _ = children
        await killed.kill()
        store = open_shared(tmp_path)
        assert store.recovered == 1
        entries = await store.read_entries(ME, f"of-{workers[0]}")
        text = "".join(entry.text for _, entry in entries if isinstance(entry, TextDelta))
        assert text.split() == [str(number) for number in range(20)], "all that was shown is in the log"
        assert [entry for _, entry in entries[-2:]] == [TextEnd("m"), RUN_RESTARTED]
        assert entries[-1][0] > RUN_NUMBERS
        assert await store.list_lease_workers() == set(workers[1:])
        assert await store.presence.find_dead(workers) == {workers[0]}
        assert await alive.ask("say", f"of-{workers[1]}", "3") == ["said", "3"]
        assert await store.end_orphaned_runs({workers[0]}) == []
        assert sorted(path.name for path in (tmp_path / "run" / LOCKS_FOLDER).iterdir()) == sorted(
            [*workers[1:], store.worker], key=int
        )
        await store.close()


@pytest.mark.demand("scale.shared_store")
@pytest.mark.io
async def test_of_two_processes_that_want_a_thread_one_gets_it(tmp_path: Path) -> None:
    async with start_children(tmp_path, 2) as children:
        for child in children:
            await child.read()
        for number in range(200):
            for child in children:
                child.send("begin", f"t{number % 20}")
            answers = [await child.read() for child in children]
            assert sorted(answer[0] for answer in answers) == ["busy", "lease"], answers
            winner = next(child for child, answer in zip(children, answers, strict=True) if answer[0] == "lease")
            assert await winner.ask("end", f"t{number % 20}") == ["ended"]
    store = open_shared(tmp_path)
    for number in range(20):
        numbers = [number for number, _ in await store.read_entries(ME, f"t{number}")]
        assert numbers == list(range(1, 11)), "no number twice"
    await store.close()


@pytest.mark.demand("scale.shared_store")
@pytest.mark.io
async def test_four_writers_wait_for_each_other_and_lose_nothing(tmp_path: Path) -> None:
    async with start_children(tmp_path, 4) as children:
        for child in children:
            await child.read()
        for number, child in enumerate(children):
            child.send("stream", f"w{number}", "10", "30")
        for child in children:
            assert await child.read() == ["streamed", "300", "failures", "0"]
    store = open_shared(tmp_path)
    for worker in range(4):
        for stream in range(10):
            entries = await store.read_entries(ME, f"w{worker}-{stream}")
            text = "".join(entry.text for _, entry in entries if isinstance(entry, TextDelta))
            assert text.split() == [str(number) for number in range(30)]
            numbers = [number for number, _ in entries]
            assert numbers == sorted(set(numbers))
    await store.close()


@pytest.mark.demand("scale.shared_store")
async def test_damage_that_one_worker_finds_stops_all(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        await store.save_results(ME, {"c": "7"})
        store.health.report_damage("a page is damaged", structural=True)
        with pytest.raises(StoreDamaged):
            await other.save_results(ME, {"c": "8"})
        assert not other.usable
        assert "store repair" in other.failure
    # All have ended: the next start checks the whole file and finds it intact.
    async with open_two(tmp_path) as (store, other):
        assert await other.get_results(ME, ["c"]) == {"c": "7"}
        assert store.opened_first
        assert not other.opened_first


@pytest.mark.demand("scale.shared_store")
async def test_a_damaged_row_is_said_by_all_and_hides_no_damaged_file(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        store.health.report_damage("a row is damaged", structural=False)
        await other.save_results(ME, {"c": "8"})
        assert other.usable
        assert "store repair" in other.failure
        store.health.report_damage("a page is damaged", structural=True)
        other.health.report_damage("a row is damaged", structural=False)
        with pytest.raises(StoreDamaged):
            await other.save_results(ME, {"c": "8"})


@pytest.mark.demand("scale.shared_store")
async def test_a_worker_that_starts_later_repairs_no_file_that_others_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_damage(path: Path) -> sqlite3.Connection:
        raise DamagedFile("a page is damaged")

    store = open_shared(tmp_path)
    monkeypatch.setattr(shared_module, "open_database", find_damage)
    with pytest.raises(ConfigError, match="store repair"):
        open_shared(tmp_path)
    with pytest.raises(StoreDamaged):
        await store.save_results(ME, {"c": "8"})
    await store.close()
    assert os.listdir(tmp_path / "run" / LOCKS_FOLDER) == []


@pytest.mark.demand("scale.shared_store")
async def test_a_damaged_file_is_repaired_by_the_first_worker_only(tmp_path: Path) -> None:
    store = open_shared(tmp_path)
    await store.save_results(ME, {"c": "7"})
    await store.close()
    content = b"something else" * 1000
    (tmp_path / DATABASE_FILE).write_bytes(content)
    async with open_two(tmp_path) as (store, other):
        assert store.repair_report is not None
        assert other.repair_report is None
        await other.save_results(ME, {"c": "8"})
        assert await store.get_results(ME, ["c"]) == {"c": "8"}


async def test_a_check_gives_way_to_whoever_deletes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.stores.sqlite.repair.CHECKED_AT_START", 0)
    async with open_two(tmp_path) as (store, other):
        assert store.check is not None
        assert other.check is None
        begun = store.check.get_deletion_time()
        assert not store.check.must_pause(begun)
        lease = await other.begin_run(ME, "t", "r", assistant="", name="a canary")
        await other.append_entries(ME, "t", 1, [RunStarted("t", "r"), RunFinished("stop")], lease.fence)
        await other.delete_thread(ME, "t")
        assert store.check.must_pause(begun)
        assert not find_files_with(tmp_path, "a canary")


async def test_a_busy_thread_is_busy_at_the_other_too(tmp_path: Path) -> None:
    async with open_two(tmp_path) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        assert await other.has_thread(ME, "t")
        with pytest.raises(ThreadBusy) as busy:
            await other.begin_run(ME, "t", "r2", assistant="", name="")
        assert busy.value.holder.worker == store.worker
        assert busy.value.holder.fence == lease.fence


@pytest.mark.demand("scale.presence")
@pytest.mark.io
async def test_workers_that_start_at_once_leave_each_others_runs_alone(tmp_path: Path) -> None:
    async with start_children(tmp_path, 1) as (first,):
        (name,) = await first.read()
        assert (await first.ask("begin", "t"))[0] == "lease"
        async with start_children(tmp_path, 3) as others:
            for number, child in enumerate(others):
                # Asked before it has opened the store: its first run begins while others recover.
                child.send("begin", f"t{number}")
            for child in others:
                await child.read()
                assert (await child.read())[0] == "lease"
            assert await first.ask("say", "t", "3") == ["said", "3"]
            store = open_shared(tmp_path)
            assert store.recovered == 0
            assert len(await store.list_lease_workers()) == 4
            assert name in await store.list_lease_workers()
            await store.close()


@pytest.mark.demand("scale.shared_store")
@pytest.mark.io
async def test_a_file_that_workers_use_is_checked_and_copied(tmp_path: Path) -> None:
    async with start_children(tmp_path, 2) as children:
        for child in children:
            await child.read()
        for number, child in enumerate(children):
            child.send("stream", f"w{number}", "5", "20")
        database = tmp_path / DATABASE_FILE
        copies = []
        for number in range(3):
            assert await asyncio.to_thread(check_file, database, whole=True) == ""
            copies.append(tmp_path / f"copy{number}")
            await asyncio.to_thread(copy_database, database, copies[-1])
        for child in children:
            assert await child.read() == ["streamed", "100", "failures", "0"]
        for copy in copies:
            assert check_file(copy, whole=True) == ""
