"""The two files of agents, who may read them, and from which pages."""

import json
import logging
from typing import Any

import pytest

from rightseat import Assistant, Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.http.auth import Authenticator
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, ResponseHead, build_raw_request
from tests.unit.doors.openbb.client import OpenBBChat, post_query

pytestmark = pytest.mark.io

PAGE = "https://pro.openbb.co"


def make_runtime() -> Runtime:
    def agent(turn: Turn) -> Any:
        raise AssertionError("nobody asks it")

    return Runtime(
        assistants=[
            Assistant("default", FakeModel(reply_text("I am the default.")), description="Answers."),
            Assistant("Q&A desk", FakeModel(reply_text("I am the desk.")), title="Desk", image="/desk.png"),
            Assistant("other", FakeModel(), title="Desk", description="d", image="https://cdn.example/o.png"),
        ],
        agents={"far/away": agent},
    )


async def get_json(url: str, path: str, headers: dict[str, str] | None = None) -> tuple[ResponseHead, Any]:
    async with RawHttpClient(url) as client:
        await client.get(path, headers)
        return await client.read_head(), await client.read_json()


@pytest.mark.demand("openbb.agents_json_features_never")
async def test_agents_json_is_what_workspace_accepts() -> None:
    async with serve_runtime(make_runtime()) as server:
        head, found = await get_json(server.url, "/agents.json", {"Host": "127.0.0.1:7777"})
    assert head.status == 200
    assert list(found) == ["rightseat-default", "rightseat-q-a-desk", "rightseat-other", "rightseat-far-away"]
    assert [entry["name"] for entry in found.values()] == ["Rightseat", "Desk", "Desk 2", "far/away"]
    for entry in found.values():
        assert entry["description"]
        assert entry.get("image", "-"), "an empty image fails the whole file"
        assert entry["endpoints"]["query"].startswith("http://127.0.0.1:7777/v1/query")
        assert entry["endpoints"]["feedback"] == "http://127.0.0.1:7777/v1/feedback"
        assert entry["features"]["streaming"] is True
        assert not [key for key in entry if key.startswith("has")]
    assert found["rightseat-q-a-desk"]["image"] == "http://127.0.0.1:7777/desk.png"
    assert found["rightseat-other"]["image"] == "https://cdn.example/o.png"
    assert found["rightseat-default"]["image"] == "http://127.0.0.1:7777/playground/icon.svg"


@pytest.mark.demand("openbb.agents_json_features_never")
async def test_copilots_json_is_what_terminal_pro_accepts() -> None:
    async with serve_runtime(make_runtime(), ServerSettings(port=0, public_url="https://copilot.example/x/")) as server:
        _, found = await get_json(server.url, "/copilots.json", {"Host": "copilot.example"})
    entry = found["rightseat_q_a_desk"]
    assert entry["endpoints"] == {"query": "https://copilot.example/x/v1/query/Q%26A%20desk"}
    assert (entry["hasStreaming"], entry["hasFunctionCalling"]) == (True, True)
    assert "features" not in entry
    assert found["rightseat_default"]["endpoints"] == {"query": "https://copilot.example/x/v1/query"}


@pytest.mark.demand("openbb.agents_json_features_never")
async def test_each_query_url_reaches_its_assistant() -> None:
    async with serve_runtime(make_runtime()) as server:
        host = {"Host": server.url.removeprefix("http://")}
        _, found = await get_json(server.url, "/agents.json", host)
        said = []
        for id in ("rightseat-default", "rightseat-q-a-desk"):
            path = found[id]["endpoints"]["query"].removeprefix(server.url)
            said.append((await OpenBBChat(server.url, path=path).send_text("who?")).text)
        missing = await post_query(server.url, {"messages": [{"role": "human", "content": "x"}]}, "/v1/query/none")
    assert said == ["I am the default.", "I am the desk."]
    assert missing.head.status == 404
    assert "Q&A desk" in json.loads(missing.body)["detail"]


