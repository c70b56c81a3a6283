"""Two servers on one database, behind ports with the faults of a network: what clients get while an engine is away."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.stores.members import make_schema_name
from tests.faults.test_workers import CONNECT, RUN, STOP, join_text, make_run
from tests.kit import postgres, valkey
from tests.kit.answers import WordGate
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream

pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]
WORDS = [f"{number} " for number in range(60)]
ALL = 1000
FIRST = asyncio.FIRST_COMPLETED
CHAT = "/v1/chat/completions"
FILE = "/files/file_" + "a" * 32 + "/x.csv"
THREADS = "/copilotkit/threads?agentId=default"


@dataclass
class TwoServers:
    servers: list[RightseatProcess]
    database: FaultyRelay
    live: FaultyRelay | None
    stack: contextlib.AsyncExitStack

    async def connect(self, index: int) -> RawHttpClient:
        return await self.stack.enter_async_context(RawHttpClient(self.servers[index].url, timeout=3 * HANG_TIMEOUT))

    async def get(self, index: int, path: str) -> tuple[int, dict[str, str], Any]:
        async with RawHttpClient(self.servers[index].url) as client:
            await client.get(path)
            head = await client.read_head()
            return head.status, dict(head.headers), json.loads(await client.read_body())

    async def wait_engine(self, engine: str, state: str) -> dict[str, Any]:
        """Wait until both servers say that an engine is in a state; what the last one says."""
        async with asyncio.timeout(HANG_TIMEOUT):
            while True:
                replies: list[dict[str, Any]] = [(await self.get(index, "/health?store"))[2] for index in range(2)]
                if all(reply[engine]["state"] == state for reply in replies):
                    return replies[-1]
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def serve_two(model: str, *, with_valkey: bool, more: str = "") -> AsyncIterator[TwoServers]:
    async with contextlib.AsyncExitStack() as stack:
        home = postgres.get_session_server().home
        database = await stack.enter_async_context(FaultyRelay(home / ".s.PGSQL.5432"))
        live = await stack.enter_async_context(FaultyRelay(valkey.share_server().port)) if with_valkey else None
        plane = f'[live]\nurl = "redis://127.0.0.1:{live.port}"' if live else ""
        config = f"""
[models.m]
{model}
[store]
kind = "postgres"
url = "postgresql://postgres@127.0.0.1:{database.port}/postgres"
schema = "{make_schema_name()}"
{plane}
{more}
"""
        servers = [await stack.enter_async_context(RightseatProcess(config=config)) for _ in range(2)]
        yield TwoServers(servers, database, live, stack)


def make_model(upstream: FakeUpstream) -> str:
    return f'spec = "openai:x"\nbase_url = "{upstream.base_url}"\napi_key = "key"'


def make_script(folder: Path) -> str:
    file = folder / "turns.json"
    file.write_text(json.dumps({"turns": [{"say": WORDS}] * 50}), "utf-8")
    return f'spec = "scripted:{file}"'


class FrameReader:
    """Reads a stream in a task of its own."""

    def __init__(self, client: RawHttpClient) -> None:
        self.client = client
        self.frames: list[SseFrame] = []
        self.changed = asyncio.Event()
        self.task = asyncio.create_task(self.read())

    async def read(self) -> None:
        assert (await self.client.read_head()).status == 200
        async for frame in self.client.iterate_frames():
            if frame.data and frame.data != "[DONE]":
                self.frames.append(frame)
                self.changed.set()

    async def wait_words(self, count: int) -> None:
        """Wait until so many words were shown."""
        async with asyncio.timeout(HANG_TIMEOUT):
            while len(self.text.split()) < count:
                assert not self.task.done(), f"the stream has ended after {self.frames[-1]}"
                self.changed.clear()
                await asyncio.wait([self.task, wakeup := asyncio.create_task(self.changed.wait())], return_when=FIRST)
                wakeup.cancel()

    @property
    def text(self) -> str:
        return join_text(self.frames)

    def check_numbers(self) -> None:
        """Every frame has a number above the last one's."""
        ids = [tuple(map(int, frame.id.split("."))) for frame in self.frames if frame.id]
        whole = [id[0] for id in ids if len(id) == 1]
        assert whole == sorted(set(whole))


class ChatReader(FrameReader):
    """The same for the OpenAI wire."""

    @property
    def text(self) -> str:
        return "".join(frame.json["choices"][0]["delta"].get("content") or "" for frame in self.frames)


@contextlib.asynccontextmanager
async def break_engine(relay: FaultyRelay, fault: str) -> AsyncIterator[None]:
    if fault == "latency":
        relay.latency = 0.5
        try:
            yield
        finally:
            relay.latency = 0
    else:
        async with getattr(relay, fault)():
            yield


