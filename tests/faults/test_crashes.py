"""`kill -9` of a whole server: numbers are never used again, what a client saw stands, nothing runs twice."""

import asyncio
import contextlib
import json
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.kit.answers import answer_text, answer_tool_calls
from tests.kit.app_server import serve_app
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.faults import send_endlessly
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io
RUN_PATH = "/copilotkit/agent/default/run"
CONNECT_PATH = "/copilotkit/agent/default/connect"
BODY: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: t}
servers: [{url: "URL"}]
paths:
  /orders:
    post: {operationId: order, description: Order., responses: {"200": {description: ok}}}
  /mails:
    post: {operationId: mail, description: Mail., responses: {"200": {description: ok}}}
"""


@dataclass
class CountingApi:
    """Counts what reaches it; requests to the path `hanging` are not answered."""

    url: str = ""
    hanging: str = ""
    requests: list[str] = field(default_factory=list)
    hangs: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests.append(scope["path"])
        if scope["path"] == self.hanging:
            self.hangs.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps({"done": f"no-{len(self.requests)}"}).encode()})


@asynccontextmanager
async def serve_api(hanging: str = "") -> AsyncIterator[CountingApi]:
    api = CountingApi(hanging=hanging)
    async with serve_app(api) as url:
        api.url = url
        yield api


def make_server(
    home: Path, upstream: FakeUpstream, api: CountingApi | None = None, record: str = "threads"
) -> RightseatProcess:
    config = f'[models.m]\nspec = "openai:any"\n[store]\npath = "{home / "data"}"\nrecord = "{record}"\n'
    if api is not None:
        folder = home / "plugins" / "p"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", api.url), "utf-8")
        config += f'[[plugins]]\npath = "{home / "plugins"}"\nallow = ["127.0.0.1"]\nretries = 0\nconfirm = "never"\n'
    return RightseatProcess(config=config, env={"OPENAI_BASE_URL": upstream.base_url, "OPENAI_API_KEY": "k"})


def make_run_input(run: str, *texts: str) -> dict[str, Any]:
    messages = [{"id": f"u{number}", "role": "user", "content": text} for number, text in enumerate(texts)]
    return {"threadId": "t", "runId": run, "messages": messages, **BODY}


async def collect_frames(url: str, path: str, body: dict[str, Any], last_event: str = "") -> list[SseFrame]:
    async with RawHttpClient(url) as client:
        await client.post_json(path, body, {"Last-Event-ID": last_event} if last_event else {})
        head = await client.read_head()
        assert head.status == 200, await client.read_body()
        return [frame async for frame in client.iterate_frames() if frame.data]


def frame_number(frame: SseFrame) -> float:
    assert frame.id is not None
    return float(frame.id)


async def kill_server(server: RightseatProcess) -> None:
    server.send_signal(signal.SIGKILL)
    await server.wait_exit()


@pytest.mark.demand("crashes.numbers_never_used_again")
async def test_a_client_that_saw_more_than_the_log_has_is_told_and_misses_nothing(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.queue_replies(send_endlessly(rate=100))
        async with make_server(tmp_path, upstream) as server, RawHttpClient(server.url) as client:
            await client.post_json(RUN_PATH, make_run_input("r1", "hi"))
            await client.read_head()
            seen: list[SseFrame] = []
            while len(seen) < 20:
                frame = await client.read_frame()
                assert frame is not None
                seen += [frame] if frame.data else []
            await kill_server(server)
        last_seen = seen[-1].id or ""
        async with make_server(tmp_path, upstream) as server:
            rest = await collect_frames(server.url, CONNECT_PATH, make_run_input("c", ""), last_seen)
            assert (rest[-1].json["type"], rest[-1].json["code"]) == ("RUN_ERROR", "restarted")
            assert [frame.json["type"] for frame in rest[:-1]] == ["TEXT_MESSAGE_END"]
            assert frame_number(rest[0]) > frame_number(seen[-1])
            live = await collect_frames(server.url, RUN_PATH, make_run_input("r2", "hi", "again"))
            later = await collect_frames(server.url, CONNECT_PATH, make_run_input("c", ""), rest[-1].id or "")
            assert merge_text(later) == merge_text(live)
            assert frame_number(live[0]) > frame_number(rest[-1])
            # One that has not heard of the end yet gets both.
            both = await collect_frames(server.url, CONNECT_PATH, make_run_input("c", ""), last_seen)
            assert [frame.json["type"] for frame in both[:2]] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
            assert merge_text(both[2:]) == merge_text(live)


@pytest.mark.demand("crashes.results_kept_with_each_call")
@pytest.mark.parametrize("hanging", ["/mails", "/orders"])
async def test_a_crash_between_two_calls_of_one_answer_does_not_repeat_the_first(tmp_path: Path, hanging: str) -> None:
    async with FakeUpstream() as upstream, serve_api(hanging) as api:
        upstream.queue_replies(answer_tool_calls(("p_order", "{}"), ("p_mail", "{}")), answer_text(3))
        upstream.reply = answer_text(3)
        async with make_server(tmp_path, upstream, api) as server:
            running = asyncio.create_task(collect_frames(server.url, RUN_PATH, make_run_input("r1", "order and mail")))
            await asyncio.wait_for(api.hangs.wait(), HANG_TIMEOUT)
            await wait_for_result(tmp_path)
            await kill_server(server)
            await asyncio.wait([running])
            running.exception()
        api.hanging = ""
        async with make_server(tmp_path, upstream, api) as server:
            async with RawHttpClient(server.url) as client:
                await client.get("/copilotkit/threads/t/messages")
                await client.read_head()
                messages = (await client.read_json())["messages"]
            posted = [make_posted_message(message) for message in messages]
            again = {"id": "again", "role": "user", "content": "Go on."}
            body = {**make_run_input("r2"), "messages": [*posted, again]}
            await collect_frames(server.url, RUN_PATH, body)
        prompt = upstream.requests[-1].json["messages"]
        results = {message["tool_call_id"]: message["content"] for message in prompt if message["role"] == "tool"}
        names = {call["id"]: call["function"]["name"] for m in prompt for call in m.get("tool_calls", ())}
        by_name = {names[id]: text for id, text in results.items()}
        finished, begun = ("p_order", "p_mail") if hanging == "/mails" else ("p_mail", "p_order")
        assert '"no-' in by_name[finished]
        assert "may_have_run" in by_name[begun]
        assert sorted(api.requests) == ["/mails", "/orders"]


def make_posted_message(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message of the threads route as a client posts it."""
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["args"]}}
        for call in message.get("toolCalls", ())
    ]
    return {**message, "toolCalls": calls} if calls else message


