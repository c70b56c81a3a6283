"""Workers that tell each other of runs by a server between them, and what happens while it is away."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.test_workers import CONNECT, RUN, STOP, WORDS, join_text, make_run, read_frames
from tests.kit import postgres, valkey
from tests.kit.client import RawHttpClient
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.workers import connect_workers

pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]
PASSWORD = "very-secret-word"


@pytest.fixture
async def stack() -> AsyncIterator[contextlib.AsyncExitStack]:
    async with contextlib.AsyncExitStack() as stack:
        yield stack


@pytest.fixture(params=["valkey", "postgres"])
async def relay_url(request: pytest.FixtureRequest) -> AsyncIterator[tuple[FaultyRelay, str]]:
    """A port in front of a live server, and the address of it."""
    if request.param == "valkey":
        async with FaultyRelay(valkey.share_server().port) as relay:
            yield relay, f"redis://127.0.0.1:{relay.port}/5"
    else:
        home = postgres.get_session_server().home
        async with FaultyRelay(home / ".s.PGSQL.5432") as relay:
            yield relay, f"postgresql://postgres@127.0.0.1:{relay.port}/postgres"


def write_config(home: Path, url: str, model: str) -> str:
    return f'[models.m]\n{model}\n[store]\npath = "{home / "data"}"\n[live]\nurl = "env:LIVE_URL"\n'


@pytest.mark.demand("cluster.live_between_processes")
async def test_a_run_is_followed_and_stopped_at_another_worker(
    tmp_path: Path, relay_url: tuple[FaultyRelay, str], stack: contextlib.AsyncExitStack
) -> None:
    relay, url = relay_url
    async with FakeUpstream() as upstream:
        model = f'spec = "openai:x"\nbase_url = "{upstream.base_url}"\napi_key = "key"'
        config = write_config(tmp_path, url, model)
        async with RightseatProcess(config=config, args=["--workers", "2"], env={"LIVE_URL": url}) as server:
            clients = await connect_workers(stack, server.url, 2)
            assert relay.accepted, "the workers use the server of [live]"
            await clients[1].post_json(RUN, make_run("t", "r", "fault-stall"))
            await upstream.wait_requests(1)
            await clients[2].post_json(f"{STOP}/t", {})
            head = await clients[2].read_head()
            assert (head.status, json.loads(await clients[2].read_body())["stopped"]) == (200, True)
            await upstream.wait_closed(1)
            frames = await read_frames(clients[1])
            assert frames[-1].json["type"] in ("RUN_ERROR", "RUN_FINISHED")


@pytest.mark.demand("cluster.live_between_processes")
@pytest.mark.parametrize("state", ["refuse", "be_silent"])
async def test_runs_are_followed_while_the_live_server_is_away(
    tmp_path: Path, relay_url: tuple[FaultyRelay, str], stack: contextlib.AsyncExitStack, state: str
) -> None:
    relay, url = relay_url
    (tmp_path / "turns.json").write_text(json.dumps({"turns": [{"say": WORDS, "pace_ms": 50}] * 50}), "utf-8")
    config = write_config(tmp_path, url, f'spec = "scripted:{tmp_path / "turns.json"}"')
    async with RightseatProcess(config=config, args=["--workers", "2"], env={"LIVE_URL": url}) as server:
        clients = await connect_workers(stack, server.url, 2)
        async with getattr(relay, state)():
            await clients[1].post_json(RUN, make_run("t", "r1"))
            assert (await clients[1].read_head()).status == 200
            await clients[2].post_json(CONNECT, make_run("t", "r1"))
            assert join_text(await read_frames(clients[2])) == "".join(WORDS)
            own = [frame async for frame in clients[1].iterate_frames() if frame.data]
            assert join_text(own) == "".join(WORDS)
            await clients[2].get("/ready")
            assert (await clients[2].read_head()).status == 200
            await clients[2].read_body()
        await clients[2].post_json(RUN, make_run("u", "r2"))
        await clients[1].post_json(CONNECT, make_run("u", "r2"))
        assert join_text(await read_frames(clients[2])) == "".join(WORDS)
        await clients[1].read_head()
        assert all([frame async for frame in clients[1].iterate_frames()])


@pytest.mark.demand("cluster.live_between_processes")
@pytest.mark.parametrize("kind", ["postgres", "valkey"])
async def test_two_servers_on_one_database(kind: str, stack: contextlib.AsyncExitStack) -> None:
    async with FakeUpstream() as upstream:
        live = f'[live]\nurl = "{valkey.share_server().url}"' if kind == "valkey" else ""
        config = f"""
[models.m]
spec = "openai:x"
base_url = "{upstream.base_url}"
api_key = "key"
[store]
kind = "postgres"
url = "{postgres.get_session_server().url}"
schema = "two_servers_{kind}"
{live}
"""
        servers = [await stack.enter_async_context(RightseatProcess(config=config)) for _ in range(2)]
        here, there = [await stack.enter_async_context(RawHttpClient(server.url)) for server in servers]
        await here.post_json(RUN, make_run("t", "r", "fault-stall"))
        await upstream.wait_requests(1)
        follower = await stack.enter_async_context(RawHttpClient(servers[1].url))
        await follower.post_json(CONNECT, make_run("t", "r"))
        assert (await follower.read_head()).status == 200
        await there.post_json(f"{STOP}/t", {})
        head = await there.read_head()
        assert (head.status, json.loads(await there.read_body())["stopped"]) == (200, True)
        await upstream.wait_closed(1)
        frames = [frame async for frame in follower.iterate_frames() if frame.data]
        assert [frame.data for frame in await read_frames(here)] == [frame.data for frame in frames]
        assert frames[-1].json["type"] in ("RUN_ERROR", "RUN_FINISHED")


@pytest.mark.demand("cluster.live_unreachable")
@pytest.mark.parametrize("scheme", ["redis", "postgresql"])
def test_a_server_that_is_not_there_is_said_at_the_start(tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://me:{PASSWORD}@127.0.0.1:{valkey.reserve_port()}/0"
    (tmp_path / "turns.json").write_text(json.dumps({"turns": [{"say": WORDS}]}), "utf-8")
    config = tmp_path / "rightseat.toml"
    config.write_text(write_config(tmp_path, url, f'spec = "scripted:{tmp_path / "turns.json"}"'), "utf-8")
    command = [sys.executable, "-m", "rightseat", "serve", "--config", str(config), "--port", "0", "--workers", "2"]
    environment = {**os.environ, "LIVE_URL": url}
    result = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT
    )
    assert result.returncode
    said = result.stdout + result.stderr
    assert "cannot be reached at 127.0.0.1:" in said
    assert "Start it, or correct url in [live]" in said
    assert PASSWORD not in said
    assert "Traceback" not in said