@pytest.mark.demand("cluster.outage_cuts_no_stream")
@pytest.mark.parametrize(
    ("engine", "fault"),
    [("store", "refuse"), ("store", "be_silent"), ("store", "latency"), ("live", "refuse"), ("live", "be_silent")],
)
async def test_running_streams_go_on_to_their_end(engine: str, fault: str) -> None:
    gate = WordGate(WORDS)
    async with FakeUpstream() as upstream, serve_two(make_model(upstream), with_valkey=engine == "live") as two:
        upstream.reply = gate
        relay = two.database if engine == "store" else two.live
        assert relay is not None
        own, follower, chat = await two.connect(0), await two.connect(1), await two.connect(0)
        await own.post_json(RUN, make_run("t", "r"))
        reader = FrameReader(own)
        await gate.release(10)
        await reader.wait_words(5)
        await follower.post_json(CONNECT, make_run("t", "r"))
        elsewhere = FrameReader(follower)
        await chat.post_json(CHAT, {"messages": [{"role": "user", "content": "Count."}], "stream": True})
        attached = ChatReader(chat)
        await elsewhere.wait_words(5)
        await attached.wait_words(5)
        async with break_engine(relay, fault):
            await gate.release(20)
            if fault != "latency":
                report = await two.wait_engine(engine, "away")
                assert report["status"] == "degraded"
                assert report[engine]["since"]
            await gate.release(40)
            await reader.wait_words(30)
            await attached.wait_words(30)
            for index in range(2):
                assert (await two.get(index, "/ready"))[0] == 200
        await gate.release(ALL)
        await asyncio.gather(reader.task, attached.task, elsewhere.task)
        await two.wait_engine(engine, "ok")
        assert reader.text == attached.text == elsewhere.text == "".join(WORDS)
        for stream in (reader, elsewhere):
            stream.check_numbers()
        again = await two.connect(1)
        await again.post_json(CONNECT, make_run("t", "r"))
        replayed = FrameReader(again)
        await replayed.task
        assert replayed.text == "".join(WORDS)
        assert replayed.frames[-1].json["type"] == "RUN_FINISHED"
        said = "".join(server.stderr for server in two.servers)
        assert "was ended as restarted" not in said
        assert "is taken over here" not in said


@pytest.mark.demand("cluster.outage_is_said")
async def test_requests_that_need_the_database_are_refused_and_runs_are_answered(tmp_path: Path) -> None:
    async with serve_two(make_script(tmp_path), with_valkey=False) as two:
        async with two.database.refuse():
            client = await two.connect(0)
            await client.post_json(RUN, make_run("t", "r"))
            reader = FrameReader(client)
            await reader.task
            assert join_text(reader.frames) == "".join(WORDS)
            await client.post_json(CHAT, {"messages": [{"role": "user", "content": "Count."}]})
            assert (await client.read_head()).status == 200
            assert (await client.read_json())["choices"][0]["message"]["content"] == "".join(WORDS)
            await two.wait_engine("store", "away")
            await client.get("/metrics")
            await client.read_head()
            metrics = (await client.read_body()).decode()
            assert "rightseat_runs_not_kept_total 1.0" in metrics
            assert "rightseat_store_away 1.0" in metrics
            for path in (THREADS, "/copilotkit/threads/t/messages", FILE):
                status, headers, body = await two.get(0, path)
                assert (status, headers.get("retry-after")) == (503, "5"), (path, body)
                assert "cannot be reached" in json.dumps(body)
            status, body = await request(two, 1, "DELETE", "/copilotkit/threads/t")
            assert (status, "cannot be reached" in json.dumps(body)) == (503, True)
            status, body = await request(two, 1, "POST", f"{STOP}/t")
            assert (status, "cannot be reached" in json.dumps(body)) == (503, True)
            assert "is not kept" in two.servers[0].stderr
        await two.wait_engine("store", "ok")
        status, _, body = await two.get(1, THREADS)
        assert (status, body["threads"]) == (200, [])


async def request(two: TwoServers, index: int, method: str, path: str) -> tuple[int, Any]:
    body = b"{}"
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    async with RawHttpClient(two.servers[index].url) as client:
        await client.send(head.encode() + b"\r\n\r\n" + body)
        reply = await client.read_head()
        return reply.status, json.loads(await client.read_body())


@pytest.mark.demand("cluster.stop_is_kept")
async def test_a_stop_reaches_its_run_while_the_live_server_is_away() -> None:
    async with FakeUpstream() as upstream, serve_two(make_model(upstream), with_valkey=True) as two:
        assert two.live is not None
        client = await two.connect(0)
        await client.post_json(RUN, make_run("t", "r", "fault-stall"))
        await upstream.wait_requests(1)
        async with two.live.refuse():
            await two.wait_engine("live", "away")
            status, body = await request(two, 1, "POST", f"{STOP}/t")
            # Under load it may take longer than a request waits.
            assert (status, body.get("stopped"), body.get("pending")) in ((200, True, None), (202, False, True))
            await upstream.wait_closed(1)
            assert (await client.read_head()).status == 200
            frames = [frame async for frame in client.iterate_frames() if frame.data]
            assert frames[-1].json["type"] in ("RUN_ERROR", "RUN_FINISHED")
