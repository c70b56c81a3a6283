"""What CopilotKit's newest clients ask for besides: each route of theirs has an answer that they can read."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from tests.kit.app_server import AppServer, FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.client import build_raw_request as raw
from tests.unit.doors.copilotkit.agui import THREADS_PATH, collect_frames, make_run_input, request_json

pytestmark = pytest.mark.io

KEYED = Authenticator(AuthSettings(keys={"ada": Secret("ada-key"), "bob": Secret("bob-key")}))


def make_envelope_request(path: str, method: str = "GET", body: object = None) -> dict[str, Any]:
    envelope = {"method": "resource/request", "params": {"path": path, "httpMethod": method}}
    return envelope if body is None else {**envelope, "body": body}


async def request_status(server: AppServer, target: str, body: object = None, method: str = "POST") -> tuple[int, str]:
    """Of an answer without a body."""
    async with RawHttpClient(server.url) as client:
        if body is None:
            await client.send(raw(method, target))
        else:
            await client.post_json(target, body)
        head = await client.read_head()
        return head.status, head.headers.get("cache-control", "")


@pytest.mark.demand("copilotkit.route_newest_clients_know")
async def test_threads_by_the_single_endpoint() -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Yes."), reply_text("Yes.")))) as server:
        _, info = await request_json(server, "/copilotkit", {"method": "info"})
        assert info["singleRoute"]["resourceOperations"] is True
        assert info["singleRoute"]["threadEndpoints"] == info["threadEndpoints"]
        await collect_frames(server, "run", make_run_input("hi", thread="a/b c"))
        _, listed = await request_json(server, "/copilotkit", make_envelope_request("/threads?agentId=default&limit=1"))
        assert [thread["id"] for thread in listed["threads"]] == ["a/b c"]
        place = "/threads/a%2Fb%20c"
        _, told = await request_json(server, "/copilotkit", make_envelope_request(place, "PATCH", {"name": "mine"}))
        assert told["name"] == "mine"
        _, told = await request_json(server, "/copilotkit", make_envelope_request(f"{place}/messages"))
        assert [message["content"] for message in told["messages"]] == ["hi", "Yes."]
        head, told = await request_json(server, "/copilotkit", make_envelope_request(place, "DELETE"))
        assert (head.status, told["deleted"]) == (200, True)
        head, _ = await request_json(server, "/copilotkit", make_envelope_request(f"{place}/messages"))
        assert head.status == 404


@pytest.mark.demand("copilotkit.route_newest_clients_know")
@pytest.mark.parametrize(
    ("path", "method", "expected"),
    [
        ("/agent/default/run", "POST", 404),
        ("/info", "GET", 404),
        ("/../health", "GET", 404),
        ("//evil.example/threads", "GET", 404),
        ("https://evil.example/threads", "GET", 404),
        ("/threads/", "DELETE", 404),
        ("/threads/a/b/messages", "GET", 404),
        ("", "GET", 404),
        ("/threads", "POST", 405),
        ("/threads/t", "GET", 405),
        ("/threads?limit=x", "GET", 400),
    ],
)
async def test_only_resources_are_carried(path: str, method: str, expected: int) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        head, body = await request_json(server, "/copilotkit", make_envelope_request(path, method, {}))
    assert head.status == expected
    assert body["message"]


async def test_another_owners_thread_is_not_carried_either() -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Yes."))), authenticate=KEYED) as server:
        ada, bob = ({"Authorization": f"Bearer {name}-key"} for name in ("ada", "bob"))
        async with RawHttpClient(server.url) as client:
            await client.post_json("/copilotkit/agent/default/run", make_run_input("hi"), ada)
            await client.read_head()
            assert [frame async for frame in client.iterate_frames()]
        for path in ("/threads/t/messages", "/threads/nothing/messages"):
            head, body = await request_json(server, "/copilotkit", make_envelope_request(path), headers=bob)
            assert (head.status, body["error"]) == (404, "Thread not found")
        head, _ = await request_json(server, "/copilotkit", make_envelope_request("/threads/t/messages"), headers=ada)
        assert head.status == 200
        assert (await request_status(server, "/copilotkit", make_envelope_request("/threads")))[0] == 401


@pytest.mark.demand("copilotkit.route_newest_clients_know")
async def test_all_threads_of_an_owner_are_deleted_and_no_other() -> None:
    async with serve_runtime(Runtime(model=FakeModel(*[reply_text("Yes.")] * 3)), authenticate=KEYED) as server:
        for key, thread in (("ada", "a1"), ("ada", "a2"), ("bob", "b1")):
            async with RawHttpClient(server.url) as client:
                body = make_run_input("hi", thread=thread)
                await client.post_json("/copilotkit/agent/default/run", body, {"Authorization": f"Bearer {key}-key"})
                await client.read_head()
                assert [frame async for frame in client.iterate_frames()]
        async with RawHttpClient(server.url) as client:
            await client.post_json(f"{THREADS_PATH}/clear", {}, {"Authorization": "Bearer ada-key"})
            assert (await client.read_head()).status == 204
        for key, left in (("ada", []), ("bob", ["b1"])):
            headers = {"Authorization": f"Bearer {key}-key"}
            _, listed = await request_json(server, THREADS_PATH, method="GET", headers=headers)
            assert [thread["id"] for thread in listed["threads"]] == left


@pytest.mark.demand("copilotkit.route_newest_clients_know")
async def test_what_only_the_cloud_has() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        for target in ("/threads/subscribe", "/annotate"):
            head, body = await request_json(server, f"/copilotkit{target}", {})
            assert (head.status, body["code"]) == (422, "not_configured")
        head, body = await request_json(server, "/copilotkit", make_envelope_request("/threads/subscribe", "POST", {}))
        assert (head.status, body["code"]) == (422, "not_configured")
        nothing = (204, "no-store, private")
        assert await request_status(server, "/copilotkit/inspector-metadata", method="GET") == nothing
        assert await request_status(server, "/copilotkit", {"method": "inspector/metadata"}) == nothing
        for target in ("/memories", "/memories/subscribe", "/inspector-learning", "/cpk-debug-events"):
            head, body = await request_json(server, f"/copilotkit{target}", method="GET")
            assert (head.status, body["error"], body["code"]) == (404, "Not found", "not_found")
