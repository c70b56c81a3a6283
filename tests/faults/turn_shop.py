"""A shop for tests of take-overs: a model and an API that hang where a test says, and servers that share a store."""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.kit import postgres
from tests.kit.app_server import serve_app
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.server import POLL_SECONDS, RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

RUN_PATH, CONNECT_PATH = "/copilotkit/agent/default/run", "/copilotkit/agent/default/connect"
STOP_PATH = "/copilotkit/agent/default/stop"
WORDS = [f"{number} " for number in range(8)]
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: Shop}
servers: [{url: "URL"}]
paths:
  /look:
    get: {operationId: look, description: Look at the order., responses: {"200": {description: ok}}}
  /order:
    post: {operationId: order, description: Order it., responses: {"200": {description: ok}}}
  /mail:
    post: {operationId: mail, description: Mail it., responses: {"200": {description: ok}}}
"""


@dataclass
class TurnShop:
    """A model and an API in one app. The words of the last user message are the rounds of the model's answer: `look`,
    `order` and `mail` call that operation, several with a plus between them at once, and `tell` says WORDS.

    What is in `hanging` is not answered while it is there: an operation, `model 0` (before the first token of a round)
    or `text` (after the third word)."""

    url: str = ""
    hanging: set[str] = field(default_factory=set)
    requests: Counter[str] = field(default_factory=Counter)
    prompts: list[list[dict[str, Any]]] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["path"].endswith("/chat/completions"):
            await self.answer(json.loads(body), receive, send)
            return
        operation = scope["path"].strip("/")
        self.requests[operation] += 1
        if not await self.hang(operation, receive):
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps({"done": operation}).encode()})

    async def hang(self, name: str, receive: Any) -> bool:
        """Wait while the name is in `hanging`; return whether the caller is still there."""
        if name not in self.hanging:
            return True
        leaving = asyncio.create_task(receive())
        await wait_until(lambda: name not in self.hanging or leaving.done())
        is_there = not leaving.done()
        leaving.cancel()
        return is_there

    async def answer(self, request: dict[str, Any], receive: Any, send: Any) -> None:
        messages = request["messages"]
        self.prompts.append(messages)
        last = max(number for number, message in enumerate(messages) if message["role"] == "user")
        number = sum(bool(message.get("tool_calls")) for message in messages[last:])
        plan = str(read_text(messages[last])).split()
        word = plan[number] if number < len(plan) else "tell"
        self.requests[f"model {number}"] += 1
        if not await self.hang(f"model {number}", receive):
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        if word != "tell":
            names = {tool["function"]["name"] for tool in request.get("tools", [])}
            for index, operation in enumerate(word.split("+")):
                (name,) = (name for name in names if name.endswith(operation))
                call = {"index": index, "id": f"c{index}", "type": "function"}
                await self.send_delta(send, {"tool_calls": [{**call, "function": {"name": name, "arguments": "{}"}}]})
            await self.send_delta(send, {}, "tool_calls")
        else:
            for position, text in enumerate(WORDS):
                if position == 3 and "text" in self.hanging:
                    self.requests["text"] += 1
                    if not await self.hang("text", receive):
                        return
                await self.send_delta(send, {"content": text})
            await self.send_delta(send, {}, "stop")
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
        self.requests[f"answered {number}"] += 1

    async def send_delta(self, send: Any, delta: dict[str, Any], reason: str | None = None) -> None:
        chunk: dict[str, Any] = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "x"}
        chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": reason}]
        await send({"type": "http.response.body", "body": f"data: {json.dumps(chunk)}\n\n".encode(), "more_body": True})

    async def wait_requests(self, name: str, count: int = 1) -> None:
        await wait_until(lambda: self.requests[name] >= count)


def read_text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class SharedServers:
    """Servers over one store: three workers with SQLite, or two processes with PostgreSQL."""

    def __init__(self, shop: TurnShop, home: Path, servers: Sequence[RightseatProcess]) -> None:
        self.shop = shop
        self.home = home
        self.servers = list(servers)

    @property
    def url(self) -> str:
        """Where any living process answers."""
        return self.servers[-1].url

    def find_owner(self, thread: str = "t") -> int:
        """The pid of the process that has the thread; 0 if none has."""
        with contextlib.closing(sqlite3.connect(f"file:{self.home}/data/rightseat.db?mode=ro", uri=True)) as file:
            row = file.execute("SELECT process FROM leases WHERE thread = ?", (thread,)).fetchone()
        return int(row[0].rpartition(":")[2]) if row else 0

    def count_records(self) -> int:
        """How many runs others can go on with."""
        with contextlib.closing(sqlite3.connect(f"file:{self.home}/data/rightseat.db?mode=ro", uri=True)) as file:
            return int(file.execute("SELECT count(*) FROM kept WHERE key LIKE '%/resume/%'").fetchone()[0])

    async def kill_owner(self) -> None:
        os.kill(self.find_owner(), signal.SIGKILL)

    def freeze_owner(self) -> int:
        pid = self.find_owner()
        os.kill(pid, signal.SIGSTOP)
        return pid

    async def wait_free(self) -> None:
        await wait_until(lambda: self.find_owner() == 0)

    async def start(
        self,
        stack: AsyncExitStack,
        text: str,
        headers: dict[str, str] | None = None,
        *,
        is_recorded: bool = True,
        **more: Any,
    ) -> list[SseFrame]:
        """Start the run r1, wait until others can go on with it, and return the list that its frames come into, until
        its process is killed."""
        client = await stack.enter_async_context(RawHttpClient(self.servers[0].url))
        await client.post_json(RUN_PATH, make_input("r1", text, **more), headers or {})
        assert (await client.read_head()).status == 200
        # Written beside the run.
        await wait_until(lambda: not is_recorded or self.count_records() == 1)
        return follow(stack, client)

    async def post(self, path: str, body: dict[str, Any], last_event: str = "") -> list[SseFrame]:
        """The frames of a reply, from a process that answers: the kernel may still choose the one that was killed."""
        async with asyncio.timeout(3 * HANG_TIMEOUT):
            while True:
                with contextlib.suppress(OSError):
                    async with RawHttpClient(self.url) as client:
                        await client.post_json(path, body, {"Last-Event-ID": last_event} if last_event else {})
                        head = await client.read_head()
                        assert head.status == 200, await client.read_body()
                        return [frame async for frame in client.iterate_frames() if frame.data]
                await asyncio.sleep(POLL_SECONDS)


class PostgresServers(SharedServers):
    schema = ""

    def find_owner(self, thread: str = "t") -> int:
        url, options = postgres.get_session_server().url, f"-c search_path={self.schema}"
        with psycopg.connect(url, autocommit=True, options=options) as connection:
            row = connection.execute("SELECT worker FROM threads WHERE run IS NOT NULL").fetchone()
        return self.servers[0].pid if row else 0

    def count_records(self) -> int:
        url, options = postgres.get_session_server().url, f"-c search_path={self.schema}"
        with psycopg.connect(url, autocommit=True, options=options) as connection:
            row = connection.execute("SELECT count(*) FROM kept WHERE key LIKE '%/resume/%'").fetchone()
        return int(row[0]) if row else 0

    async def kill_owner(self) -> None:
        self.servers.pop(0).send_signal(signal.SIGKILL)

    def freeze_owner(self) -> int:
        pid = self.servers.pop(0).pid
        os.kill(pid, signal.SIGSTOP)
        return pid


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


def make_input(run: str, text: str, answers: Sequence[dict[str, Any]] = (), **more: Any) -> dict[str, Any]:
    body = {"threadId": "t", "runId": run, "messages": [{"id": "u", "role": "user", "content": text}]}
    empty = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
    return {**body, **empty, "resume": list(answers), **more}


@asynccontextmanager
async def serve_shop(
    home: Path, kind: str, *, hanging: Sequence[str] = (), confirm: str = "never", config: str = ""
) -> AsyncIterator[SharedServers]:
    """Serve the shop to workers over SQLite, or to two processes over PostgreSQL."""
    shop = TurnShop(hanging=set(hanging))
    async with serve_app(shop) as url, AsyncExitStack() as stack:
        shop.url = url
        folder = home / "plugins" / "shop"
        folder.mkdir(parents=True)
        (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", url), "utf-8")
        schema = f"turns_{abs(hash(home)):x}"[:40]
        store = f'path = "{home / "data"}"'
        if kind == "postgres":
            store = f'kind = "postgres"\nurl = "{postgres.get_session_server().url}"\nschema = "{schema}"'
        text = f"""
