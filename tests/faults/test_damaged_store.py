"""A damaged store under a server: it starts, or refuses with a sentence; a page met while it runs is a 503."""

import asyncio
import logging
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.stores.sqlite import SQLiteStore
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.types.events import CallResult, RunFinished, RunStarted, TextDelta
from rightseat.types.threads import ThreadEntry
from rightseat.types.turn import Owner
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess, find_executable
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io
RUN_PATH = "/copilotkit/agent/default/run"
RUN_INPUT: dict[str, Any] = {
    "threadId": "t-new",
    "runId": "r",
    "messages": [{"id": "u", "role": "user", "content": "hi"}],
    "state": {},
    "tools": [],
    "context": [],
    "forwardedProps": {},
}


async def fill_folder(folder: Path) -> SQLiteStore:
    """Return an open store with threads, all of them in its file and none in its log."""
    store = SQLiteStore(folder)
    for number in range(30):
        thread = f"t-{number}"
        before = (await store.begin_run(Owner(), thread, "r", assistant="default", name=thread)).before
        entries: list[ThreadEntry] = [RunStarted(thread, "r"), TextDelta("m", f"{thread} " * 500), RunFinished("stop")]
        store.append_entries(Owner(), thread, before + 1, entries)
    await store.get_thread(Owner(), "t-0")
    await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    return store


def damage_file(file: Path, seed: int = 24) -> None:
    """Overwrite a part of each page but the first, which has the tables' definitions."""
    chance = random.Random(seed)
    content = bytearray(file.read_bytes())
    for page in range(4096, len(content), 4096):
        content[page : page + 40] = chance.randbytes(40)
    file.write_bytes(content)


def list_files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def get(url: str, path: str) -> tuple[int, Any]:
    async with RawHttpClient(url) as client:
        await client.get(path)
        head = await client.read_head()
        return head.status, await client.read_json()


def write_config(folder: Path, data: Path, damaged: str) -> Path:
    file = folder / "rightseat.toml"
    text = f'[models.m]\nspec = "scripted:demo"\n[store]\npath = "{data}"\ndamaged = "{damaged}"\n'
    file.write_text(text, "utf-8")
    return file


@pytest.mark.demand("security.store_damage")
async def test_a_server_starts_with_a_damaged_file_and_says_what_is_lost(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await (await fill_folder(data)).close()
    content = bytearray((data / DATABASE_FILE).read_bytes())
    # One entry of one thread says something else.
    place = content.index(b"t-7 t-7 t-7")
    content[place : place + 3] = b"t-8"
    (data / DATABASE_FILE).write_bytes(content)
    config = write_config(tmp_path, data, "replace").read_text("utf-8")
    async with RightseatProcess(config=config) as server:
        status, listed = await get(server.url, "/copilotkit/threads")
        assert (status, len(listed["threads"])) == (200, 30)
        status, exported = await get(server.url, "/copilotkit/threads/t-8/messages")
        assert "t-7" not in str(exported)
        status, exported = await get(server.url, "/copilotkit/threads/t-7/messages")
        assert "t-8" not in str(exported)
        assert (await get(server.url, "/ready")) == (200, {"ready": True})
    assert "Traceback" not in server.stderr
    assert "The damaged file is kept as" in server.stderr
    assert "Carried over: 30 threads" in server.stderr
    assert "Lost: 1 event." in server.stderr
    (aside,) = [path for path in list_files(data) if re.search(r"\.damaged-\w+Z$", path.name)]
    assert aside.read_bytes() == content


@pytest.mark.demand("security.store_damage")
async def test_a_server_refuses_a_damaged_file_by_setting(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await (await fill_folder(data)).close()
    damage_file(data / DATABASE_FILE)
    before = (data / DATABASE_FILE).read_bytes()
    config = write_config(tmp_path, data, "refuse")
    command = [find_executable(), "serve", "--config", str(config), "--port", "0"]
    ended = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert ended.returncode == 1
    assert "rightseat store repair" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (data / DATABASE_FILE).read_bytes() == before


@pytest.mark.demand("security.store_damage")
async def test_a_damaged_page_met_while_running_is_a_503_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await fill_folder(tmp_path)
    runtime = Runtime(model=FakeModel(reply_text("Hello.")), store=store)
    async with serve_runtime(runtime) as server:
        assert (await get(server.url, "/ready")) == (200, {"ready": True})
        damage_file(tmp_path / DATABASE_FILE)
        await store.writer.run_outside_tx(lambda: store.database.execute("PRAGMA shrink_memory").fetchall())
        with caplog.at_level(logging.ERROR, "rightseat.stores"):
            for _ in range(3):
                status, error = await get(server.url, "/copilotkit/threads")
                assert (status, error["code"]) == (503, "store_damaged")
                assert "rightseat store repair" in error["message"]
        assert len(caplog.records) == 1
        status, ready = await get(server.url, "/ready")
        assert (status, ready["ready"]) == (503, False)
        assert "damaged" in ready["store"]
        assert str(tmp_path) not in ready["store"]
        assert (await get(server.url, "/health"))[0] == 200
        # Whether it has run before is not known: it is not run.
        async with RawHttpClient(server.url) as client:
            await client.post_json(RUN_PATH, RUN_INPUT)
            assert (await client.read_head()).status == 503
            assert (await client.read_json())["code"] == "store_damaged"
    await store.close()
    assert (tmp_path / f"{DATABASE_FILE}.check").exists(), "the next start reads the whole file"
    again = SQLiteStore(tmp_path)
    assert again.repair_report is not None
    assert again.usable
    await again.close()


@pytest.mark.demand("security.store_damage")
async def test_a_full_disk_is_named_until_there_is_room(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = await fill_folder(tmp_path)
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Hello.")), store=store)) as server:
        limit = "PRAGMA max_page_count = 1"
        await store.writer.run_outside_tx(lambda: store.database.execute(limit).fetchone())
        with caplog.at_level(logging.ERROR, "rightseat.stores.sqlite.database"):
            for _ in range(3):
                failed = store.append_entries(Owner(), "t-0", 9, [CallResult("c", "x" * 50_000)])
                assert failed is not None
                await asyncio.wait_for(failed, HANG_TIMEOUT)
        assert len([one for one in caplog.records if "disk" in one.getMessage()]) == 1
        status, ready = await get(server.url, "/ready")
        assert (status, ready["ready"]) == (200, True), "answers go on"
        assert "free some space" in ready["store"]
        room = "PRAGMA max_page_count = 100000"
        await store.writer.run_outside_tx(lambda: store.database.execute(room).fetchone())
        await store.save_results(Owner(), {"c": "kept"})
        assert (await get(server.url, "/ready")) == (200, {"ready": True})
    await store.close()
