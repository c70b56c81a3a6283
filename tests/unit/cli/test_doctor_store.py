"""`rightseat doctor` and what is kept: where it is, how much, and whether it can be used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rightseat.cli.doctor import stream_config_checks
from rightseat.config.load import load_config
from rightseat.config.settings import Config, StoreSettings
from rightseat.doctor.result import CheckResult
from rightseat.doctor.setup import check_store
from rightseat.stores.sqlite import SQLiteStore
from rightseat.stores.sqlite.database import MIGRATIONS
from rightseat.types.turn import Owner


def check_sqlite_store(folder: Path, kind: str = "sqlite") -> CheckResult:
    return check_store(Config(store=StoreSettings(kind=kind, path=str(folder))))


async def create_store(folder: Path) -> None:
    made = SQLiteStore(folder)
    await made.begin_run(Owner(), "t", "r", assistant="a", name="n")
    await made.close()


@pytest.mark.demand("doctor.line_store_how_large")
async def test_what_is_kept_is_told_also_while_a_server_uses_it(tmp_path: Path) -> None:
    await create_store(tmp_path)
    using = SQLiteStore(tmp_path)
    line = check_sqlite_store(tmp_path)
    await using.close()
    assert line.state == "good"
    assert str(tmp_path) in line.why
    assert f"1 threads, 0.1 MB, version {len(MIGRATIONS)}" in line.why


def test_a_folder_that_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    line = check_sqlite_store(tmp_path / "a" / "b")
    assert (line.state, "nothing stored yet" in line.why) == ("good", True)
    assert list(tmp_path.iterdir()) == []


def test_memory_says_that_it_forgets() -> None:
    assert "gone with this process" in check_sqlite_store(Path(), "memory").why


@pytest.mark.demand("doctor.line_store_how_large")
def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = check_sqlite_store(tmp_path / "file" / "data")
    assert (line.state, "cannot write" in line.why) == ("broken", True)
    assert "[store] path" in line.fix


@pytest.mark.demand("doctor.line_store_how_large")
@pytest.mark.parametrize("content", [b"no database at all, but long enough to look at", b""])
async def test_a_file_that_is_none_of_ours(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rightseat.db").write_bytes(content * 100)
    line = check_sqlite_store(tmp_path)
    assert line.state == ("broken" if content else "good")
    assert ("cannot read" in line.why) is bool(content)


@pytest.mark.demand("doctor.line_store_how_large")
async def test_versions(tmp_path: Path) -> None:
    await create_store(tmp_path)
    for version, state in ((len(MIGRATIONS) + 1, "broken"), (len(MIGRATIONS), "good")):
        with closing(sqlite3.connect(tmp_path / "rightseat.db")) as database:
            database.execute(f"PRAGMA user_version = {version}")
        line = check_sqlite_store(tmp_path)
        assert (line.state, "newer rightseat" in line.why) == (state, state == "broken")


@pytest.mark.demand("doctor.line_store_how_large")
async def test_the_doctor_has_the_line(tmp_path: Path) -> None:
    (tmp_path / "rightseat.toml").write_text(
        f'[store]\npath = "{tmp_path / "data"}"\n[models.a]\nspec = "scripted:demo"\n'
    )
    found = [line.what async for line in stream_config_checks(load_config(tmp_path / "rightseat.toml"), call=False)]
    assert found[0] == "store"
