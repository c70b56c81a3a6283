"""`rightseat store`: check, repair, backup and restore, each with what it says and what it leaves alone."""

import io
import os
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.doctor.setup import check_store as check_doctor_store
from rightseat.stores.sqlite import SQLiteStore
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.types.events import RunFinished, RunStarted
from rightseat.types.stores import PendingQuestion
from rightseat.types.turn import Owner
from tests.kit.command import run_command

ME = Owner("me")


def write_config(folder: Path, text: str) -> str:
    file = folder / "rightseat.toml"
    file.write_text(text, "utf-8")
    return str(file)


@pytest.fixture
def config(tmp_path: Path) -> str:
    return write_config(tmp_path, '[models.m]\nspec = "scripted:demo"\n[store]\npath = "data"\n')


async def fill_data(folder: Path, thread: str = "t") -> None:
    store = SQLiteStore(folder)
    before = (await store.begin_run(ME, thread, "r", assistant="a", name=thread, digest="d")).before
    store.append_entries(ME, thread, before + 1, [RunStarted(thread, "r"), RunFinished("stop")])
    await store.save_results(ME, {"call": "a result that is long enough to be found"})
    await store.save_pending_question(ME, "talk", PendingQuestion("ask_1", "ask", "?"))
    await store.close()


async def list_ids(folder: Path) -> set[str]:
    store = SQLiteStore(folder)
    threads = await store.list_threads(ME)
    await store.close()
    return {thread.id for thread in threads}


def damage(folder: Path, text: bytes = b"long enough") -> None:
    file = folder / DATABASE_FILE
    content = file.read_bytes()
    assert text in content
    file.write_bytes(content.replace(text, text.upper()))


@pytest.mark.demand("security.store_commands")
async def test_a_damaged_store_is_found_and_repaired(tmp_path: Path, config: str) -> None:
    data = tmp_path / "data"
    assert "no store yet" in (await run_command("store", "check", "--config", config)).err
    await fill_data(data)
    checked = await run_command("store", "check", "--config", config)
    assert (checked.code, "is intact" in checked.out) == (0, True)
    assert "nothing to repair" in (await run_command("store", "repair", "--config", config)).out
    damage(data)
    checked = await run_command("store", "check", "--config", config)
    assert (checked.code, "rightseat store repair" in checked.out) == (1, True)
    assert "is damaged" in check_doctor_store(load_config(Path(config))).why
    repaired = await run_command("store", "repair", "--config", config)
    assert repaired.code == 0
    assert "kept as" in repaired.out
    assert "Carried over: 1 thread, 2 events." in repaired.out
    assert "Lost: 1 tool result." in repaired.out
    assert "must not take effect twice" in repaired.out
    assert (await run_command("store", "check", "--config", config)).code == 0
    assert await list_ids(data) == {"t"}
    assert len([name for name in os.listdir(data) if re.search(r"\.damaged-\w+Z$", name)]) == 1


@pytest.mark.demand("security.store_commands")
async def test_a_store_in_use_is_backed_up_and_not_repaired(tmp_path: Path, config: str) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    await fill_data(data)
    store = SQLiteStore(data)
    await store.begin_run(ME, "running", "r", assistant="a", name="n")
    assert (await run_command("store", "backup", str(backup), "--config", config)).code == 0
    assert f"pid {os.getpid()}" in (await run_command("store", "repair", "--config", config)).err
    assert f"pid {os.getpid()}" in (await run_command("store", "restore", str(backup), "--config", config)).err
    await store.close()
    with closing(sqlite3.connect(backup)) as database:
        assert set(database.execute("SELECT id FROM threads")) == {("t",), ("running",)}
    assert backup.stat().st_mode & 0o077 == 0
    assert sorted(os.listdir(tmp_path)) == ["backup.db", "data", "rightseat.toml"]


@pytest.mark.demand("security.store_commands")
async def test_a_backup_is_not_written_over_without_force(tmp_path: Path, config: str) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    await fill_data(data)
    backup.write_text("something of mine")
    refused = await run_command("store", "backup", str(backup), "--config", config)
    assert (refused.code, "--force" in refused.err) == (1, True)
    assert backup.read_text() == "something of mine"
    assert "is a folder" in (await run_command("store", "backup", str(tmp_path), "--config", config)).err
    own = str(data / DATABASE_FILE)
    assert "cannot be written over" in (await run_command("store", "backup", own, "--config", config, "--force")).err
    assert (await run_command("store", "backup", str(backup), "--config", config, "--force")).code == 0
    damage(data)
    damaged = await run_command("store", "backup", str(backup), "--config", config, "--force")
    assert (damaged.code, "is damaged" in damaged.err) == (1, True)
    assert (await run_command("store", "restore", str(backup), "--config", config, "--force")).code == 0, "it is whole"


@pytest.mark.demand("security.store_commands")
async def test_a_backup_is_restored_and_the_present_store_is_kept(
    tmp_path: Path, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    await fill_data(data)
    await run_command("store", "backup", str(backup), "--config", config)
    await fill_data(data, "later")
    # Nobody says yes.
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    asked = await run_command("store", "restore", str(backup), "--config", config)
    assert asked.code == 1
    assert "runs again when it is sent again" in asked.out
    assert await list_ids(data) == {"t", "later"}
    restored = await run_command("store", "restore", str(backup), "--config", config, "--force")
    assert restored.code == 0
    assert "kept as" in restored.out
    store = SQLiteStore(data)
    assert [thread.id for thread in await store.list_threads(ME)] == ["t"]
    assert await store.get_pending_question(ME, "talk") is None, "it may have been answered since"
    assert len(await store.get_results(ME, ["call"])) == 1
    await store.close()
    (kept,) = [name for name in os.listdir(data) if ".replaced-" in name]
    with closing(sqlite3.connect(data / kept)) as database:
        assert set(database.execute("SELECT id FROM threads")) == {("t",), ("later",)}
    assert "does not exist" in (await run_command("store", "restore", str(tmp_path / "none"), "--config", config)).err
    backup.write_bytes(b"no backup" * 1000)
    assert "is damaged" in (await run_command("store", "restore", str(backup), "--config", config)).err
    assert await list_ids(data) == {"t"}


@pytest.mark.demand("security.store_commands")
async def test_a_store_in_memory_has_no_file(tmp_path: Path) -> None:
    config = write_config(tmp_path, '[store]\nkind = "memory"\n')
    refused = await run_command("store", "check", "--config", config)
    assert (refused.code, "kind is memory" in refused.err) == (1, True)
