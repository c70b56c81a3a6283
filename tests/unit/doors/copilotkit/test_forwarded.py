"""What an application sends beside the conversation reaches its agents and tools: headers, properties."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.http.auth import Authenticator
from rightseat.types.events import Event, RunFinished
from rightseat.types.turn import ForwardedProps, Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.agui import make_run_input
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    make_input,
    make_request_body,
    make_text_message,
)

pytestmark = pytest.mark.io

PROPERTIES = {"tenant": "acme", "mcpServers": [{"endpoint": "http://sink"}]}
HEADERS = {
    "Authorization": "Bearer person",
    "X-Tenant": "acme",
    "X-Forwarded-For": "10.0.0.1",
    "Cookie": "session=1",
    "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}
PASSED = {"authorization": "Bearer person", "x-tenant": "acme", "traceparent": HEADERS["Traceparent"]}
GRAPHQL = ("graphql", "any document")
ROUTES = (*GRAPHQL, "agui", "routes", "single", "suggest")
over_routes = pytest.mark.parametrize("way", ROUTES)


def make_request(way: str) -> tuple[str, dict[str, Any]]:
    """The same from every generation of clients."""
    if way in GRAPHQL:
        states = [{"agentName": "agent", "state": "{}", "config": '{"limit": 3}'}]
        more = {"extensions": {"openaiAssistantAPI": {"threadId": "x"}}, "agentStates": states}
        session = {"agentName": "agent", "threadId": "t"}
        request_body = make_request_body(
            make_input(make_text_message("hi"), agentSession=session, **more),
            DOCUMENT if way == "graphql" else GENERIC_DOCUMENT,
        )
        request_body["variables"]["properties"] = PROPERTIES
        return "/copilotkit", request_body
    run = make_run_input("hi", forwardedProps=PROPERTIES)
    if way == "single":
        return "/copilotkit", {"method": "agent/run", "params": {"agentId": "agent"}, "body": run}
    name = "suggest" if way == "suggest" else "run"
    return "/agui/agent" if way == "agui" else f"/copilotkit/agent/agent/{name}", run


async def capture_turn(way: str, headers: dict[str, str], **more: Any) -> Turn:
    turns: list[Turn] = []

    async def agent(turn: Turn) -> AsyncIterator[Event]:
        turns.append(turn)
        yield RunFinished("stop")

    async with serve_runtime(Runtime(agents={"agent": agent}), **more) as server, RawHttpClient(server.url) as client:
        target, value = make_request(way)
        await client.post_json(target, value, headers)
        assert (await client.read_head()).status == 200
        await client.read_body()
    return turns[0]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind", "copilotkit.headers_forwarded_agents_allow")
@over_routes
async def test_headers_and_properties_reach_an_agent(way: str) -> None:
    turn = await capture_turn(way, HEADERS)
    passed = {name: value for name, value in turn.client.headers.items() if not name.startswith("x-copilotkit-")}
    assert passed == PASSED
    if way in GRAPHQL:
        extensions = {"openaiAssistantAPI": {"threadId": "x", "runId": None}}
        assert turn.client.forwarded == ForwardedProps(PROPERTIES, extensions, {"limit": 3})
    else:
        assert turn.client.forwarded == ForwardedProps(PROPERTIES)


@pytest.mark.demand("copilotkit.headers_forwarded_agents_allow")
@over_routes
async def test_our_own_key_stays_here(way: str) -> None:
    keyed = Authenticator(AuthSettings(keys={"ada": Secret("canary")}))
    for carrier in ("Authorization", "X-Api-Key", "X-CopilotCloud-Public-Api-Key"):
        turn = await capture_turn(way, {carrier: "Bearer canary", "X-Tenant": "acme"}, authenticate=keyed)
        assert turn.client.headers["x-tenant"] == "acme"
        assert not any("canary" in value for value in turn.client.headers.values())


@pytest.mark.demand("copilotkit.headers_forwarded_agents_allow")
@over_routes
async def test_the_operator_says_which(way: str) -> None:
    settings = ServerSettings(port=0, forward_headers=("x-tenant",))
    turn = await capture_turn(way, HEADERS, settings=settings)
    assert turn.client.headers == {"x-tenant": "acme", "traceparent": HEADERS["Traceparent"]}


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
async def test_a_tool_sees_them_too() -> None:
    seen: list[tuple[str, Any]] = []

    @tool
    def whose(ctx: ToolContext) -> str:
        """Whose."""
        seen.append((ctx.turn.client.headers["x-tenant"], ctx.turn.client.forwarded.properties["tenant"]))
        return "acme"

    for way in ("agui", "graphql"):
        target, value = make_request(way)
        if way == "graphql":
            value["variables"]["data"]["agentSession"] = None
        model = FakeModel(reply_calls(("whose", "{}")), reply_text("Acme's."))
        async with serve_runtime(Runtime(model=model, tools=[whose])) as server, RawHttpClient(server.url) as client:
            await client.post_json(target.replace("agui/agent", "agui/default"), value, HEADERS)
            await client.read_head()
            assert b"Acme" in await client.read_body()
    assert seen == [("acme", "acme")] * 2


@pytest.mark.parametrize("props", [None, 7, "x", ["a"]])
async def test_properties_that_are_no_object_are_none(props: object) -> None:
    turns: list[Turn] = []

    async def agent(turn: Turn) -> AsyncIterator[Event]:
        turns.append(turn)
        yield RunFinished("stop")

    async with serve_runtime(Runtime(agents={"agent": agent})) as server, RawHttpClient(server.url) as client:
        await client.post_json("/agui/agent", make_run_input("hi", forwardedProps=props))
        await client.read_head()
        assert b"RUN_FINISHED" in await client.read_body()
    assert turns[0].client.forwarded == ForwardedProps()
