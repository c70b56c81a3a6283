"""The door as bytes: what each era's requests must say, and how it refuses."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import methods

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.doors.mcp.routes import registry
from rightseat.engine.toolsets import DIRECT_CALLS
from rightseat.http.auth import Authenticator
from tests.kit.app_server import AppServer, FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.waiting import wait_until
from tests.unit.doors.mcp.mcp_server import serve_mcp

pytestmark = pytest.mark.io

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LISTS = ["tools/list", "resources/list", "prompts/list", "resources/templates/list"]
META = {VERSION: "2026-07-28", CAPABILITIES: {}}
KEYED = Authenticator(AuthSettings(keys={"ada": Secret("ada-key"), "bob": Secret("bob-key")}))
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture
async def server() -> AsyncIterator[AppServer]:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Good day.")))) as made:
        yield made


async def post_mcp(
    url: str, body: Any, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], dict[str, Any] | None]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with RawHttpClient(url) as client:
        await client.send(build_raw_request("POST", "/mcp", sent, {**JSON_HEADERS, **(headers or {})}))
        head = await client.read_head()
        found = await client.read_body()
    return head.status, head.headers, json.loads(found) if found else None


def make_jsonrpc(method: str, params: dict[str, Any] | None = None, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


def make_modern_request(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    return make_jsonrpc(method, {"_meta": META, **params}), headers


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_the_handshake_keeps_the_clients_version(server: AppServer, version: str) -> None:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    status, headers, body = await post_mcp(server.url, make_jsonrpc("initialize", params))
    assert status == 200
    assert body is not None
    methods.validate_server_result("initialize", version, body["result"])
    assert body["result"]["protocolVersion"] == version
    assert headers["mcp-session-id"].startswith("mute-")


async def test_an_unknown_version_gets_our_newest(server: AppServer) -> None:
    params = {"protocolVersion": "1999-01-01", "capabilities": {"elicitation": {}}, "clientInfo": {}}
    _, headers, body = await post_mcp(server.url, make_jsonrpc("initialize", params))
    assert body is not None
    assert body["result"]["protocolVersion"] == "2025-11-25"
    assert headers["mcp-session-id"].startswith("ask-")


@pytest.mark.demand("agents.real_mcp_servers_stdio")
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "prompts/list", "resources/templates/list"])
@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25", "2026-07-28"])
async def test_every_list_fits_its_versions_schema(server: AppServer, method: str, version: str) -> None:
    body, headers = make_modern_request(method)
    if version != "2026-07-28":
        body, headers = make_jsonrpc(method), {"MCP-Protocol-Version": version}
    status, _, answer = await post_mcp(server.url, body, headers)
    assert (status, answer is not None) == (200, True)
    assert answer is not None
    methods.validate_server_result(method, version, answer["result"])
    assert ("ttlMs" in answer["result"]) == (version == "2026-07-28")


async def test_discovery_names_both_eras(server: AppServer) -> None:
    body, headers = make_modern_request("server/discover")
    _, _, answer = await post_mcp(server.url, body, headers)
    assert answer is not None
    methods.validate_server_result("server/discover", "2026-07-28", answer["result"])
    assert {"2026-07-28", "2025-11-25"} <= set(answer["result"]["supportedVersions"])
    _, _, answer = await post_mcp(server.url, make_jsonrpc("server/discover"))
    assert answer is not None
    assert answer["error"]["code"] == -32601


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
        {"jsonrpc": "2.0", "id": "ask-x", "result": {"action": "accept"}},
    ],
)
async def test_what_needs_no_answer_has_none(server: AppServer, message: dict[str, Any]) -> None:
    status, _, body = await post_mcp(server.url, message)
    assert (status, body) == (202, None)


@pytest.mark.parametrize("method", ["ping", "logging/setLevel"])
async def test_empty_answers(server: AppServer, method: str) -> None:
    status, _, body = await post_mcp(server.url, make_jsonrpc(method, id="a"))
    assert (status, body) == (200, {"jsonrpc": "2.0", "id": "a", "result": {}})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32600),
        (b'{"a":' * 100_000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32600),
    ],
)
async def test_what_is_no_message_is_refused(server: AppServer, body: bytes, code: int) -> None:
    status, _, answer = await post_mcp(server.url, body)
    assert status == 400
    assert answer is not None
    assert answer["error"]["code"] == code
    # A code of JSON-RPC has no page, and an empty address helps nobody.
    assert answer["error"]["data"].get("doc_url", "absent") == "absent"


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_there_is_no_stream(server: AppServer, method: str) -> None:
    async with RawHttpClient(server.url) as client:
        await client.send(build_raw_request(method, "/mcp", b"", {"Mcp-Session-Id": f"mute-{'0' * 32}"}))
        head = await client.read_head()
        assert (head.status, head.headers["allow"]) == (405, "DELETE, POST")
        assert json.loads(await client.read_body())["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("change", "code", "status"),
    [
        ({"Mcp-Method": "ping"}, -32020, 400),
        ({"MCP-Protocol-Version": "2025-11-25"}, -32020, 400),
        ({"Mcp-Name": "ask_other"}, -32020, 400),
        ({"Mcp-Name": "=?base64?!!?="}, -32020, 400),
    ],
)
async def test_headers_must_say_what_the_body_says(
    server: AppServer, change: dict[str, str], code: int, status: int
) -> None:
    body, headers = make_modern_request("tools/call", name="ask_default", arguments={"request": "hi"})
    found, _, answer = await post_mcp(server.url, body, {**headers, **change})
    assert answer is not None
    assert (found, answer["error"]["code"], answer["id"]) == (status, code, 1)


async def test_a_packed_name_is_unpacked(server: AppServer) -> None:
    body, headers = make_modern_request("tools/call", name="ask_default", arguments={"request": "hi"})
    packed = {"Mcp-Name": "=?base64?YXNrX2RlZmF1bHQ=?="}
    status, _, answer = await post_mcp(server.url, body, {**headers, **packed})
    assert status == 200
    assert answer is not None
    methods.validate_server_result("tools/call", "2026-07-28", answer["result"])
    assert answer["result"]["content"] == [{"type": "text", "text": "Good day."}]


async def test_what_a_request_of_the_newer_era_lacks_is_named(server: AppServer) -> None:
    body, headers = make_modern_request("tools/list")
    del body["params"]["_meta"][CAPABILITIES]
    status, _, answer = await post_mcp(server.url, body, headers)
    body["params"]["_meta"][CAPABILITIES] = {}
    assert answer is not None
    assert (status, answer["error"]["code"]) == (400, -32602)
    assert CAPABILITIES in answer["error"]["message"]
    newer = {"_meta": {VERSION: "2099-01-01", CAPABILITIES: {}}}
    headers["MCP-Protocol-Version"] = "2099-01-01"
    status, _, answer = await post_mcp(server.url, make_jsonrpc("tools/list", newer), headers)
    assert answer is not None
    assert (status, answer["error"]["code"]) == (400, -32022)
    assert "2026-07-28" in answer["error"]["data"]["supported"]


async def test_an_unknown_method_is_a_404_in_the_newer_era_only(server: AppServer) -> None:
    body, headers = make_modern_request("tools/fly")
    status, _, answer = await post_mcp(server.url, body, headers)
    assert answer is not None
    assert (status, answer["error"]["code"]) == (404, -32601)
    status, _, answer = await post_mcp(server.url, make_jsonrpc("tools/fly"))
    assert answer is not None
    assert (status, answer["error"]["code"]) == (200, -32601)


@pytest.mark.demand("agents.dns_rebinding_origin_checks")
async def test_it_needs_the_same_key_as_every_door(tmp_path: Path) -> None:
    async with serve_mcp(tmp_path, authenticate=KEYED) as place:
        body = make_jsonrpc("tools/call", {"name": "net_get_hosts", "arguments": {}})
        status, _, answer = await post_mcp(place.server.url, body)
        assert answer is not None
        assert (status, answer["error"]["data"]["code"]) == (401, "unauthorized")
        assert place.api.requests == []
        status, _, _ = await post_mcp(place.server.url, body, {"Authorization": "Bearer ada-key"})
        assert (status, place.api.requests) == (200, ["GET /hosts"])


@pytest.mark.demand("agents.dns_rebinding_origin_checks")
@pytest.mark.parametrize("header", [{"Host": "evil.com"}, {"Origin": "http://evil.com"}])
async def test_another_host_or_origin_is_refused(tmp_path: Path, header: dict[str, str]) -> None:
    async with serve_mcp(tmp_path) as place:
        body = make_jsonrpc("tools/call", {"name": "net_get_hosts", "arguments": {}})
        status, _, answer = await post_mcp(place.server.url, body, header)
        assert status in (403, 421)
        assert answer is not None
        assert "error" in answer
        assert place.api.requests == []


async def test_a_form_post_from_a_page_is_refused(server: AppServer) -> None:
    page = {"Content-Type": "text/plain", "Origin": server.url}
    status, _, _ = await post_mcp(server.url, make_jsonrpc("tools/list"), page)
    assert status == 415


@pytest.mark.demand("agents.dns_rebinding_origin_checks")
async def test_an_answer_of_somebody_else_answers_nothing(tmp_path: Path) -> None:
    """A question goes out on one owner's stream. Another owner who knew its id could not answer it."""
    ada, bob = {"Authorization": "Bearer ada-key"}, {"Authorization": "Bearer bob-key"}
    session = {"Mcp-Session-Id": f"ask-{'1' * 32}"}
    async with (
        serve_mcp(tmp_path, confirm="all", authenticate=KEYED) as place,
        RawHttpClient(place.server.url) as client,
    ):
        body = json.dumps(make_jsonrpc("tools/call", {"name": "net_get_hosts"})).encode()
        await client.send(build_raw_request("POST", "/mcp", body, {**JSON_HEADERS, **ada, **session}))
        await client.read_head()
        frames = aiter(client.iterate_frames())
        question = (await anext(frames)).json
        assert question["method"] == "elicitation/create"
        yes = {"action": "accept", "content": {"approved": True}}
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": yes}
        for stranger in (bob | session, ada, ada | {"Mcp-Session-Id": f"ask-{'2' * 32}"}):
            # A no, which would end the call.
            await post_mcp(place.server.url, {**reply, "result": {"action": "decline"}}, stranger)
        assert place.api.requests == []
        await post_mcp(place.server.url, reply, ada | session)
        answer = (await anext(frames)).json
        assert answer["result"]["structuredContent"] == {"hosts": ["web-01"]}
        assert place.api.requests == ["GET /hosts"]