async def wait_for_result(home: Path) -> None:
    """Until the file has the result of a call."""

    def has_result() -> bool:
        with contextlib.closing(sqlite3.connect(f"file:{home}/data/rightseat.db?mode=ro", uri=True)) as file:
            return any(b"no-" in body for (body,) in file.execute("SELECT body FROM kept WHERE kind = 'result'"))

    await wait_until(has_result)


@pytest.mark.demand("crashes.same_run_id_replays")
async def test_the_same_run_id_is_replayed_after_its_end_and_after_a_crash(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream, serve_api() as api:
        upstream.queue_replies(answer_tool_calls(("p_order", "{}")), answer_text(3))
        upstream.reply = answer_text(5)
        run_input = make_run_input("r1", "order")
        async with make_server(tmp_path, upstream, api) as server:
            first = await collect_frames(server.url, RUN_PATH, run_input)
            again = await collect_frames(server.url, RUN_PATH, run_input)
            at_agui = await collect_frames(server.url, "/agui/default", run_input)
            await kill_server(server)
        async with make_server(tmp_path, upstream, api) as server:
            after_crash = await collect_frames(server.url, RUN_PATH, run_input)
            assert api.requests == ["/orders"]
            assert len(upstream.requests) == 2
            other = await collect_frames(server.url, RUN_PATH, make_run_input("r1", "order", "something else"))
        assert len(upstream.requests) == 3, "the same id with another question is another request"
        assert len(other) > 3
    for replayed in (again, at_agui, after_crash):
        assert join_text(replayed) == join_text(first)
        assert [frame.json for frame in replayed if frame.json["type"] != "TEXT_MESSAGE_CONTENT"] == [
            frame.json for frame in first if frame.json["type"] != "TEXT_MESSAGE_CONTENT"
        ]
        assert replayed[-1].id == first[-1].id


@pytest.mark.demand("crashes.same_run_id_replays")
async def test_a_run_that_a_crash_ended_is_told_so_and_not_run_again_by_its_id(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream, serve_api("/orders") as api:
        upstream.reply = answer_tool_calls(("p_order", "{}"))
        run_input = make_run_input("r1", "order")
        async with make_server(tmp_path, upstream, api) as server:
            running = asyncio.create_task(collect_frames(server.url, RUN_PATH, run_input))
            await asyncio.wait_for(api.hangs.wait(), HANG_TIMEOUT)
            await kill_server(server)
            await asyncio.wait([running])
            running.exception()
        async with make_server(tmp_path, upstream, api) as server:
            replayed = await collect_frames(server.url, RUN_PATH, run_input)
        assert replayed[-1].json["code"] == "restarted"
        assert api.requests == ["/orders"]


@pytest.mark.demand("crashes.same_run_id_replays")
@pytest.mark.parametrize("record", ["threads", "all"])
async def test_a_run_of_no_kept_thread_is_replayed_too_where_it_had_an_effect(tmp_path: Path, record: str) -> None:
    async with FakeUpstream() as upstream, serve_api() as api:
        upstream.queue_replies(answer_tool_calls(("p_order", "{}")), answer_text(3))
        upstream.reply = answer_text(5)
        run_input = {**make_run_input("r1", "order"), "threadId": "loose"}
        async with make_server(tmp_path, upstream, api, record) as server:
            first = await collect_frames(server.url, "/agui/default", run_input)
            again = await collect_frames(server.url, "/agui/default", run_input)
            await kill_server(server)
        async with make_server(tmp_path, upstream, api, record) as server:
            after_crash = await collect_frames(server.url, "/agui/default", run_input)
            assert api.requests == ["/orders"]
            assert len(upstream.requests) == 2
            await collect_frames(server.url, "/agui/default", {**run_input, "runId": "r2"})
        assert len(upstream.requests) == 3
    for replayed in (again, after_crash):
        assert join_text(replayed) == join_text(first)
        assert replayed[-1].json == first[-1].json


def merge_text(frames: list[SseFrame]) -> list[dict[str, Any]]:
    """Return the events, those of one text as one: a server under load sends several pieces at once."""
    merged: list[dict[str, Any]] = []
    for frame in frames:
        event = frame.json
        if event["type"] == "TEXT_MESSAGE_CONTENT" and merged and merged[-1]["type"] == "TEXT_MESSAGE_CONTENT":
            merged[-1] = {**event, "delta": merged[-1]["delta"] + event["delta"]}
        else:
            merged.append(event)
    return merged


def join_text(frames: list[SseFrame]) -> str:
    return "".join(frame.json.get("delta", "") for frame in frames if "TEXT" in frame.json["type"])
