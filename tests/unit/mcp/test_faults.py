"""Servers that are broken or mean harm: each is down or cut short, by name, and nothing hangs or grows."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import stdio

from rightseat.mcp.connect import McpServerConfig
from rightseat.mcp.connection import MAX_QUEUED_PROGRESS, McpConnection, RemoteToolCall
from rightseat.mcp.tool import convert_result, has_valid_schema, make_tool, truncate_result
from rightseat.mcp.tool_sources import McpServers
from rightseat.types.tools import Result
from tests.kit.app_server import serve_app
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.mcp.test_process import list_marked_pids
from tests.unit.mcp.tool_calls import SERVER_SCRIPT, connect_servers, get_tool_result, make_stdio_config

# Each with real children or servers of the SDK's.
pytestmark = pytest.mark.io


def make_fixed_app(status: int, kind: str, body: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        head = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return app


@pytest.mark.parametrize(
    "app",
    [
        make_fixed_app(200, "text/html", b"<html>Welcome</html>"),
        make_fixed_app(200, "application/json", b"{"),
        make_fixed_app(200, "application/json", b'{"jsonrpc": "2.0", "id": 0, "result": {"tools": 7}}'),
        make_fixed_app(500, "text/plain", b"oh"),
        make_fixed_app(401, "application/json", b'{"error": "no"}'),
        make_fixed_app(200, "text/event-stream", b"data: {\n\n"),
    ],
)
async def test_what_is_no_server_is_down(app: Any) -> None:
    async with (
        serve_app(app) as url,
        connect_servers(McpServerConfig(name="odd", url=f"{url}/mcp", start=1)) as servers,
    ):
        assert servers.down["odd"]


@pytest.mark.parametrize("words", ["echo hello", "exit 3", "head -c 2000000 /dev/zero"])
async def test_what_is_no_program_of_that_kind_is_down(words: str) -> None:
    odd = McpServerConfig(name="odd", command="/bin/sh", args=("-c", words), start=3)
    async with connect_servers(odd) as servers:
        assert servers.down["odd"]


def make_sdk_tool(**fields: Any) -> types.Tool:
    return types.Tool(**{"name": "t", "input_schema": {"type": "object"}, **fields})


def test_a_schema_that_nobody_can_check_is_left_out() -> None:
    assert has_valid_schema(make_sdk_tool())
    assert not has_valid_schema(make_sdk_tool(input_schema={"type": "object", "$ref": "http://127.0.0.1:9/schema"}))
    assert not has_valid_schema(make_sdk_tool(input_schema={"type": "nothing"}))


def test_a_description_and_a_result_have_an_end() -> None:
    tool = make_tool(
        McpConnection(McpServerConfig(name="s", command="c")), make_sdk_tool(description="x" * 10_000), "s__t"
    )
    assert len(tool.description) == 4000
    assert len(truncate_result(Result("x" * (5 << 20)), None).text) < 1.1 * (1 << 20)
    assert len(truncate_result(Result("word " * 10_000), 100).text) < 400
    assert truncate_result(Result({"a": 1}), 100) == Result({"a": 1})


def test_what_a_result_holds() -> None:
    blocks: list[types.ContentBlock] = [
        types.TextContent(type="text", text="one"),
        types.ResourceLink(type="resource_link", uri="file:///a", name="a"),
        types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri="x:/b", text="two")),
        types.EmbeddedResource(
            type="resource", resource=types.BlobResourceContents(uri="x:/c", blob="AAEC", mime_type="application/pdf")
        ),
        types.AudioContent(type="audio", data="not base64!", mime_type="audio/wav"),
    ]
    shown, result = convert_result("c", "t", types.CallToolResult(content=blocks))
    assert [artifact.name for artifact in shown] == ["t-4.pdf"]
    assert result == Result("one\na: file:///a\ntwo\n[t-4.pdf, application/pdf: shown to the person]")
    _, failed = convert_result("c", "t", types.CallToolResult(content=[], is_error=True))
    assert failed.content["error"] == {"code": "tool_failed", "message": "t failed and did not say why."}


async def test_who_tells_too_much_is_not_listened_to() -> None:
    link = McpConnection(McpServerConfig(name="s", command="/no/such/program"))
    flight = RemoteToolCall(link, "t", {}, {})
    for number in range(10 * MAX_QUEUED_PROGRESS):
        await flight.on_progress(number, None, None)
    assert flight.items.qsize() == MAX_QUEUED_PROGRESS
    await flight.close()
    await link.close()
    await asyncio.sleep(0)


IGNORES_SIGTERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


@pytest.mark.demand("agents.mcp_name_stdio_commands")
@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked up in /proc")
async def test_a_program_that_does_not_want_to_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while its start is given up: whoever closes then neither waits for ever nor leaves it behind."""
    for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT"):
        monkeypatch.setattr(stdio, name, 0.3)
    mark = str(tmp_path)
    servers = McpServers(
        [McpServerConfig(name="stubborn", command=sys.executable, args=("-c", IGNORES_SIGTERM, mark), start=0.5)]
    )
    starting = asyncio.create_task(servers.start())
    link = servers.connections["stubborn"].connection
    await wait_until(lambda: link._timer is not None and link._timer.expired())
    assert list_marked_pids(mark)
    async with asyncio.timeout(HANG_TIMEOUT):
        await servers.close()
    await starting
    assert not list_marked_pids(mark)


@pytest.mark.demand("agents.mcp_name_stdio_commands")
@pytest.mark.long
async def test_a_program_that_only_prints(caplog: pytest.LogCaptureFixture) -> None:
    """It is no server, and what it prints is not in the log: not a line, and no traceback for each."""
    flood = McpServerConfig(name="flood", command="yes", args=("canary-0123456789",), start=5)
    async with connect_servers(flood) as servers:
        assert "flood" in servers.down
    assert "writes to its standard output what is no message" in caplog.text
    assert "canary" not in caplog.text
    assert len(caplog.records) < 10


@pytest.mark.long
async def test_a_few_lines_of_print_do_no_harm() -> None:
    program = f"print('ready!', flush=True); import runpy; runpy.run_path({str(SERVER_SCRIPT)!r}, run_name='__main__')"
    async with connect_servers(make_stdio_config(args=("-c", program))) as servers:
        assert await get_tool_result(servers, "add", {"a": 1, "b": 2}) == Result({"result": 3})


async def test_a_program_that_is_not_there_is_named() -> None:
    async with connect_servers(McpServerConfig(name="x", command="no-such-program")) as servers:
        assert servers.down == {"x": "there is no program 'no-such-program'"}