async def test_a_call_is_called_off(tmp_path: Path) -> None:
    """By its own client and session: the stream ends without an answer, and nothing is called."""
    session = {"Mcp-Session-Id": f"ask-{'2' * 32}"}
    async with serve_mcp(tmp_path, confirm="all") as place, RawHttpClient(place.server.url) as client:
        body = json.dumps(make_jsonrpc("tools/call", {"name": "net_get_hosts"}, id=41)).encode()
        await client.send(build_raw_request("POST", "/mcp", body, {**JSON_HEADERS, **session}))
        await client.read_head()
        frames = aiter(client.iterate_frames())
        assert (await anext(frames)).json["method"] == "elicitation/create"
        off = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 41}}
        await post_mcp(place.server.url, off, {"Mcp-Session-Id": f"ask-{'3' * 32}"})
        assert len(registry.active_calls) == 1, "another session's word does not count"
        await post_mcp(place.server.url, off, session)
        assert [frame async for frame in frames if frame.data is not None] == []
        assert place.api.requests == []
        assert not registry.active_calls


async def test_the_calls_of_a_session_end_with_it(tmp_path: Path) -> None:
    session = {"Mcp-Session-Id": f"ask-{'4' * 32}"}
    async with serve_mcp(tmp_path, confirm="all") as place, RawHttpClient(place.server.url) as client:
        body = json.dumps(make_jsonrpc("tools/call", {"name": "net_get_hosts"}, id=41)).encode()
        await client.send(build_raw_request("POST", "/mcp", body, {**JSON_HEADERS, **session}))
        await client.read_head()
        frames = aiter(client.iterate_frames())
        assert (await anext(frames)).json["method"] == "elicitation/create"
        for header in ({}, {"Mcp-Session-Id": f"ask-{'5' * 32}"}, session):
            assert len(registry.active_calls) == 1
            async with RawHttpClient(place.server.url) as ender:
                await ender.send(build_raw_request("DELETE", "/mcp", b"", header))
                assert (await ender.read_head()).status == 204
        assert [frame async for frame in frames if frame.data is not None] == []
        assert place.api.requests == []


