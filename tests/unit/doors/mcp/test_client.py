"""The official client against our door, in both protocol eras. It checks every answer against the schema of
its version, and fails on what does not fit."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, MCPError

from rightseat import Runtime
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.doors.mcp.mcp_server import FLOW, QUESTION, McpDoorServer, serve_mcp

pytestmark = [pytest.mark.io, pytest.mark.parametrize("mode", ["auto", "legacy"])]
Action = Literal["accept", "decline", "cancel"]
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@pytest.fixture
async def mcp_server(tmp_path: Path) -> AsyncIterator[McpDoorServer]:
    async with serve_mcp(tmp_path) as made:
        yield made


@pytest.fixture
async def confirming_server(tmp_path: Path) -> AsyncIterator[McpDoorServer]:
    """One where every call needs a yes."""
    async with serve_mcp(tmp_path, confirm="all") as made:
        yield made


class ScriptedElicitation:
    """Answers what the client asks, and keeps it."""

    def __init__(self, *answers: tuple[Literal["accept", "decline", "cancel"], dict[str, Any] | None]) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.append(params.message)
        action, content = self.answers.pop(0)
        return types.ElicitResult(action=action, content=content)


def join_text(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@pytest.mark.demand("agents.mcp_stateless_both_eras")
async def test_it_is_introduced_and_lists_everything(mcp_server: McpDoorServer, mode: str) -> None:
    async with Client(mcp_server.url, mode=mode) as client:
        assert client.protocol_version == VERSIONS[mode]
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["net_get_hosts", "net_report", "ask_default"]
        assert tools["net_get_hosts"].input_schema["properties"]["q"]["type"] == "string"
        assert tools["net_get_hosts"].annotations is not None
        assert tools["net_get_hosts"].annotations.read_only_hint is True
        (flow,) = (await client.list_resources()).resources
        assert (str(flow.uri), flow.mime_type) == ("flow://net/report", "application/yaml")
        (content,) = (await client.read_resource("flow://net/report")).contents
        assert isinstance(content, types.TextResourceContents)
        assert content.text == FLOW
        assert (await client.list_resource_templates()).resource_templates == []
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["net"]
        (message,) = (await client.get_prompt("net")).messages
        assert isinstance(message.content, types.TextContent)
        assert message.content.text == QUESTION


@pytest.mark.demand("agents.mcp_stateless_both_eras")
async def test_an_operation_is_called(mcp_server: McpDoorServer, mode: str) -> None:
    async with Client(mcp_server.url, mode=mode) as client:
        result = await client.call_tool("net_get_hosts", {"q": "web"})
    assert mcp_server.api.requests == ["GET /hosts?q=web"]
    assert result.structured_content == {"hosts": ["web-01"]}
    assert join_text(result) == '{"hosts": ["web-01"]}'
    assert not result.is_error


@pytest.mark.demand("agents.mcp_stateless_both_eras")
@pytest.mark.long
async def test_an_assistant_is_asked(mcp_server: McpDoorServer, mode: str) -> None:
    async with Client(mcp_server.url, mode=mode) as client:
        result = await client.call_tool("ask_default", {"request": "hello"})
    assert join_text(result).startswith("Hello! I am rightseat's demo")


@pytest.mark.demand("agents.mcp_stateless_both_eras")
async def test_what_an_assistants_tools_gave_is_not_its_answer(mode: str) -> None:
    """Its words are, also where a tool of its own has failed."""

    async def lookup() -> dict[str, int]:
        return {"rows": 3}

    async def broken() -> str:
        raise ValueError("secret words")

    for tool in (lookup, broken):
        model = FakeModel(reply_calls((tool.__name__, "{}")), reply_text("Three rows."))
        async with (
            serve_runtime(Runtime(model=model, tools=[tool])) as home,
            Client(f"{home.url}/mcp", mode=mode) as client,
        ):
            result = await client.call_tool("ask_default", {"request": "how many?"})
        assert join_text(result) == "Three rows."
        assert (result.is_error, result.structured_content) == (False, None)
        assert len(result.content) == 1


async def test_progress_is_told_to_who_wants_it(mcp_server: McpDoorServer, mode: str) -> None:
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with Client(mcp_server.url, mode=mode) as client:
        await client.call_tool("net_get_hosts", {}, progress_callback=note)
    assert told == [(1, "calls net_get_hosts")]


@pytest.mark.demand("agents.mcp_stateless_both_eras")
async def test_a_call_that_needs_a_yes_asks_the_clients_user(confirming_server: McpDoorServer, mode: str) -> None:
    person = ScriptedElicitation(("accept", {"approved": True}))
    async with Client(confirming_server.url, mode=mode, elicitation_callback=person) as client:
        result = await client.call_tool("net_get_hosts", {})
    assert len(person.questions) == 1
    assert "GET /hosts" in person.questions[0]
    assert result.structured_content == {"hosts": ["web-01"]}
    assert confirming_server.api.requests == ["GET /hosts"]


@pytest.mark.parametrize("answer", [("accept", {"approved": False}), ("decline", None), ("cancel", None)])
async def test_without_a_yes_nothing_is_called(confirming_server: McpDoorServer, mode: str, answer: Any) -> None:
    async with Client(confirming_server.url, mode=mode, elicitation_callback=ScriptedElicitation(answer)) as client:
        result = await client.call_tool("net_get_hosts", {})
    assert result.is_error
    assert confirming_server.api.requests == []


async def test_a_client_that_cannot_ask_is_told_the_question(confirming_server: McpDoorServer, mode: str) -> None:
    async with Client(confirming_server.url, mode=mode) as client:
        result = await client.call_tool("net_get_hosts", {})
    assert result.is_error
    assert "GET /hosts" in join_text(result)
    assert "ask_" in join_text(result)
    assert confirming_server.api.requests == []


@pytest.mark.demand("agents.mcp_stateless_both_eras", "flows.flow_mcp_tool")
async def test_a_flow_asks_and_goes_on(mcp_server: McpDoorServer, mode: str) -> None:
    person = ScriptedElicitation(("accept", {"answer": "web-01"}))
    async with Client(mcp_server.url, mode=mode, elicitation_callback=person) as client:
        result = await client.call_tool("net_report", {"request": "report"})
    assert person.questions == ["Which host?"]
    assert result.structured_content == {"outputs": {"start": "web-01"}}


@pytest.mark.demand("agents.real_mcp_servers_stdio")
async def test_bad_arguments_are_a_result_and_an_unknown_tool_is_an_error(mcp_server: McpDoorServer, mode: str) -> None:
    async with Client(mcp_server.url, mode=mode) as client:
        result = await client.call_tool("net_get_hosts", {"q": 7})
        assert result.is_error
        assert "q" in join_text(result)
        with pytest.raises(MCPError, match="There is no tool 'gone'") as caught:
            await client.call_tool("gone", {})
        assert caught.value.code == types.INVALID_PARAMS
        with pytest.raises(MCPError, match="There is no prompt"):
            await client.get_prompt("gone")
        with pytest.raises(MCPError, match="There is no resource"):
            await client.read_resource("file:///etc/passwd")
        with pytest.raises(MCPError, match=r"arguments\.request"):
            await client.call_tool("ask_default", {"request": " "})
    assert mcp_server.api.requests == []


async def test_a_long_list_comes_in_pages(tmp_path: Path, mode: str) -> None:
    paths = {f"/things/{number}": f"Thing {number}." for number in range(150)}
    async with serve_mcp(tmp_path, paths=paths) as place, Client(place.url, mode=mode) as client:
        first = await client.list_tools()
        assert first.next_cursor is not None
        second = await client.list_tools(cursor=first.next_cursor)
        assert second.next_cursor is None
        names = [tool.name for tool in (*first.tools, *second.tools)]
        assert len(set(names)) == len(names) == 152
        with pytest.raises(MCPError, match="cursor"):
            await client.list_tools(cursor="x")
