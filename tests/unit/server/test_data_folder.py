"""The data folder of a real server: threads are there after any end, and it has one server at a time."""

import contextlib
import json
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.settings import Config, StoreSettings
from rightseat.errors import ConfigError
from rightseat.wiring.storage import data_folder, describe_store_location, open_store
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.faults import send_endlessly
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.unit.doors.copilotkit import client as graphql

WORDS = 16
BODY: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}


def make_run_input(text: str, run: str) -> dict[str, Any]:
    messages = [{"id": f"u-{run}", "role": "user", "content": text}]
    return {"threadId": "t", "runId": run, "messages": messages, **BODY}


async def collect_connect_frames(url: str) -> list[SseFrame]:
    async with RawHttpClient(url) as client:
        await client.post_json("/copilotkit/agent/default/connect", make_run_input("", "c"))
        assert (await client.read_head()).status == 200
        return [frame async for frame in client.iterate_frames() if frame.data]


def join_text(frames: list[SseFrame]) -> str:
    return "".join(frame.json.get("delta", "") for frame in frames)


async def read_until_stored(folder: Path, client: RawHttpClient) -> None:
    """Reads on until the file has some words of the answer, which has no end."""
    limit, words = time.monotonic() + HANG_TIMEOUT, 0
    while words < WORDS:
        assert time.monotonic() < limit, f"{words} words are kept"
        assert await client.read_piece()
        with contextlib.closing(sqlite3.connect(f"file:{folder}/rightseat.db?mode=ro", uri=True)) as file:
            words = sum(body.count(b"w0") for (body,) in file.execute("SELECT body FROM entries"))


@pytest.mark.demand("copilotkit.sqlite_data_folder_default")
@pytest.mark.long
@pytest.mark.io
async def test_killed_in_mid_run_it_has_its_text_and_a_free_thread(tmp_path: Path) -> None:
    """What was said is there although the run did not end: deltas are written four times a second."""
    async with FakeUpstream() as upstream:
        upstream.reply = send_endlessly(rate=100)
        env = {"RIGHTSEAT_DATA": str(tmp_path / "data"), "OPENAI_BASE_URL": upstream.base_url}
        async with RightseatProcess(model="openai:any", env=env) as server, RawHttpClient(server.url) as client:
            await client.post_json("/copilotkit/agent/default/run", make_run_input("hi", "r1"))
            await client.read_head()
            await read_until_stored(tmp_path / "data", client)
            server.send_signal(signal.SIGKILL)
            await server.wait_exit()
        async with RightseatProcess(model="openai:any", env=env) as server:
            frames = await collect_connect_frames(server.url)
            assert join_text(frames).count("w0") >= WORDS
            assert frames[0].json["input"]["messages"][0]["content"] == "hi"
            assert (frames[-1].json["type"], frames[-1].json["code"]) == ("RUN_ERROR", "restarted")
            assert frames[-2].json["type"] == "TEXT_MESSAGE_END"
            async with RawHttpClient(server.url) as client:
                await client.post_json("/copilotkit/agent/default/run", make_run_input("more", "r2"))
                assert (await client.read_head()).status == 200
                assert (await client.read_frame() or SseFrame(None)).json["runId"] == "r2"
            async with RawHttpClient(server.url) as client:
                await client.post_json("/copilotkit/agent/default/stop/t", {})
                assert (await client.read_head()).status == 200
                assert (await client.read_json())["stopped"]


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
@pytest.mark.long
@pytest.mark.io
async def test_killed_in_an_attached_run_its_conversation_is_there(tmp_path: Path) -> None:
    """That of a client of CopilotKit's up to 1.10, which then loads it again."""
    state = "query($data: LoadAgentStateInput!) { loadAgentState(data: $data) { threadExists messages } }"
    load = {"query": state, "variables": {"data": {"agentName": "default", "threadId": "t1"}}}
    async with FakeUpstream() as upstream:
        upstream.reply = send_endlessly(rate=200)
        env = {"RIGHTSEAT_DATA": str(tmp_path / "data"), "OPENAI_BASE_URL": upstream.base_url}
        async with RightseatProcess(model="openai:any", env=env) as server, RawHttpClient(server.url) as client:
            await client.post_json(
                "/copilotkit", graphql.make_request_body(graphql.make_input()), {"Accept": graphql.ACCEPT}
            )
            await client.read_head()
            await read_until_stored(tmp_path / "data", client)
            server.send_signal(signal.SIGKILL)
            await server.wait_exit()
        async with RightseatProcess(model="openai:any", env=env) as server:
            found = (await graphql.post_graphql(server.url, load)).data["loadAgentState"]
    assert found["threadExists"] is True
    asked, answered = json.loads(found["messages"])
    assert (asked["content"], answered["role"]) == ("hi", "assistant")
    assert answered["content"].count("w0") >= WORDS


