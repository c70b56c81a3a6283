"""A flow whose worker is killed -9 goes on at another worker, under the same run and without an effect twice."""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from rightseat.types.threads import MAX_TAKE_OVERS
from tests.kit.app_server import serve_app
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.server import POLL_SECONDS, RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.kit.workers import connect_workers, find_workers

pytestmark = [
    pytest.mark.io,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="one worker on Windows"),
]
RUN_PATH, CONNECT_PATH = "/copilotkit/agent/shop.order/run", "/copilotkit/agent/shop.order/connect"
EFFECTS = ("/orders", "/mails", "/payments")
WORDS = ["all ", "is ", "done"]
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: Shop}
servers: [{url: "URL"}]
paths:
  /slow:
    get: {description: Look., responses: {"200": {description: ok}}}
""" + "".join(
    f"""  {path}:
    post:
      description: An effect.
      parameters: [{{name: customer, in: query, required: true, schema: {{type: string}}}}]
      responses: {{"200": {{description: ok}}}}
"""
    for path in EFFECTS
)
FLOW = """
name: order
description: Orders, mails and pays.
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders, values: {customer: "{question}"}}, next: pay}
  - name: pay
    call_type: api
    confirm: CONFIRM
    params: {endpoint: POST /payments, values: {customer: "{question}"}}
    next: look
  - {name: look, call_type: api, params: {endpoint: GET /slow, values: {}}, next: mail}
  - {name: mail, call_type: api, params: {endpoint: POST /mails, values: {customer: "{question}"}}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell."}}
"""


@dataclass
class EffectSink:
    """An API that counts its effects by key. Requests to the path `hanging` are not answered while it is set."""

    url: str = ""
    hanging: str = ""
    effects: Counter[tuple[str, str]] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        if scope["method"] == "POST":
            (customer,) = parse_qs(scope["query_string"].decode())["customer"]
            self.effects[customer, path] += 1
        self.requests[path] += 1
        if path == self.hanging:
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b'{"ok": true}'})


class Shop:
    """Two workers that serve a flow over the sink."""

    def __init__(self, server: RightseatProcess, sink: EffectSink, home: Path) -> None:
        self.server = server
        self.sink = sink
        self.home = home

    def find_owner(self, thread: str = "t") -> int:
        """The pid of the worker that has the thread; 0 if none has."""
        with contextlib.closing(sqlite3.connect(f"file:{self.home}/data/rightseat.db?mode=ro", uri=True)) as file:
            row = file.execute("SELECT process FROM leases WHERE thread = ?", (thread,)).fetchone()
        return int(row[0].rpartition(":")[2]) if row else 0

    async def kill_owner(self, thread: str = "t") -> int:
        """Kill the thread's worker and return the number that it had."""
        pid = self.find_owner(thread)
        (number,) = (number for number, worker in find_workers(self.server).items() if worker == pid)
        os.kill(pid, signal.SIGKILL)
        return number

    async def wait_requests(self, path: str, count: int) -> None:
        await wait_until(lambda: self.sink.requests[path] >= count)

    async def start(self, stack: AsyncExitStack, headers: dict[str, str] | None = None) -> list[SseFrame]:
        """Start the run and return the list that its frames come into, until its worker is killed."""
        client = await stack.enter_async_context(RawHttpClient(self.server.url))
        await client.post_json(RUN_PATH, make_input("r1"), headers or {})
        assert (await client.read_head()).status == 200
        return follow(stack, client)


def follow(stack: AsyncExitStack, client: RawHttpClient) -> list[SseFrame]:
    """Read the frames of a reply in the background."""
    frames: list[SseFrame] = []

    async def read() -> None:
        with contextlib.suppress(OSError):
            async for frame in client.iterate_frames():
                frames.extend([frame] if frame.data else [])

    async def stop() -> None:
        task.cancel()
        await asyncio.wait([task])

    task = asyncio.create_task(read())
    stack.push_async_callback(stop)
    return frames


def make_input(run: str, answers: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    body = {"threadId": "t", "runId": run, "messages": [{"id": "u", "role": "user", "content": "anna"}]}
    empty = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
    return {**body, **empty, "resume": list(answers)}


@asynccontextmanager
async def serve_shop(home: Path, *, hanging: str = "", confirm: str = "false", more: str = "") -> AsyncIterator[Shop]:
    sink = EffectSink(hanging=hanging)
    async with serve_app(sink) as url:
        folder = home / "plugins" / "shop"
        (folder / "flows").mkdir(parents=True)
        (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", url), "utf-8")
        (folder / "flows" / "order.yaml").write_text(FLOW.replace("CONFIRM", confirm), "utf-8")
        (home / "turns.json").write_text(json.dumps({"turns": [{"when": {"user": "^Tell"}, "say": WORDS}]}), "utf-8")
        async with make_server(home, more) as server:
            yield Shop(server, sink, home)


def make_server(home: Path, more: str = "") -> RightseatProcess:
    config = f"""
[models.m]
spec = "scripted:{home / "turns.json"}"
[[plugins]]
path = "{home / "plugins"}"
allow = ["127.0.0.1"]
retries = 0
[store]
path = "{home / "data"}"
{more}
"""
    return RightseatProcess(config=config, args=["--workers", "2"])


async def post(url: str, path: str, body: dict[str, Any], last_event: str = "") -> list[SseFrame]:
    """The frames of a reply, from a worker that answers: the kernel may still choose the one that was killed."""
    async with asyncio.timeout(HANG_TIMEOUT):
        while True:
            with contextlib.suppress(OSError):
                async with RawHttpClient(url) as client:
                    await client.post_json(path, body, {"Last-Event-ID": last_event} if last_event else {})
                    head = await client.read_head()
                    assert head.status == 200, await client.read_body()
                    return [frame async for frame in client.iterate_frames() if frame.data]
            await asyncio.sleep(POLL_SECONDS)


def list_types(frames: list[SseFrame], *kinds: str) -> list[str]:
    return [frame.json["type"] for frame in frames if frame.json["type"] in kinds]


def list_positions(frames: list[SseFrame]) -> list[tuple[int, int]]:
    """The ids as they are ordered: the parts of an entry come before its last frame."""
    ids = [(frame.id or "").partition(".") for frame in frames]
    return [(int(number), int(part or 1 << 20)) for number, _, part in ids]


def check_one_run(frames: list[SseFrame]) -> None:
    """One start, one end, of the same run; every step and message has its end; numbers grow."""
    assert list_types(frames, "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR") == ["RUN_STARTED", "RUN_FINISHED"]
    assert {frame.json["runId"] for frame in frames if "runId" in frame.json} == {"r1"}
    positions = list_positions(frames)
    assert positions == sorted(set(positions))
    for start, end in (("STEP_STARTED", "STEP_FINISHED"), ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END")):
        assert len(list_types(frames, start)) == len(list_types(frames, end))


def join_text(frames: list[SseFrame]) -> str:
    return "".join(frame.json["delta"] for frame in frames if frame.json["type"] == "TEXT_MESSAGE_CONTENT")


def is_over(frames: list[SseFrame]) -> bool:
    return bool(frames) and frames[-1].json["type"] in ("RUN_FINISHED", "RUN_ERROR")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.mark.demand("scale.flows_go_on")
async def test_a_flow_goes_on_at_another_worker_under_the_same_run(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow") as shop:
        clients = await connect_workers(stack, shop.server.url, 2)
        seen = await shop.start(stack)
        await shop.wait_requests("/slow", 1)
        owner = shop.find_owner()
        reader = next(number for number, pid in find_workers(shop.server).items() if pid != owner)
        await clients[reader].post_json(CONNECT_PATH, make_input("c"))
        assert (await clients[reader].read_head()).status == 200
        elsewhere = follow(stack, clients[reader])
        await shop.kill_owner()
        shop.sink.hanging = ""
        await wait_until(lambda: is_over(elsewhere))
        check_one_run(elsewhere)
        assert join_text(elsewhere) == "".join(WORDS)
        assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}
        # Who was at the killed worker reads on where it was, at any other.
        seen = list(seen)
        rest = await post(shop.server.url, CONNECT_PATH, make_input("c"), seen[-1].id or "")
        check_one_run([*seen, *rest])
        assert [frame.json for frame in (*seen, *rest)] == [frame.json for frame in elsewhere]
        again = await post(shop.server.url, RUN_PATH, make_input("r1"))
        assert join_text(again) == "".join(WORDS)
        assert shop.sink.effects.total() == len(EFFECTS)


@pytest.mark.demand("scale.flows_go_on")
async def test_a_step_that_may_have_run_is_asked_about_in_the_same_run(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/mails") as shop:
        seen = await shop.start(stack)
        await shop.wait_requests("/mails", 1)
        await shop.kill_owner()
        # Posted again at once: it joins the run wherever that goes on.
        whole = await post(shop.server.url, RUN_PATH, make_input("r1"))
        check_one_run(whole)
        assert list_positions(whole)[: len(seen)] == list_positions(seen)
        (interrupt,) = whole[-1].json["outcome"]["interrupts"]
        assert "may have run" in interrupt["message"]
        shop.sink.hanging = ""
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"then": "skip"}}
        end = await post(shop.server.url, RUN_PATH, make_input("r2", [answer]))
        assert end[-1].json["type"] == "RUN_FINISHED"
        assert join_text(end) == "".join(WORDS)
        assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}


@pytest.mark.demand("scale.flows_go_on")
async def test_a_flow_goes_on_whose_question_was_answered(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow", confirm="true") as shop:
        asked = await post(shop.server.url, RUN_PATH, make_input("r0"))
        (interrupt,) = asked[-1].json["outcome"]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        client = await stack.enter_async_context(RawHttpClient(shop.server.url))
        await client.post_json(RUN_PATH, make_input("r1", [answer]))
        assert (await client.read_head()).status == 200
        await shop.wait_requests("/slow", 1)
        await shop.kill_owner()
        shop.sink.hanging = ""
        whole = await post(shop.server.url, RUN_PATH, make_input("r1", [answer]))
        check_one_run(whole)
        assert join_text(whole) == "".join(WORDS)
        assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}


@pytest.mark.demand("scale.flows_go_on")
async def test_a_flow_that_has_lost_three_workers_ends_as_restarted(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow") as shop:
        await shop.start(stack)
        for number in range(1, MAX_TAKE_OVERS + 2):
            await shop.wait_requests("/slow", number)
            await shop.kill_owner()
        frames = await post(shop.server.url, CONNECT_PATH, make_input("c"))
        assert (frames[-1].json["type"], frames[-1].json["code"]) == ("RUN_ERROR", "restarted")
        assert list_types(frames, "RUN_STARTED") == ["RUN_STARTED"]
        positions = list_positions(frames)
        assert positions == sorted(set(positions))
        await wait_until(lambda: shop.find_owner() == 0)
        # Asked again, it goes on from its progress.
        shop.sink.hanging = ""
        end = await post(shop.server.url, RUN_PATH, make_input("r2"))
        assert join_text(end) == "".join(WORDS)
        assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}


@pytest.mark.demand("scale.flows_go_on")
async def test_a_flow_with_a_forwarded_credential_ends_as_restarted(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow") as shop:
        await shop.start(stack, {"Authorization": "Bearer of-anna"})
        await shop.wait_requests("/slow", 1)
        assert not [
            path.name for path in (tmp_path / "data").iterdir() if path.is_file() and b"of-anna" in path.read_bytes()
        ]
        await shop.kill_owner()
        frames = await post(shop.server.url, CONNECT_PATH, make_input("c"))
        assert (frames[-1].json["type"], frames[-1].json["code"]) == ("RUN_ERROR", "restarted")
        assert shop.sink.requests["/slow"] == 1


@pytest.mark.demand("scale.flows_go_on")
async def test_a_flow_goes_on_after_all_processes_were_killed(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow") as shop:
        seen = await shop.start(stack)
        await shop.wait_requests("/slow", 1)
        workers = find_workers(shop.server)
        shop.server.send_signal(signal.SIGKILL)
        for pid in workers.values():
            os.kill(pid, signal.SIGKILL)
        await shop.server.wait_exit()
        shop.sink.hanging = ""
        async with make_server(tmp_path) as server:
            seen = list(seen)
            rest = await post(server.url, CONNECT_PATH, make_input("c"), seen[-1].id or "")
            check_one_run([*seen, *rest])
            assert join_text(rest) == "".join(WORDS)
            assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}


@pytest.mark.demand("scale.flows_go_on")
async def test_a_flow_goes_on_after_a_reload(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow") as shop:
        shop.server.send_signal(signal.SIGHUP)
        await wait_until(lambda: shop.server.stderr.count("was reloaded") >= 2)
        await shop.start(stack)
        await shop.wait_requests("/slow", 1)
        await shop.kill_owner()
        shop.sink.hanging = ""
        whole = await post(shop.server.url, RUN_PATH, make_input("r1"))
        check_one_run(whole)
        assert join_text(whole) == "".join(WORDS)
        assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}
