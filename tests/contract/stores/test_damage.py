"""Bytes of a database file are flipped: the store opens, says what is lost, and what it returns is right."""

import asyncio
import contextlib
import os
import random
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rightseat.errors import ConfigError, Conflict, StoreDamaged
from rightseat.stores.sqlite import SQLiteStore, repair
from rightseat.stores.sqlite.database import MIGRATIONS, open_database
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.types.events import (
    CallEnd,
    CallResult,
    CallStart,
    Interrupt,
    RunFinished,
    RunStarted,
    TextDelta,
    TextStart,
)
from rightseat.types.messages import text_message
from rightseat.types.stores import CallState, Continuation, OpenQuestion, PendingQuestion
from rightseat.types.threads import RUN_RESTARTED, NumberedEntry, RunEnded, ThreadEntry, UserInput
from rightseat.types.tools import Ask
from rightseat.types.turn import Owner
from tests.kit.rounds import sample_evenly
from tests.kit.timeouts import HANG_TIMEOUT

OWNERS = [Owner("alice"), Owner("alicf"), Owner("bob")]
THREADS = [f"thread-{number}" for number in range(5)]
FILES = (DATABASE_FILE, f"{DATABASE_FILE}-wal")
PLACES = 200


@dataclass
class Truth:
    """What the store was given, by owner."""

    folder: Path
    entries: dict[tuple[str, str], dict[int, ThreadEntry]] = field(default_factory=dict)
    results: dict[tuple[str, str], str] = field(default_factory=dict)
    checkpoints: dict[tuple[str, str], bytes] = field(default_factory=dict)


def make_continuation(owner: Owner, token: str) -> Continuation:
    interrupt = Interrupt(f"ask_{token}_1", "confirm", f"May {owner.name} pay?", {})
    question = OpenQuestion(interrupt, Ask("May it?"))
    calls = {f"call_{token}_1": CallState(open=(question,))}
    return Continuation(
        ticket=token, owner=owner, assistant="a", added=(), calls=calls, rounds=1, number=1, digest="", expires=9e9
    )


def make_token(owner: Owner, name: str) -> str:
    return (owner.name + name).encode().hex()[:24].ljust(24, "0")


async def fill_store(store: SQLiteStore, truth: Truth) -> None:
    for owner in OWNERS:
        for thread in THREADS:
            key = (owner.name, thread)
            truth.entries[key] = {}
            for run in ("r1", "r2"):
                text = f"{owner.name} in {thread} said {run}. " * 20
                names = {"assistant": "a", "name": f"of {key}", "digest": f"d-{run}"}
                before = (await store.begin_run(owner, thread, run, **names)).before
                entries: list[ThreadEntry] = [
                    UserInput((text_message("user", f"{owner.name} asks {run}"),)),
                    RunStarted(thread, run),
                    CallStart("c", "pay", "m"),
                    CallEnd("c"),
                    CallResult("c", f"paid by {owner.name}"),
                    TextStart("m"),
                    TextDelta("m", text),
                    RunFinished("stop"),
                ]
                store.append_entries(owner, thread, before + 1, entries)
                truth.entries[key] |= dict(enumerate(entries, before + 1))
        for number in range(4):
            call = f"call-{number}"
            truth.results[owner.name, call] = f"result {number} of {owner.name}"
            truth.checkpoints[owner.name, call] = f"note {number} of {owner.name}".encode() * 300
            await store.save_results(owner, {call: truth.results[owner.name, call]})
            await store.save_checkpoint(owner, call, truth.checkpoints[owner.name, call])
        await store.save_pending_question(owner, "talk", PendingQuestion("ask_1", "ask", f"of {owner.name}?"))
        for name in ("open", "answered"):
            await store.save_continuation(make_continuation(owner, make_token(owner, name)))


async def write_truth(folder: Path, copied: Path) -> Truth:
    truth = Truth(copied)
    store = SQLiteStore(folder)
    await fill_store(store, truth)
    await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    for owner in OWNERS:
        token = make_token(owner, "answered")
        assert await store.claim_continuation(owner, token, "a", [f"ask_{token}_1"])
        await store.settle_continuation(owner, token)
    for file in FILES:
        shutil.copyfile(folder / file, copied / file)
    await store.close()
    return truth


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    """A store whose last changes, answers to questions, are in the write-ahead log."""
    return asyncio.run(write_truth(tmp_path_factory.mktemp("filled"), tmp_path_factory.mktemp("copied")))


def copy_damaged(truth: Truth, folder: Path, seed: int) -> tuple[str, int]:
    """Copy the files with one to four bytes changed at one place; returns the file and the place."""
    chance = random.Random(seed)
    for file in FILES:
        shutil.copyfile(truth.folder / file, folder / file)
    file = FILES[seed % 5 == 4]
    content = bytearray((folder / file).read_bytes())
    # Every fifth in the log, every fifth in the head, the others anywhere.
    place = chance.randrange(100 if seed % 5 == 3 else len(content) - 4)
    for offset in range(chance.choice((1, 1, 1, 4))):
        content[place + offset] ^= chance.randrange(1, 256)
    (folder / file).write_bytes(content)
    return file, place


