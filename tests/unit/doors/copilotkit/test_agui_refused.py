"""What is refused to CopilotKit's clients of today, and in which words."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.types.turn import Owner
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.agui import (
    THREADS_PATH,
    GatedModel,
    collect_frames,
    join_text,
    make_envelope,
    make_run_input,
    request_json,
)

pytestmark = pytest.mark.io


@pytest.mark.parametrize("where", ["/copilotkit/agent/nobody/run", "/copilotkit/agent/nobody/connect"])
async def test_an_agent_that_is_not_there(where: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        head, body = await request_json(server, where, make_run_input("hi"))
        assert (head.status, body["error"]) == (404, "Agent not found")
        head, body = await request_json(server, "/copilotkit/agent/nobody/stop/t")
        assert (head.status, body["error"]) == (404, "Agent not found")
        for name in ("run", "connect", "suggest", "stop"):
            envelope = make_envelope(name, make_run_input("hi")) | {"params": {"agentId": "nobody", "threadId": "t"}}
            head, body = await request_json(server, "/copilotkit", envelope)
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
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        head, told = await request_json(server, "/copilotkit", body)
    assert (head.status, told["error"]) == (400, "Invalid request body")


async def test_methods_and_places_that_are_not_there() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        for method, target, allowed in (
            ("POST", "/copilotkit/info", "GET"),
            ("GET", "/copilotkit/agent/default/run", "POST"),
            ("GET", "/copilotkit/agent/default/stop/t", "POST"),
        ):
            head, _ = await request_json(server, target, method=method)
            assert (head.status, head.headers["allow"]) == (405, allowed)
        head, _ = await request_json(server, "/copilotkit/nonexistent", method="GET")
        assert head.status == 404
        head, _ = await request_json(server, "/copilotkit", method="GET")
        assert head.status in (404, 405)


@pytest.mark.demand("copilotkit.transcribe_answers_configured")
async def test_transcribing_is_not_configured() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        for target, body in (("/copilotkit/transcribe", {}), ("/copilotkit", {"method": "transcribe", "body": {}})):
            head, told = await request_json(server, target, body)
            assert (head.status, told["error"]) == (503, "service_not_configured")


async def test_a_run_without_messages_asks_the_model() -> None:
    """Their own suites send it."""
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Hello from test")))) as server:
        assert join_text(await collect_frames(server, "run", make_run_input())) == "Hello from test"


async def test_another_owners_thread_is_as_good_as_none() -> None:
    auth = Authenticator(AuthSettings(keys={"ada": Secret("a"), "bob": Secret("b")}))
    ada, bob = {"Authorization": "Bearer a"}, {"x-copilotcloud-public-api-key": "b"}
    gate = GatedModel()
    runtime = Runtime(model=gate)
    async with serve_runtime(runtime, authenticate=auth) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/copilotkit/agent/default/run", make_run_input("secret"), ada)
            await client.read_head()
            await client.read_frame()
            for target, body, method in (
                ("/copilotkit/agent/default/stop/{}", None, "POST"),
                (THREADS_PATH + "/{}/messages", None, "GET"),
                (THREADS_PATH + "/{}/events", None, "GET"),
                (THREADS_PATH + "/{}/state", None, "GET"),
                (THREADS_PATH + "/{}", {"name": "mine"}, "PATCH"),
                (THREADS_PATH + "/{}/archive", None, "POST"),
                (THREADS_PATH + "/{}", None, "DELETE"),
            ):
                hers = await request_json(server, target.format("t"), body, method=method, headers=bob)
                none = await request_json(server, target.format("z"), body, method=method, headers=bob)
                assert (hers[0].status, str(hers[1])) == (none[0].status, str(none[1]).replace("'z'", "'t'"))
                assert (await request_json(server, target.format("t"), body, method=method))[0].status == 401
            _, listed = await request_json(server, THREADS_PATH, method="GET", headers=bob)
            assert listed["threads"] == []
            async with RawHttpClient(server.url) as other:
                await other.post_json("/copilotkit/agent/default/connect", make_run_input(), bob)
                assert (await other.read_head()).status == 200
                assert await other.read_frame() is None
            assert not gate.closed.is_set()
            gate.words.put_nowait(None)
        # Her own is whole and unchanged.
        assert await runtime.threads.store.get_thread(Owner("key:ada"), "t") is not None


@pytest.mark.demand("copilotkit.key_taken_authorization_x")
async def test_without_a_key_nothing_is_told() -> None:
    auth = Authenticator(AuthSettings(keys={"ada": Secret("a")}))
    async with serve_runtime(Runtime(model=FakeModel()), authenticate=auth) as server:
        for target, body, method in (
            ("/copilotkit/info", None, "GET"),
            ("/copilotkit", {"method": "info"}, "POST"),
            ("/copilotkit/agent/default/connect", make_run_input(), "POST"),
        ):
            head, told = await request_json(server, target, body, method=method)
            assert (head.status, told["error"]) == (401, "Unauthorized")
