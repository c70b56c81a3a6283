"""Runs at one worker, asked for at another: `rightseat serve --workers 2` with real processes."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.client import build_raw_request as raw
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.workers import connect_workers, find_workers
from tests.unit.doors.copilotkit.agui import join_text, list_event_types, make_run_input

pytestmark = pytest.mark.io

WORDS = [f"{number} " for number in range(60)]
RUN, CONNECT = "/copilotkit/agent/default/run", "/copilotkit/agent/default/connect"


@asynccontextmanager
async def serve_two(folder: Path, pace_ms: int = 30, words: list[str] = WORDS) -> AsyncIterator[RightseatProcess]:
    """Two workers whose model says its words slowly."""
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": [{"when": {}, "say": words, "pace_ms": pace_ms}]}))
    server = RightseatProcess(config=f'[models.main]\nspec = "scripted:{script}"\n', args=["--workers", "2"])
    async with server:
        yield server


@asynccontextmanager
async def worker(server: RightseatProcess, number: int) -> AsyncIterator[RawHttpClient]:
    async with AsyncExitStack() as stack:
        clients = await connect_workers(stack, server.url, 2)
        yield clients[number]


async def open_stream(client: RawHttpClient, path: str, *texts: str, after: str | None = None) -> list[SseFrame]:
    """Send the request and read up to the first words."""
    headers = {} if after is None else {"Last-Event-ID": after}
    await client.post_json(path, make_run_input(*texts), headers)
    assert (await client.read_head()).status == 200
    frames: list[SseFrame] = []
    async for frame in client.iterate_frames():
        if frame.data:
            frames.append(frame)
            if frame.json["type"] == "TEXT_MESSAGE_CONTENT":
                break
    return frames


async def read_rest(client: RawHttpClient) -> list[SseFrame]:
    return [frame async for frame in client.iterate_frames() if frame.data]


async def ask(client: RawHttpClient, method: str, path: str, body: object = None) -> tuple[int, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    await client.send(raw(method, path, data, {"Content-Type": "application/json"}))
    status = (await client.read_head()).status
    return status, json.loads(await client.read_body())


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_a_run_is_joined_listed_and_exported_at_another_worker(tmp_path: Path) -> None:
    async with serve_two(tmp_path) as server, worker(server, 1) as here, worker(server, 2) as there:
        first = await open_stream(here, RUN, "hi")
        async with worker(server, 2) as asked:
            _, listed = await ask(asked, "GET", "/copilotkit/threads")
            assert [thread["id"] for thread in listed["threads"]] == ["t"]
            status, _ = await ask(asked, "POST", RUN, make_run_input("other", run="r2"))
            assert status == 409
        joined = await open_stream(there, CONNECT)
        async with worker(server, 2) as cut, worker(server, 2) as same, worker(server, 2) as exporting:
            again = asyncio.create_task(read_after(cut, first[-1].id))
            same_run = await open_stream(same, RUN, "hi")
            export = asyncio.create_task(ask(exporting, "GET", "/copilotkit/threads/t/events"))
            whole = first + await read_rest(here)
            joined += await read_rest(there)
            same_run += await read_rest(same)
            assert join_text(whole) == join_text(joined) == join_text(same_run) == "".join(WORDS)
            assert join_text(first) + join_text(await again) == "".join(WORDS)
            _, exported = await export
        assert list_event_types(whole)[-1] == list_event_types(joined)[-1] == "RUN_FINISHED"
        assert exported["events"][-1]["type"] == "RUN_FINISHED"


async def read_after(client: RawHttpClient, number: str | None) -> list[SseFrame]:
    return await open_stream(client, CONNECT, after=number) + await read_rest(client)


@pytest.mark.demand("scale.stop_anywhere")
async def test_a_run_is_stopped_and_its_thread_deleted_at_another_worker(tmp_path: Path) -> None:
    async with serve_two(tmp_path, pace_ms=1000) as server, worker(server, 1) as here, worker(server, 2) as there:
        await open_stream(here, RUN, "hi")
        async with asyncio.timeout(HANG_TIMEOUT):
            status, body = await ask(there, "POST", "/copilotkit/agent/default/stop/t")
            assert (status, body["stopped"]) == (200, True)
            assert list_event_types(await read_rest(here))[-1] in ("RUN_ERROR", "RUN_FINISHED")
            status, body = await ask(there, "POST", "/copilotkit/agent/default/stop/t")
            assert (status, body["stopped"]) == (200, False)
        async with worker(server, 1) as next_run:
            await open_stream(next_run, RUN, "hi", "more")
            status, body = await ask(there, "DELETE", "/copilotkit/threads/t")
            assert (status, body.get("deleted")) == (200, True)
            await read_rest(next_run)
        async with worker(server, 1) as asked:
            assert (await ask(asked, "GET", "/copilotkit/threads"))[1]["threads"] == []


@pytest.mark.demand("scale.dead_workers_swept")
async def test_readers_elsewhere_get_the_end_of_a_killed_workers_run(tmp_path: Path) -> None:
    async with serve_two(tmp_path, pace_ms=1000) as server, worker(server, 1) as here, worker(server, 2) as there:
        await open_stream(here, RUN, "hi")
        await open_stream(there, CONNECT)
        os.kill(find_workers(server)[1], signal.SIGKILL)
        async with asyncio.timeout(HANG_TIMEOUT):
            rest = await read_rest(there)
        assert rest[-1].json["type"] == "RUN_ERROR"
        assert rest[-1].json["code"] == "restarted"
        async with worker(server, 2) as next_run:
            assert await open_stream(next_run, RUN, "hi", "again")
            async with worker(server, 2) as asked:
                assert (await ask(asked, "POST", "/copilotkit/agent/default/stop/t"))[1]["stopped"]