async def compare_store(store: SQLiteStore, truth: Truth) -> int:
    """Compare all that the store returns with what it was given; returns how many entries there are."""
    count = 0
    for owner in OWNERS:
        listed = await store.list_threads(owner, archived=True)
        assert {thread.id for thread in listed} <= set(THREADS)
        assert all(thread.name in ("", f"of {(owner.name, thread.id)}") for thread in listed)
        for thread in listed:
            read: list[NumberedEntry] = await store.read_entries(owner, thread.id)
            expected = truth.entries[owner.name, thread.id]
            assert all(entry == RUN_RESTARTED or expected.get(number) == entry for number, entry in read)
            assert thread.last >= max((number for number, _ in read), default=0)
            count += len(read)
        for (name, key), text in truth.results.items():
            if name == owner.name:
                assert (await store.get_results(owner, [key])).get(key, text) == text
                assert await store.get_checkpoint(owner, key) in (None, truth.checkpoints[name, key])
        assert (await store.get_pending_question(owner, "talk") or PendingQuestion("", "ask", "")).question in (
            "",
            f"of {owner.name}?",
        )
        answered = make_token(owner, "answered")
        assert await store.claim_continuation(owner, answered, "a", [f"ask_{answered}_1"]) is None, "answered twice"
        token = make_token(owner, "open")
        taken = await store.claim_continuation(owner, token, "a", [f"ask_{token}_1"])
        assert taken in (None, make_continuation(owner, token))
    return count


async def repeat_runs(store: SQLiteStore) -> int:
    """Post every run again; returns how many of them would run a second time."""
    again = 0
    for owner in OWNERS:
        for thread in THREADS:
            for run in ("r1", "r2"):
                # Ended: it is replayed. Conflict: it is lost, and refused.
                with contextlib.suppress(RunEnded, Conflict):
                    await store.begin_run(owner, thread, run, assistant="a", name="", digest=f"d-{run}")
                    again += 1
    return again


