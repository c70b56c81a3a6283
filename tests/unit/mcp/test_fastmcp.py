"""FastMCP, which most MCP servers are written with: its servers behind ours, and its client at our door."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rightseat.mcp.connect import McpServerConfig
from rightseat.mcp.tool_sources import McpServers
from rightseat.types.events import Custom
from rightseat.types.tools import Pause, Result
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.prerequisites import require
from tests.unit.doors.mcp.mcp_server import serve_mcp
from tests.unit.mcp.tool_calls import call_tool, connect_servers, get_tool_result, list_tools

pytestmark = [pytest.mark.peers, pytest.mark.asyncio(loop_scope="module")]
HERE = Path(__file__).resolve().parents[2] / "peers" / "mcp"
KINDS = ["stdio newer", "http newer", "http older"]


@pytest.fixture(scope="module")
def python() -> str:
    return str(require("mcp") / "bin" / "python")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(python: str) -> AsyncIterator[str]:
    child = await asyncio.create_subprocess_exec(python, str(HERE / "serve_fastmcp.py"), "http", stdout=PIPE)
    assert child.stdout is not None
    async with asyncio.timeout(HANG_TIMEOUT):
        port = int(await child.stdout.readline())
    yield f"http://127.0.0.1:{port}/mcp"
    child.terminate()
    await child.communicate()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def servers(request: pytest.FixtureRequest, python: str, address: str) -> AsyncIterator[McpServers]:
    older = request.param.endswith("older")
    args = (str(HERE / "serve_fastmcp.py"),)
    over: dict[str, Any] = {"command": python, "args": args} if request.param.startswith("stdio") else {"url": address}
    async with connect_servers(McpServerConfig(name="things", older=older, **over)) as made:
        yield made


@pytest.mark.demand("agents.real_mcp_servers_stdio")
async def test_its_tools_are_listed_and_called(servers: McpServers) -> None:
    assert servers.down == {}
    tools = await list_tools(servers)
    assert list(tools) == [f"things__{name}" for name in ("add", "fail", "slow", "paint", "wipe")]
    assert tools["things__wipe"].confirm
    assert await get_tool_result(servers, "add", {"a": 2, "b": 3}) == Result({"result": 5})


async def test_progress_and_failures(servers: McpServers) -> None:
    told, result = await call_tool(servers, "slow")
    assert isinstance(told, Custom)
    assert told.value["message"] == "half"
    assert result == Result({"result": "done"})
    failed = await get_tool_result(servers, "fail")
    assert "the disk is full" in failed.content["error"]["message"]


async def test_a_question_in_the_middle_of_a_call(servers: McpServers) -> None:
    """It can be put in the older era only; in the newer its server must say it otherwise, and fails."""
    link = servers.connections["things"].connection
    first = await get_tool_result(servers, "paint")
    if not link.server.older and not isinstance(first, Pause):
        assert first.failed
        return
    assert isinstance(first, Pause)
    answered = await get_tool_result(servers, "paint", pause=first, answers=[{"colour": "red"}])
    assert answered == Result({"result": "painted red"})


@pytest.mark.demand("agents.real_mcp_servers_stdio")
async def test_its_client_at_our_door(
    python: str, tmp_path_factory: pytest.TempPathFactory, record_driven: Callable[[str, str], None]
) -> None:
    async with serve_mcp(tmp_path_factory.mktemp("door"), confirm="all") as place:
        env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        child = await asyncio.create_subprocess_exec(
            python, str(HERE / "drive_fastmcp.py"), place.url, stdout=PIPE, env=env
        )
        async with asyncio.timeout(HANG_TIMEOUT):
            out, _ = await child.communicate()
    told = json.loads(out)
    for mode in ("auto", "legacy"):
        found = told["seen"][mode]
        assert found["tools"] == ["net_get_hosts", "net_report", "ask_default"]
        assert (found["resources"], found["prompts"]) == (["flow://net/report"], ["net"])
        assert found["result"] == {"hosts": ["web-01"]}
        assert found["wrong"] is True
        assert "GET /hosts" in found["asked"][0]
        assert "calls net_get_hosts" in found["told"]
    assert place.api.requests == ["GET /hosts?q=web"] * 2
    record_driven("mcp", told["version"])