async def test_a_client_that_leaves_ends_the_run(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless(prompt: Any) -> AsyncIterator[Any]:
        begun.set()
        await asyncio.Event().wait()
        yield None

    async with serve_runtime(Runtime(model=FakeModel(endless))) as home:
        async with RawHttpClient(home.url) as client:
            body = json.dumps(make_jsonrpc("tools/call", {"name": "ask_default", "arguments": {"request": "x"}}))
            await client.send(build_raw_request("POST", "/mcp", body.encode(), JSON_HEADERS))
            await begun.wait()
            assert home.app.runtime.active_runs == 1
        await wait_until(lambda: home.app.runtime.active_runs == 0)


async def test_a_failed_run_is_an_error_result(tmp_path: Path) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as home:
        call = make_jsonrpc("tools/call", {"name": "ask_default", "arguments": {"request": "x"}})
        status, _, answer = await post_mcp(home.url, call)
    assert status == 200
    assert answer is not None
    assert answer["result"]["isError"] is True
    assert "went wrong" in answer["result"]["content"][0]["text"]


async def test_who_carries_out_calls_is_listed_nowhere(tmp_path: Path) -> None:
    async with serve_mcp(tmp_path) as place:
        async with RawHttpClient(place.server.url) as client:
            await client.get("/v1/models")
            await client.read_head()
            models = [model["id"] for model in (await client.read_json())["data"]]
        _, _, answer = await post_mcp(place.server.url, make_jsonrpc("tools/list"))
    assert answer is not None
    assert DIRECT_CALLS not in models
    assert not any("tools" in tool["name"] for tool in answer["result"]["tools"])