@pytest.mark.slow
@pytest.mark.demand("security.store_damage")
@pytest.mark.parametrize("part", [0, 1, *(pytest.param(part, marks=pytest.mark.long) for part in range(2, 8))])
async def test_bytes_flipped_in_200_places(truth: Truth, tmp_path: Path, part: int) -> None:
    total = sum(map(len, truth.entries.values()))
    for seed in range(part, PLACES, 8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        place = copy_damaged(truth, folder, seed)
        store = SQLiteStore(folder)
        count = await compare_store(store, truth)
        again = await repeat_runs(store)
        await store.close()
        report = store.repair_report
        if report is None:
            assert count == total, place
        else:
            assert report.kept_aside is not None
            assert report.kept_aside.is_file()
            # Records of one page at most, with those that continue on it.
            assert count >= total - 60, (place, report.lines())
        assert again == 0, (place, report and report.lines())
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.demand("security.store_damage")
async def test_a_damaged_file_is_refused_by_setting_and_stays(truth: Truth, tmp_path: Path) -> None:
    for seed in sample_evenly(range(0, PLACES, 7)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        copy_damaged(truth, folder, seed)
        before = (folder / DATABASE_FILE).read_bytes()
        refusal, store = "", None
        try:
            store = SQLiteStore(folder, damaged="refuse")
        except ConfigError as error:
            refusal = error.message
        if store is None:
            assert "rightseat store repair" in refusal
            assert (folder / DATABASE_FILE).read_bytes() == before
            assert DATABASE_FILE + ".damaged" not in " ".join(os.listdir(folder))
        else:
            assert await compare_store(store, truth)
            await store.close()


@pytest.mark.slow
@pytest.mark.demand("security.store_damage")
@pytest.mark.parametrize("pages", [1, 8])
async def test_a_large_damaged_file_opens_and_returns_nothing_wrong(
    truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    monkeypatch.setattr(repair, "CHECKED_AT_START", 0)
    for seed in sample_evenly(range(0, PLACES, 9)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        copy_damaged(truth, folder, seed)
        chance = random.Random(seed)
        content = bytearray((folder / DATABASE_FILE).read_bytes())
        for _ in range(pages):
            place = chance.randrange(1, len(content) // 4096) * 4096
            content[place : place + 16] = chance.randbytes(16)
        (folder / DATABASE_FILE).write_bytes(content)
        store = SQLiteStore(folder)
        try:
            await compare_store(store, truth)
        except StoreDamaged:
            assert store.failure
        await store.close()
        again = SQLiteStore(folder)
        await again.close()


@pytest.mark.demand("security.store_damage")
async def test_numbers_of_lost_entries_are_not_used_again(truth: Truth, tmp_path: Path) -> None:
    for file in FILES:
        shutil.copyfile(truth.folder / file, tmp_path / file)
    replace_bytes(tmp_path / DATABASE_FILE, b"alice in thread-0 said r2", b"alice in thread-0 said r3")
    store = SQLiteStore(tmp_path)
    before = (await store.begin_run(OWNERS[0], "thread-0", "r3", assistant="a", name="")).before
    assert before > max(truth.entries["alice", "thread-0"])
    await store.close()


def replace_bytes(file: Path, old: bytes, new: bytes) -> None:
    content = file.read_bytes()
    assert old in content
    file.write_bytes(content.replace(old, new))


@pytest.mark.demand("security.store_damage")
async def test_a_damaged_row_of_a_large_file_is_found_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair, "CHECKED_AT_START", 0)
    owner = OWNERS[0]
    store = SQLiteStore(tmp_path)
    await store.save_results(owner, {"good": "a good result", "bad": "a bad result"})
    await store.close()
    assert store.failure == "", "an intact file"
    replace_bytes(tmp_path / DATABASE_FILE, b"a bad result", b"a sad result")
    store = SQLiteStore(tmp_path)
    assert store.repair_report is None
    assert store.check is not None
    await asyncio.to_thread(store.check.thread.join)
    assert "rightseat store repair" in store.failure
    assert store.usable
    assert await store.get_results(owner, ["good"]) == {"good": "a good result"}
    with pytest.raises(StoreDamaged):
        await store.get_results(owner, ["bad"])
    await store.close()
    # The next start reads the whole file, however large it is.
    store = SQLiteStore(tmp_path)
    assert store.repair_report is not None
    assert await store.get_results(owner, ["good", "bad"]) == {"good": "a good result"}
    await store.close()


@pytest.mark.demand("security.store_damage")
async def test_a_damaged_index_of_a_large_file_stops_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "CHECKED_AT_START", 0)
    store = SQLiteStore(tmp_path)
    await store.save_results(OWNERS[0], {"kept-in-the-index": "x"})
    await store.close()
    replace_bytes(tmp_path / DATABASE_FILE, b"aliceresultkept-in-the-index", b"aliceresultkept-in-the-indux")
    store = SQLiteStore(tmp_path)
    assert store.check is not None
    await asyncio.to_thread(store.check.thread.join)
    assert not store.usable
    with pytest.raises(StoreDamaged):
        await store.get_results(OWNERS[0], ["kept-in-the-index"])
    await store.close()
    store = SQLiteStore(tmp_path)
    assert await store.get_results(OWNERS[0], ["kept-in-the-index"]) == {"kept-in-the-index": "x"}
    await store.close()


@pytest.mark.demand("security.store_damage")
async def test_a_check_gives_way_to_a_deletion_and_ends_with_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair, "CHECKED_AT_START", 0)
    monkeypatch.setattr(repair, "CHECK_STEPS", 1)
    monkeypatch.setattr(repair, "PAUSE_SECONDS", 0.01)
    began = threading.Event()

    def read_long(database: sqlite3.Connection) -> str:
        began.set()
        database.execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT MAX(x) FROM n")
        raise AssertionError("it has no end")

    monkeypatch.setattr(repair, "find_structural_damage", read_long)
    store = SQLiteStore(tmp_path)
    assert await asyncio.to_thread(began.wait, HANG_TIMEOUT)
    began.clear()
    await store.delete_thread(OWNERS[0], "none")
    assert await asyncio.to_thread(began.wait, HANG_TIMEOUT), "it begins anew"
    await asyncio.wait_for(store.close(), HANG_TIMEOUT)


@pytest.mark.demand("security.store_damage")
async def test_a_repair_that_was_killed_is_finished_by_the_next_start(truth: Truth, tmp_path: Path) -> None:
    copy_damaged(truth, tmp_path, 0)
    path = tmp_path / DATABASE_FILE
    # As a process leaves it that is killed between the two: the new file is whole, the old one already aside.
    kept = repair.repair_file(path, "a test").kept_aside
    assert kept is not None
    path.replace(tmp_path / f"{DATABASE_FILE}.new")
    store = SQLiteStore(tmp_path)
    assert await compare_store(store, truth)
    await store.close()
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["lock", DATABASE_FILE, *(name for name in os.listdir(tmp_path) if name.startswith(kept.name))]
    )


@pytest.mark.demand("security.store_damage")
async def test_an_empty_file_beside_its_log_is_no_new_one(truth: Truth, tmp_path: Path) -> None:
    for file in FILES:
        shutil.copyfile(truth.folder / file, tmp_path / file)
    (tmp_path / DATABASE_FILE).write_bytes(b"")
    with pytest.raises(ConfigError, match="is empty"):
        SQLiteStore(tmp_path, damaged="refuse")
    store = SQLiteStore(tmp_path)
    assert store.repair_report is not None
    await store.close()


@pytest.mark.demand("security.store_damage")
async def test_a_damaged_file_of_an_older_version_is_said_to_have_no_checksums(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / DATABASE_FILE, MIGRATIONS[:2])) as database, database:
        database.execute("INSERT INTO threads VALUES ('me', 't', 'a name', '', 1, 1, 0, 15, 1, 0)")
    replace_bytes(tmp_path / DATABASE_FILE, b"SQLite format 3", b"SQLite format 4")
    store = SQLiteStore(tmp_path)
    assert store.repair_report is not None
    assert "without checksums" in " ".join(store.repair_report.lines())
    assert await store.list_threads(Owner("me")) == []
    await store.close()
