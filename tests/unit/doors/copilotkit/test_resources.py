"""What CopilotKit's newest clients ask for besides: each route of theirs has an answer that they can read."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from tests.kit.client import Client
from tests.kit.client import request as raw
from tests.kit.house import House, Lines, house, says
from tests.unit.doors.copilotkit.agui import THREAD, asked, given, played

pytestmark = pytest.mark.io

KEYED = Authenticator(AuthSettings(keys={"ada": Secret("ada-key"), "bob": Secret("bob-key")}))


def carried(path: str, method: str = "GET", body: object = None) -> dict[str, Any]:
    envelope = {"method": "resource/request", "params": {"path": path, "httpMethod": method}}
    return envelope if body is None else {**envelope, "body": body}


async def status(server: House, target: str, body: object = None, method: str = "POST") -> tuple[int, str]:
    """Of an answer without a body."""
    async with Client(server.url) as client:
        if body is None:
            await client.send(raw(method, target))
        else:
            await client.post(target, body)
        head = await client.head()
        return head.status, head.headers.get("cache-control", "")


@pytest.mark.demand("copilotkit.route_newest_clients_know")
async def test_threads_by_the_single_endpoint() -> None:
    async with house(Runtime(model=Lines(says("Yes."), says("Yes.")))) as server:
        _, info = await asked(server, "/copilotkit", {"method": "info"})
        assert info["singleRoute"]["resourceOperations"] is True
        assert info["singleRoute"]["threadEndpoints"] == info["threadEndpoints"]
        await played(server, "run", given("hi", thread="a/b c"))
        _, listed = await asked(server, "/copilotkit", carried("/threads?agentId=default&limit=1"))
        assert [thread["id"] for thread in listed["threads"]] == ["a/b c"]
        place = "/threads/a%2Fb%20c"
        _, told = await asked(server, "/copilotkit", carried(place, "PATCH", {"name": "mine"}))
        assert told["name"] == "mine"
        _, told = await asked(server, "/copilotkit", carried(f"{place}/messages"))
        assert [message["content"] for message in told["messages"]] == ["hi", "Yes."]
        head, told = await asked(server, "/copilotkit", carried(place, "DELETE"))
        assert (head.status, told["deleted"]) == (200, True)
        head, _ = await asked(server, "/copilotkit", carried(f"{place}/messages"))
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
    async with house(Runtime(model=Lines())) as server:
        head, body = await asked(server, "/copilotkit", carried(path, method, {}))
    assert head.status == expected
    assert body["message"]


async def test_another_owners_thread_is_not_carried_either() -> None:
    async with house(Runtime(model=Lines(says("Yes."))), authenticate=KEYED) as server:
        ada, bob = ({"Authorization": f"Bearer {name}-key"} for name in ("ada", "bob"))
        async with Client(server.url) as client:
            await client.post("/copilotkit/agent/default/run", given("hi"), ada)
            await client.head()
            assert [frame async for frame in client.frames()]
        for path in ("/threads/t/messages", "/threads/nothing/messages"):
            head, body = await asked(server, "/copilotkit", carried(path), headers=bob)
            assert (head.status, body["error"]) == (404, "Thread not found")
        head, _ = await asked(server, "/copilotkit", carried("/threads/t/messages"), headers=ada)
        assert head.status == 200
        assert (await status(server, "/copilotkit", carried("/threads")))[0] == 401


@pytest.mark.demand("copilotkit.route_newest_clients_know")
async def test_all_threads_of_an_owner_are_deleted_and_no_other() -> None:
    async with house(Runtime(model=Lines(*[says("Yes.")] * 3)), authenticate=KEYED) as server:
        for key, thread in (("ada", "a1"), ("ada", "a2"), ("bob", "b1")):
            async with Client(server.url) as client:
                body = given("hi", thread=thread)
                await client.post("/copilotkit/agent/default/run", body, {"Authorization": f"Bearer {key}-key"})
                await client.head()
                assert [frame async for frame in client.frames()]
        async with Client(server.url) as client:
            await client.post(f"{THREAD}/clear", {}, {"Authorization": "Bearer ada-key"})
            assert (await client.head()).status == 204
        for key, left in (("ada", []), ("bob", ["b1"])):
            headers = {"Authorization": f"Bearer {key}-key"}
            _, listed = await asked(server, THREAD, method="GET", headers=headers)
            assert [thread["id"] for thread in listed["threads"]] == left


@pytest.mark.demand("copilotkit.route_newest_clients_know")
async def test_what_only_the_cloud_has() -> None:
    async with house(Runtime(model=Lines())) as server:
        for target in ("/threads/subscribe", "/annotate"):
            head, body = await asked(server, f"/copilotkit{target}", {})
            assert (head.status, body["code"]) == (422, "not_configured")
        head, body = await asked(server, "/copilotkit", carried("/threads/subscribe", "POST", {}))
        assert (head.status, body["code"]) == (422, "not_configured")
        nothing = (204, "no-store, private")
        assert await status(server, "/copilotkit/inspector-metadata", method="GET") == nothing
        assert await status(server, "/copilotkit", {"method": "inspector/metadata"}) == nothing
        for target in ("/memories", "/memories/subscribe", "/inspector-learning", "/cpk-debug-events"):
            head, body = await asked(server, f"/copilotkit{target}", method="GET")
            assert (head.status, body["error"], body["code"]) == (404, "Not found", "not_found")
