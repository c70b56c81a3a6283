"""MCP clients of three workers: the call at one, its answer at another, its cancellation at a third."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.kit.workers import connect_workers
from tests.unit.mcp.tool_calls import SERVER_SCRIPT
from tests.unit.plugins.runtime.api_plugins import RecordingJsonApi, serve_json_api, write_api_plugin

pytestmark = [pytest.mark.io, pytest.mark.timeout(600), pytest.mark.demand("scale.mcp_at_any_worker")]
ADA, BOB = {"Authorization": "Bearer ada-key"}, {"Authorization": "Bearer bob-key"}
SESSION, OTHER_SESSION = {"Mcp-Session-Id": f"ask-{'1' * 32}"}, {"Mcp-Session-Id": f"ask-{'2' * 32}"}
ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


@dataclass(frozen=True)
class McpWorkers:
    server: RightseatProcess
    api: RecordingJsonApi
    clients: dict[int, RawHttpClient]

    async def send(self, worker: int, message: Any, headers: dict[str, str], method: str = "POST") -> int:
        """Send a message that has no response to one of the workers."""
        body = json.dumps(message).encode() if message is not None else b""
        client = self.clients[worker]
        await client.send(build_raw_request(method, "/mcp", body, {**ACCEPT, **headers}))
        head = await client.read_head()
        if head.status != 204:
            await client.read_body()
        return head.status

    async def ask(self, worker: int, headers: dict[str, str], id: Any = 7) -> Any:
        """Call a tool that needs a yes, and return the question."""
        call = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "net_get_hosts"}}
        client = self.clients[worker]
        await client.send(build_raw_request("POST", "/mcp", json.dumps(call).encode(), {**ACCEPT, **headers}))
        assert (await client.read_head()).status == 200
        question = await self.read_message(worker)
        assert question is not None
        assert question["method"] == "elicitation/create"
        return question

    async def read_message(self, worker: int) -> Any:
        """Return the next message on a worker's stream; None at its end."""
        while (frame := await self.clients[worker].read_frame()) is not None:
            if frame.data:
                return frame.json
        return None


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[McpWorkers]:
    async with serve_json_api() as api, FakeUpstream() as upstream, contextlib.AsyncExitStack() as stack:
        plugin = write_api_plugin(tmp_path / "net", api.url)
        config = f"""
[models.m]
spec = "openai:x"
base_url = "{upstream.base_url}"
api_key = "key"
[store]
path = "{tmp_path / "data"}"
[[plugins]]
path = "{plugin}"
allow = ["127.0.0.1"]
confirm = "all"
[auth.keys]
ada = "ada-key"
bob = "bob-key"
"""
        server = await stack.enter_async_context(RightseatProcess(config=config, args=["--workers", "3"]))
        yield McpWorkers(server, api, await connect_workers(stack, server.url, 3))


@pytest.fixture
async def stack() -> AsyncIterator[contextlib.AsyncExitStack]:
    async with contextlib.AsyncExitStack() as stack:
        yield stack


def make_answer(question: Any, **content: Any) -> dict[str, Any]:
    result = {"action": "accept", "content": {"approved": True, **content}}
    return {"jsonrpc": "2.0", "id": question["id"], "result": result}


async def test_an_answer_counts_at_any_worker_once(workers: McpWorkers) -> None:
    question = await workers.ask(1, ADA | SESSION)
    # A no, which would end the call.
    denial = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    for stranger in (BOB | SESSION, ADA | OTHER_SESSION, ADA):
        for worker in (2, 3):
            assert await workers.send(worker, denial, stranger) == 202
    assert workers.api.requests == []
    answer = make_answer(question)
    assert await asyncio.gather(*(workers.send(worker, answer, ADA | SESSION) for worker in (2, 3))) == [202, 202]
    response = await workers.read_message(1)
    assert response["result"]["structuredContent"] == {"hosts": ["web-01"]}
    assert await workers.send(3, answer, ADA | SESSION) == 202
    assert workers.api.requests == ["GET /hosts"]