[models.m]
spec = "openai:x"
base_url = "{url}/v1"
api_key = "key"
[[plugins]]
path = "{home / "plugins"}"
allow = ["127.0.0.1"]
retries = 0
confirm = "{confirm}"
[store]
{store}
{config}
"""
        args = [["--workers", "3"]] if kind == "sqlite" else [[], []]
        servers = [await stack.enter_async_context(RightseatProcess(config=text, args=each)) for each in args]
        shared = SharedServers(shop, home, servers) if kind == "sqlite" else PostgresServers(shop, home, servers)
        if isinstance(shared, PostgresServers):
            shared.schema = schema
        yield shared


def list_types(frames: list[SseFrame], *kinds: str) -> list[str]:
    return [frame.json["type"] for frame in frames if frame.json["type"] in kinds]


def list_positions(frames: list[SseFrame]) -> list[tuple[int, int]]:
    """The ids as they are ordered: the parts of an entry come before its last frame."""
    ids = [(frame.id or "").partition(".") for frame in frames]
    return [(int(number), int(part or 1 << 20)) for number, _, part in ids]


def join_text(frames: list[SseFrame]) -> str:
    return "".join(frame.json["delta"] for frame in frames if frame.json["type"] == "TEXT_MESSAGE_CONTENT")


def join_deltas(frames: Sequence[SseFrame]) -> list[Any]:
    """Join the pieces of each text: a finished one is kept as one entry, so that later readers get fewer pieces."""
    joined: list[Any] = []
    for event in (frame.json for frame in frames):
        last = joined[-1] if joined else {}
        if event["type"] == last.get("type") == "TEXT_MESSAGE_CONTENT" and event["messageId"] == last["messageId"]:
            joined[-1] = last | {"delta": last["delta"] + event["delta"]}
        else:
            joined.append(event)
    return joined


def check_one_run(frames: list[SseFrame], *, end: str = "RUN_FINISHED") -> None:
    """One start and one end of the same run; every message and call has its end once; numbers grow."""
    assert list_types(frames, "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR") == ["RUN_STARTED", end]
    assert {frame.json["runId"] for frame in frames if "runId" in frame.json} == {"r1"}
    positions = list_positions(frames)
    assert positions == sorted(set(positions))
    assert len(list_types(frames, "TEXT_MESSAGE_START")) == len(list_types(frames, "TEXT_MESSAGE_END"))
    for kind in ("TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT"):
        ids = [frame.json["toolCallId"] for frame in frames if frame.json["type"] == kind]
        assert len(ids) == len(set(ids)), f"{kind} twice"