@pytest.mark.long
@pytest.mark.io
async def test_stopped_by_a_signal_its_run_is_ended_and_kept(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = send_endlessly(rate=100)
        env = {"RIGHTSEAT_DATA": str(tmp_path / "data"), "OPENAI_BASE_URL": upstream.base_url}
        config = "[server]\ngrace = 0.2\n"
        async with (
            RightseatProcess(model="openai:any", env=env, config=config) as server,
            RawHttpClient(server.url) as client,
        ):
            await client.post_json("/copilotkit/agent/default/run", make_run_input("hi", "r1"))
            await client.read_head()
            await client.read_frame()
            server.send_signal(signal.SIGTERM)
            live = [frame async for frame in client.iterate_frames() if frame.data]
            assert (live[-1].json["type"], live[-1].json["code"]) == ("RUN_ERROR", "restarting")
            assert await server.wait_exit() == 0
        async with RightseatProcess(model="openai:any", env=env, config=config) as server:
            found = await collect_connect_frames(server.url)
            assert join_text(found) == join_text(live)
            assert found[-1].data == live[-1].data
            assert found[-1].id == live[-1].id


@pytest.mark.long
@pytest.mark.io
async def test_a_reload_keeps_threads_and_their_runs(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = send_endlessly(rate=100)
        env = {"OPENAI_BASE_URL": upstream.base_url}
        async with RightseatProcess(model="openai:any", env=env, config="[server]\ngrace = 1\n") as server:
            async with RawHttpClient(server.url) as client:
                await client.post_json("/copilotkit/agent/default/run", make_run_input("hi", "r1"))
                await client.read_head()
                await client.read_frame()
                server.send_signal(signal.SIGHUP)
                while "was reloaded" not in server.stderr:
                    assert await client.read_frame() is not None
            async with RawHttpClient(server.url) as client:
                await client.post_json("/copilotkit/agent/default/connect", make_run_input("", "c"))
                await client.read_head()
                first = await client.read_frame()
                assert first is not None
                assert first.json["runId"] == "r1"
                async with RawHttpClient(server.url) as other:
                    await other.post_json("/copilotkit/agent/default/stop/t", {})
                    await other.read_head()
                    assert (await other.read_json())["stopped"]
                rest = [frame async for frame in client.iterate_frames() if frame.data]
                assert rest[-1].json["type"] == "RUN_FINISHED"


@pytest.mark.demand("copilotkit.sqlite_data_folder_default")
@pytest.mark.long
@pytest.mark.io
async def test_the_second_server_names_the_first_and_the_card_the_folder(tmp_path: Path) -> None:
    env = {"RIGHTSEAT_DATA": str(tmp_path / "data")}
    async with RightseatProcess(model="scripted:demo", env=env) as first:
        assert f"data       {tmp_path / 'data'}" in first.stdout
        with pytest.raises(AssertionError) as failed:
            async with RightseatProcess(model="scripted:demo", env=env):
                pass
        assert f"(pid {first.pid})" in str(failed.value)


@each_case(
    ("env", "platform", "folder"),
    [
        ({"RIGHTSEAT_DATA": "/data", "STATE_DIRECTORY": "/state"}, "linux", "/data"),
        ({"STATE_DIRECTORY": "/state:/other"}, "linux", "/state"),
        ({"XDG_DATA_HOME": "/xdg"}, "linux", "/xdg/rightseat/default"),
        ({"XDG_DATA_HOME": "xdg"}, "linux", "~/.local/share/rightseat/default"),
        ({}, "linux", "~/.local/share/rightseat/default"),
        ({}, "darwin", "~/Library/Application Support/rightseat/default"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/rightseat/default"),
    ],
)
def test_where_it_is(env: dict[str, str], platform: str, folder: str) -> None:
    assert data_folder(Config(), env, platform) == Path(folder).expanduser()


def test_each_configuration_has_its_own(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path)}
    one, two = (Config(path=tmp_path / name / "rightseat.toml") for name in ("my app", "other"))
    assert data_folder(one, env) != data_folder(two, env)
    assert data_folder(one, env).name.startswith("my-app-")
    beside = Config(path=tmp_path / "a" / "rightseat.toml", store=StoreSettings(path="kept"))
    assert data_folder(beside, env) == tmp_path / "a" / "kept"


async def test_the_store_that_is_named(tmp_path: Path) -> None:
    store: Any = open_store(Config(store=StoreSettings(path=str(tmp_path / "x"), max_threads=7)))
    assert (tmp_path / "x" / "rightseat.db").is_file()
    assert store.thread_table.retention.threads == 7
    await store.close()
    memory = Config(store=StoreSettings(kind="memory"))
    assert type(open_store(memory)).__name__ == "MemoryStore"
    assert "memory" in describe_store_location(memory)
    with pytest.raises(ConfigError, match="Did you mean 'sqlite'"):
        open_store(Config(store=StoreSettings(kind="sqlit")))


@pytest.mark.demand("scale.shared_store")
@pytest.mark.skipif(sys.platform == "win32", reason="workers need POSIX")
async def test_a_worker_shares_the_store_that_is_named(tmp_path: Path) -> None:
    config = Config(store=StoreSettings(path=str(tmp_path / "x"), max_threads=7))
    env = {"RIGHTSEAT_RUN_FOLDER": str(tmp_path / "run")}
    stores: list[Any] = [open_store(config, env) for _ in range(2)]
    assert [store.thread_table.retention.threads for store in stores] == [7, 7]
    assert await stores[0].presence.find_dead({stores[1].worker}) == set()
    for store in stores:
        await store.close()
    assert list((tmp_path / "run" / "workers").iterdir()) == []