async def test_a_long_answer_counts_at_any_worker(workers: McpWorkers) -> None:
    """It does not fit into a datagram."""
    question = await workers.ask(2, ADA | SESSION)
    assert await workers.send(3, make_answer(question, reason="x" * 200_000), ADA | SESSION) == 202
    response = await workers.read_message(2)
    assert response["result"]["structuredContent"] == {"hosts": ["web-01"]}


async def test_a_call_is_cancelled_at_another_worker(workers: McpWorkers) -> None:
    question = await workers.ask(1, ADA | SESSION)
    cancellation = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    for stranger in (BOB | SESSION, ADA | OTHER_SESSION, ADA):
        assert await workers.send(3, cancellation, stranger) == 202
    assert await workers.send(3, {**cancellation, "params": {"requestId": 8}}, ADA | SESSION) == 202
    await workers.ask(2, ADA | SESSION, 9)
    assert await workers.send(3, cancellation, ADA | SESSION) == 202
    assert await workers.read_message(1) is None
    assert await workers.send(3, make_answer(question), ADA | SESSION) == 202
    assert workers.api.requests == []


async def test_a_session_ends_at_all_workers(workers: McpWorkers) -> None:
    await workers.ask(1, ADA | SESSION, 1)
    await workers.ask(2, ADA | SESSION, 2)
    assert await workers.send(3, None, ADA | SESSION, "DELETE") == 204
    assert await workers.read_message(1) is None
    assert await workers.read_message(2) is None
    assert workers.api.requests == []


async def test_a_call_of_the_stateless_era_is_answered_at_another_worker(workers: McpWorkers) -> None:
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "net_get_hosts"}
    params: dict[str, Any] = {"name": "net_get_hosts", "_meta": STATELESS}
    for worker in (1, 2, 3):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        client = workers.clients[worker]
        await client.send(build_raw_request("POST", "/mcp", body, {**ACCEPT, **ADA, **headers}))
        await client.read_head()
        result = json.loads(await client.read_body())["result"]
        if worker == 1:
            (key,) = result["inputRequests"]
            yes = {"action": "accept", "content": {"approved": True}}
            params |= {"requestState": result["requestState"], "inputResponses": {key: yes}}
        elif worker == 2:
            assert result["structuredContent"] == {"hosts": ["web-01"]}
    assert workers.api.requests == ["GET /hosts"]


@pytest.mark.demand("scale.held_calls")
async def test_a_question_of_a_server_is_answered_at_another_worker(
    tmp_path: Path, stack: contextlib.AsyncExitStack
) -> None:
    """The server of the older era waits inside the call, which one worker has."""
    turns = [{"when": {"user": "paint"}, "calls": [{"name": "things__stroke", "arguments": {}}]}, {"say": "{result}"}]
    (tmp_path / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")
    config = f"""
[models.m]
spec = "scripted:{tmp_path / "turns.json"}"
[store]
path = "{tmp_path / "data"}"
[mcp.things]
command = "{sys.executable}"
args = ["{SERVER_SCRIPT}"]
older = true
"""
    server = await stack.enter_async_context(RightseatProcess(config=config, args=["--workers", "3"]))
    clients = await connect_workers(stack, server.url, 3)

    async def run(worker: int, id: str, **more: Any) -> list[Any]:
        message = {"id": "u", "role": "user", "content": "paint"}
        body = {"threadId": "t", "runId": id, "messages": [message], "state": {}, "tools": [], "context": []}
        await clients[worker].post_json(
            "/agui/default", {**body, "forwardedProps": {}, "protocolVersion": "1.0", **more}
        )
        assert (await clients[worker].read_head()).status == 200
        return [frame.json async for frame in clients[worker].iterate_frames() if frame.data]

    (interrupt,) = (await run(1, "r1"))[-1]["outcome"]["interrupts"]
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"colour": "red"}}]
    events = await run(2, "r2", resume=resume)
    assert "painted red" in "".join(event.get("delta", "") for event in events), events
    twin = await run(3, "r3", resume=resume)
    assert twin[-1]["code"] == "already_answered"
