"""What is refused to CopilotKit's clients of today, and in which words."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.types.turn import Owner
from tests.kit.client import Client
from tests.kit.house import Lines, house, says
from tests.unit.doors.copilotkit.agui import THREAD, Gate, asked, enveloped, given, played, text_of

pytestmark = pytest.mark.io


@pytest.mark.parametrize("where", ["/copilotkit/agent/nobody/run", "/copilotkit/agent/nobody/connect"])
async def test_an_agent_that_is_not_there(where: str) -> None:
    async with house(Runtime(model=Lines())) as server:
        head, body = await asked(server, where, given("hi"))
        assert (head.status, body["error"]) == (404, "Agent not found")
        head, body = await asked(server, "/copilotkit/agent/nobody/stop/t")
        assert (head.status, body["error"]) == (404, "Agent not found")
        for name in ("run", "connect", "suggest", "stop"):
            envelope = enveloped(name, given("hi")) | {"params": {"agentId": "nobody", "threadId": "t"}}
            head, body = await asked(server, "/copilotkit", envelope)
            assert (head.status, body["error"]) == (404, "Agent not found")


@pytest.mark.parametrize(
    "body",
    [
        {"method": "unknown/method"},
        {"method": 7},
        {"method": "agent/run", "body": {}},
        {"method": "agent/run", "params": {"agentId": "default"}, "body": 7},
        {"method": "agent/run", "params": {"agentId": "default"}, "body": {"messages": "x"}},
        {"method": "agent/connect", "params": {"agentId": "default"}, "body": {}},
        {"method": "agent/stop", "params": {"agentId": "default"}},
        {},
    ],
    ids=str,
)
async def test_a_bad_body(body: dict[str, Any]) -> None:
    async with house(Runtime(model=Lines())) as server:
        head, told = await asked(server, "/copilotkit", body)
    assert (head.status, told["error"]) == (400, "Invalid request body")


async def test_methods_and_places_that_are_not_there() -> None:
    async with house(Runtime(model=Lines())) as server:
        for method, target, allowed in (
            ("POST", "/copilotkit/info", "GET"),
            ("GET", "/copilotkit/agent/default/run", "POST"),
            ("GET", "/copilotkit/agent/default/stop/t", "POST"),
        ):
            head, _ = await asked(server, target, method=method)
            assert (head.status, head.headers["allow"]) == (405, allowed)
        head, _ = await asked(server, "/copilotkit/nonexistent", method="GET")
        assert head.status == 404
        head, _ = await asked(server, "/copilotkit", method="GET")
        assert head.status in (404, 405)


@pytest.mark.demand("copilotkit.transcribe_answers_configured")
async def test_transcribing_is_not_configured() -> None:
    async with house(Runtime(model=Lines())) as server:
        for target, body in (("/copilotkit/transcribe", {}), ("/copilotkit", {"method": "transcribe", "body": {}})):
            head, told = await asked(server, target, body)
            assert (head.status, told["error"]) == (503, "service_not_configured")


async def test_a_run_without_messages_asks_the_model() -> None:
    """Their own suites send it."""
    async with house(Runtime(model=Lines(says("Hello from test")))) as server:
        assert text_of(await played(server, "run", given())) == "Hello from test"


async def test_another_owners_thread_is_as_good_as_none() -> None:
    auth = Authenticator(AuthSettings(keys={"ada": Secret("a"), "bob": Secret("b")}))
    ada, bob = {"Authorization": "Bearer a"}, {"x-copilotcloud-public-api-key": "b"}
    gate = Gate()
    runtime = Runtime(model=gate)
    async with house(runtime, authenticate=auth) as server:
        async with Client(server.url) as client:
            await client.post("/copilotkit/agent/default/run", given("secret"), ada)
            await client.head()
            await client.frame()
            for target, body, method in (
                ("/copilotkit/agent/default/stop/{}", None, "POST"),
                (THREAD + "/{}/messages", None, "GET"),
                (THREAD + "/{}/events", None, "GET"),
                (THREAD + "/{}/state", None, "GET"),
                (THREAD + "/{}", {"name": "mine"}, "PATCH"),
                (THREAD + "/{}/archive", None, "POST"),
                (THREAD + "/{}", None, "DELETE"),
            ):
                hers = await asked(server, target.format("t"), body, method=method, headers=bob)
                none = await asked(server, target.format("z"), body, method=method, headers=bob)
                assert (hers[0].status, str(hers[1])) == (none[0].status, str(none[1]).replace("'z'", "'t'"))
                assert (await asked(server, target.format("t"), body, method=method))[0].status == 401
            _, listed = await asked(server, THREAD, method="GET", headers=bob)
            assert listed["threads"] == []
            async with Client(server.url) as other:
                await other.post("/copilotkit/agent/default/connect", given(), bob)
                assert (await other.head()).status == 200
                assert await other.frame() is None
            assert not gate.closed.is_set()
            gate.words.put_nowait(None)
        # Her own is whole and unchanged.
        assert await runtime.threads.store.get_thread(Owner("key:ada"), "t") is not None


@pytest.mark.demand("copilotkit.key_taken_authorization_x")
async def test_without_a_key_nothing_is_told() -> None:
    auth = Authenticator(AuthSettings(keys={"ada": Secret("a")}))
    async with house(Runtime(model=Lines()), authenticate=auth) as server:
        for target, body, method in (
            ("/copilotkit/info", None, "GET"),
            ("/copilotkit", {"method": "info"}, "POST"),
            ("/copilotkit/agent/default/connect", given(), "POST"),
        ):
            head, told = await asked(server, target, body, method=method)
            assert (head.status, told["error"]) == (401, "Unauthorized")
