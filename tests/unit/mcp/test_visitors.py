"""Servers that a request names itself: only from the operator's list, each owner with its own connection."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.errors import CallerError
from rightseat.mcp import tool_sources
from rightseat.mcp.tool_sources import RequestMcpToolSource
from rightseat.types.tools import Tool
from rightseat.types.turn import ForwardedProps, Owner, Turn, TurnClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import DOCUMENT, make_input, make_request_body, make_text_message
from tests.unit.mcp import things_server as program
from tests.unit.mcp.tool_calls import serve_over_http

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    async with serve_over_http(program.server.streamable_http_app()) as found:
        yield found


def make_turn(properties: dict[str, Any], owner: str = "ada") -> Turn:
    return Turn(messages=(), owner=Owner(owner), client=TurnClient(forwarded=ForwardedProps(properties)))


async def list_tools(visitors: RequestMcpToolSource, turn: Turn) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    await visitors.add_tools(tools, turn, ())
    return tools


@pytest.mark.io
@pytest.mark.parametrize("key", ["mcpServers", "mcpEndpoints"])
async def test_an_allowed_one_gives_its_tools(url: str, key: str) -> None:
    visitors = RequestMcpToolSource([url])
    tools = await list_tools(visitors, make_turn({key: [{"endpoint": url, "apiKey": "canary-key"}]}))
    (name,) = (name for name in tools if name.endswith("__add"))
    assert name.startswith("127_0_0_1_")
    assert name in visitors
    assert visitors.fingerprint([name])
    link = next(iter(visitors.connections.values())).connection
    assert link.server.headers == {"Authorization": "Bearer canary-key"}
    await visitors.close()


async def test_without_a_word_about_servers_there_are_none(url: str) -> None:
    visitors = RequestMcpToolSource([url])
    assert await list_tools(visitors, make_turn({"tenant": "acme"})) == {}
    assert visitors.connections == {}


@pytest.mark.demand("agents.per_request_servers_copilotkit")
@pytest.mark.parametrize(
    "item",
    [
        {"endpoint": "http://127.0.0.1:9/mcp"},
        {"endpoint": "ALLOWED/../other"},
        {"endpoint": "ALLOWED?x=1"},
        {"command": "sh", "args": ["-c", "touch /tmp/pwned"]},
        {"endpoint": 7},
        "http://127.0.0.1:9/mcp",
    ],
)
async def test_any_other_is_refused_and_nothing_is_asked(url: str, item: Any) -> None:
    visitors = RequestMcpToolSource([url])
    if isinstance(item, dict) and isinstance(item.get("endpoint"), str):
        item = {"endpoint": item["endpoint"].replace("ALLOWED", url)}
    with pytest.raises(CallerError) as caught:
        await list_tools(visitors, make_turn({"mcpServers": [item]}))
    assert caught.value.param == "mcpServers"
    assert visitors.connections == {}


@pytest.mark.io
async def test_each_owner_has_a_connection_and_one_that_is_not_used_is_closed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitors = RequestMcpToolSource([url])
    named = {"mcpServers": [{"endpoint": url}]}
    await list_tools(visitors, make_turn(named, "ada"))
    await list_tools(visitors, make_turn(named, "bob"))
    first, second = (known.connection for known in visitors.connections.values())
    assert first is not second
    monkeypatch.setattr(tool_sources, "MAX_CONNECTIONS", 1)
    await list_tools(visitors, make_turn(named, "bob"))
    assert [known.connection for known in visitors.connections.values()] == [second]
    assert not first.is_started
    await visitors.close()


@pytest.mark.demand("agents.per_request_servers_copilotkit")
@pytest.mark.io
@pytest.mark.parametrize("allowed", [True, False])
async def test_copilotkits_properties_name_them(url: str, allowed: bool) -> None:
    visitors = RequestMcpToolSource([url] if allowed else ["https://other.example/mcp"])

    async def call(prompt: Any) -> AsyncIterator[Any]:
        name = next(tool.name for tool in prompt.tools if tool.name.endswith("__add"))
        for fragment in reply_calls((name, '{"a": 1, "b": 2}')):
            yield fragment

    model = FakeModel(call, reply_text("Three."))
    asked = make_request_body(make_input(make_text_message("add")), DOCUMENT)
    asked["variables"]["properties"] = {"mcpServers": [{"endpoint": url}]}
    runtime = Runtime(assistants=[Assistant("default", model, toolset=visitors)])
    async with serve_runtime(runtime) as home, RawHttpClient(home.url) as client:
        await client.post_json("/copilotkit", asked, {})
        answer = (await client.read_body()).decode() if (await client.read_head()).status == 200 else ""
    assert ("Three." in answer) is allowed
    assert ("is not allowed here" in answer) is not allowed
    assert len(model.prompts) == (2 if allowed else 0)
    await visitors.close()
