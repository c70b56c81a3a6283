"""Tools of a real server, over stdio and HTTP, in both protocol eras: one server for all tests of a kind."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec.structs import replace

from rightseat.mcp.tool_sources import McpServers
from rightseat.types.events import Artifact, Custom
from rightseat.types.tools import Pause, Result
from tests.kit.waiting import wait_until
from tests.unit.mcp import things_server as program
from tests.unit.mcp.tool_calls import (
    TURN,
    call_tool,
    connect_over_http,
    connect_servers,
    get_tool_result,
    list_tools,
    make_stdio_config,
)

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]
KINDS = ["stdio newer", "stdio older", "http newer", "http older"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def servers(request: pytest.FixtureRequest) -> AsyncIterator[McpServers]:
    older = request.param.endswith("older")
    stdio = request.param.startswith("stdio")
    async with connect_servers(make_stdio_config(older=older)) if stdio else connect_over_http(older=older) as made:
        yield made
    if "grown" in {tool.name for tool in await program.server.list_tools()}:
        program.server.remove_tool("grown")


@pytest.mark.demand("agents.mcp_name_stdio_commands")
@pytest.mark.long
async def test_every_tool_is_there_under_its_servers_name(servers: McpServers) -> None:
    assert servers.down == {}
    tools = await list_tools(servers)
    assert {"things__add", "things__look", "things__paint"} <= set(tools)
    assert tools["things__add"].description == "Adds two numbers."
    assert set(tools["things__add"].parameters["properties"]) == {"a", "b"}
    assert [tools[f"things__{name}"].effect for name in ("add", "look", "wipe")] == ["writes", "reads", "dangerous"]
    assert [name for name, tool in tools.items() if tool.confirm] == ["things__wipe"]
    assert all(tool.untrusted for tool in tools.values())


@pytest.mark.demand("agents.mcp_name_stdio_commands")
async def test_a_call(servers: McpServers) -> None:
    assert await call_tool(servers, "add", {"a": 2, "b": 3}) == [Result({"result": 5})]


async def test_several_calls_at_once(servers: McpServers) -> None:
    results = await asyncio.gather(*(get_tool_result(servers, "add", {"a": n, "b": n}) for n in range(20)))
    assert [result.content["result"] for result in results] == [2 * n for n in range(20)]


async def test_what_fails_is_a_failure_in_its_own_words(servers: McpServers) -> None:
    result = await get_tool_result(servers, "fail")
    assert result.failed
    assert "the disk is full" in result.content["error"]["message"]


@pytest.mark.demand("agents.progress_status_elicitation_interrupt")
async def test_progress_is_told_while_it_runs(servers: McpServers) -> None:
    *told, result = await call_tool(servers, "slow", {"steps": 2})
    common = {"call": "c", "tool": "things__slow", "total": 2.0}
    assert told == [
        Custom("progress", {**common, "progress": 1.0, "message": "step 1"}),
        Custom("progress", {**common, "progress": 2.0, "message": "step 2"}),
    ]
    assert result == Result({"result": "done"})


async def test_a_picture_is_for_the_person(servers: McpServers) -> None:
    artifact, result = await call_tool(servers, "picture")
    assert isinstance(artifact, Artifact)
    assert artifact.content == {"name": "picture-2.png", "media_type": "image/png", "data": program.PIXEL}
    assert result == Result("Here.\n[picture-2.png, image/png: shown to the person]")


async def test_a_question_stops_the_turn_and_its_answer_goes_on(servers: McpServers) -> None:
    pause = await get_tool_result(servers, "paint")
    assert isinstance(pause, Pause)
    (ask,) = pause.asks
    assert (ask.message, ask.kind, list(ask.schema["properties"])) == ("Which colour?", "form", ["colour"])
    assert await get_tool_result(servers, "paint", pause=pause, answers=[{"colour": "red"}]) == Result(
        {"result": "painted red"}
    )


async def test_a_turn_limited_to_plugins_is_shown_none(servers: McpServers) -> None:
    assert await list_tools(servers, replace(TURN, plugins=("net",))) == {}


async def test_its_digest_changes_with_what_is_called(servers: McpServers) -> None:
    view = servers.select()
    assert view.fingerprint(["things__add"]) != view.fingerprint(["things__look"]) != ""
    assert view.fingerprint(["other"]) == ""
    assert "things__add" in view
    assert "add" not in view


@pytest.mark.demand("agents.mcp_name_stdio_commands")
async def test_another_tool_is_found_when_the_server_says_so(servers: McpServers) -> None:
    assert "things__grown" not in await list_tools(servers)
    await get_tool_result(servers, "grow")
    view = servers.select()
    await wait_until(lambda: "things__grown" in view)