@pytest.mark.demand("openbb.cors_clients_real_origins")
@pytest.mark.parametrize("path", ["/agents.json", "/copilots.json"])
async def test_keys_are_the_headers_of_the_dialog(path: str) -> None:
    settings = AuthSettings(keys={"ann": Secret("k1")})
    async with serve_runtime(make_runtime(), authenticate=Authenticator(settings)) as server:
        refused, body = await get_json(server.url, path, {"Origin": PAGE})
        head, _ = await get_json(server.url, path, {"Origin": PAGE, "X-API-KEY": "k1"})
        answer = await OpenBBChat(server.url, headers={"Authorization": "Bearer k1"}).send_text("hi")
    assert refused.status == 401
    assert "X-Api-Key" in body["detail"]
    # Or the page could not even see that it was a 401.
    assert refused.headers["access-control-allow-origin"] == PAGE
    assert head.status == 200
    assert answer.text == "I am the default."


@pytest.mark.demand("openbb.cors_clients_real_origins")
@pytest.mark.parametrize("path", ["/agents.json", "/copilots.json", "/v1/query", "/v1/query/default", "/v1/feedback"])
@pytest.mark.parametrize(
    "origin", [PAGE, "https://pro.openbb.dev", "http://localhost:1420", "http://localhost:5050", "http://localhost"]
)
async def test_a_preflight_of_the_clients_pages(path: str, origin: str) -> None:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-trace-id,x-api-key,my.own",
        "Access-Control-Request-Private-Network": "true",
    }
    async with serve_runtime(make_runtime()) as server, RawHttpClient(server.url) as client:
        await client.send(build_raw_request("OPTIONS", path, headers=headers))
        head = await client.read_head()
    assert head.status == 204
    assert head.headers["access-control-allow-origin"] == origin
    assert head.headers["access-control-allow-headers"] == "content-type,x-trace-id,x-api-key,my.own"
    assert head.headers["access-control-allow-private-network"] == "true"
    assert head.headers["access-control-allow-credentials"] == "true"
    assert "POST" in head.headers["access-control-allow-methods"]


@pytest.mark.demand("openbb.cors_clients_real_origins")
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "https://pro.openbb.co.evil.example", "http://pro.openbb.co"]
)
async def test_a_strangers_page_may_not_and_openbbs_may_call_no_other_door(origin: str) -> None:
    async with serve_runtime(make_runtime()) as server:
        head, _ = await get_json(server.url, "/agents.json", {"Origin": origin})
        other, _ = await get_json(server.url, "/v1/models", {"Origin": PAGE})
    assert head.status == 403
    assert "access-control-allow-origin" not in head.headers
    assert other.status == 403


@pytest.mark.demand("openbb.cors_clients_real_origins")
async def test_the_chats_id_is_the_conversations_and_is_given_back() -> None:
    model = FakeModel(reply_text("one"), reply_text("two"))
    headers = {"X-Trace-Id": "0d0f2f0a-7a3b-4a53-9f4e-0f4f6e1f2a10", "Origin": PAGE}
    async with serve_runtime(Runtime(model=model)) as server:
        answer = await OpenBBChat(server.url, headers=headers).send_text("hi")
        strange = await OpenBBChat(server.url, headers={"X-Trace-Id": "a b"}).send_text("hi")
    assert answer.head.headers["x-trace-id"] == headers["X-Trace-Id"]
    assert "x-trace-id" in answer.head.headers["access-control-expose-headers"]
    assert model.prompts[0].conversation == headers["X-Trace-Id"]
    assert strange.text == "two"
    assert "x-trace-id" not in strange.head.headers


VOTE = {"vote": "thumbs_up", "tags": ["clear"], "user_comment": "good\nline", "ai_response": "a", "user_prompt": "b"}


@pytest.mark.demand("openbb.v1_query_streams_sse")
async def test_feedback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serve_runtime(make_runtime()) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/feedback", {**VOTE, "trace_id": ""}, {"X-Trace-Id": "chat-1"})
        head = await client.read_head()
    assert head.status == 200
    [line] = [record.getMessage() for record in caplog.records if record.getMessage().startswith("feedback")]
    told = json.loads(line.removeprefix("feedback: "))
    assert told == {"vote": "thumbs_up", "tags": ["clear"], "comment": "good\nline", "chat": "chat-1"}
    assert "\n" not in line


@pytest.mark.demand("openbb.v1_query_streams_sse")
@pytest.mark.parametrize("body", [{}, {"vote": "up"}, {**VOTE, "tags": [1]}, [], "x"])
async def test_feedback_that_is_none(body: Any) -> None:
    async with serve_runtime(make_runtime()) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/feedback", body)
        assert (await client.read_head()).status == 422
