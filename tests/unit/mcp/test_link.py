"""What goes wrong between here and a server: it is not there, it dies, takes too long, asks too much."""

import asyncio
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.mcp import connection
from rightseat.mcp.connect import McpServerConfig
from rightseat.mcp.connection import McpConnection
from rightseat.mcp.tool_sources import McpServers
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, ToolContext
from tests.kit.app_server import serve_app
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.mcp import things_server as program
from tests.unit.mcp.tool_calls import (
    TURN,
    connect_over_http,
    connect_servers,
    get_tool_result,
    list_tools,
    make_stdio_config,
    serve_over_http,
)

# Each with real children or servers of the SDK's.
pytestmark = pytest.mark.io


@pytest.mark.demand("agents.per_request_servers_copilotkit")
@pytest.mark.long
async def test_a_child_finds_no_secret_of_ours(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-0123456789")
    caplog.set_level(logging.INFO)
    async with connect_servers(make_stdio_config(env={"TOKEN": "theirs"})) as servers:
        found: dict[str, str] = (await get_tool_result(servers, "environment")).content
    assert found["TOKEN"] == "theirs"
    assert "PATH" in found
    known = {"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "TOKEN"}
    assert {name for name in found if not name.startswith("__")} <= known | {"LC_CTYPE"}
    assert "mcp things says: things are ready" in caplog.text


async def test_one_that_is_down_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    gone = McpServerConfig(name="gone", command="/no/such/program")
    closed = McpServerConfig(name="closed", url="http://127.0.0.1:9/mcp")
    async with connect_servers(gone, closed) as servers:
        assert servers.down.keys() == {"gone", "closed"}
        assert servers.down["gone"] == "there is no program '/no/such/program'"
        assert await list_tools(servers) == {}
    assert "mcp gone is down: there is no program '/no/such/program'. It is tried again." in caplog.text


@pytest.mark.demand("agents.mcp_name_stdio_commands")
@pytest.mark.long
async def test_a_child_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_RETRY", 0.01)
    async with connect_servers(make_stdio_config()) as servers:
        result = await get_tool_result(servers, "die")
        assert result.failed
        assert "The connection to the MCP server things was lost" in result.content["error"]["message"]
        # The call waits for the new one.
        assert await get_tool_result(servers, "add", {"a": 1, "b": 1}) == Result({"result": 2})
        assert servers.down == {}


@pytest.mark.demand("agents.progress_status_elicitation_interrupt")
@pytest.mark.long
async def test_a_slow_call_is_ended_and_the_server_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with connect_servers(make_stdio_config()) as servers:
        tool = (await list_tools(servers))["things__hang"]
        hang = tool.call
        assert hang is not None
        assert tool.timeout == 60

        async def called() -> None:
            async with closing(hang({}, ToolContext(TURN, "c"))) as items:
                await anext(items)

        call = asyncio.create_task(called())
        await wait_until(lambda: "hang begins" in caplog.text)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await call
        await wait_until(lambda: "hang was cancelled" in caplog.text)
        assert await get_tool_result(servers, "add", {"a": 1, "b": 1}) == Result({"result": 2})


@pytest.mark.demand("agents.progress_status_elicitation_interrupt")
async def test_a_call_of_the_older_era_waits_inside_its_server(capfd: pytest.CaptureFixture[str]) -> None:
    """What it did before it asked is not done again, and an answer that comes too late finds nothing."""
    async with connect_over_http(older=True) as servers:
        pause = await get_tool_result(servers, "stroke")
        assert isinstance(pause, Pause)
        assert await get_tool_result(servers, "add", {"a": 1, "b": 1}) == Result({"result": 2})
        answered = await get_tool_result(servers, "stroke", pause=pause, answers=[{"colour": "red"}])
        assert answered == Result({"result": "painted red"})
        assert capfd.readouterr().err.count("stroke begins") == 1
        again = await get_tool_result(servers, "stroke", pause=pause, answers=[{"colour": "red"}])
        assert again.content["error"]["code"] == "expired"


async def test_a_call_that_nobody_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT", 0.05)
    async with connect_over_http(older=True) as servers:
        pause = await get_tool_result(servers, "stroke")
        link = servers.connections["things"].connection
        await wait_until(lambda: not link.held_calls and not link.active_calls)
        late = await get_tool_result(servers, "stroke", pause=pause, answers=[{"colour": "red"}])
        assert late.content["error"]["code"] == "expired"


async def test_each_question_of_a_call_has_its_own_time() -> None:
    async with connect_over_http(older=True) as servers:
        await get_tool_result(servers, "stroke")
        link = servers.connections["things"].connection
        ((id, flight),) = link.held_calls.items()
        link._expire_call(flight, asyncio.get_running_loop().create_future())
        assert list(link.held_calls) == [id], "the time of an earlier one is no matter"
        link._expire_call(flight, flight.answer)
        assert not link.held_calls


async def test_a_question_of_two_calls_is_nobodys(caplog: pytest.LogCaptureFixture) -> None:
    """Whose question it is is not said in the older era: asking the wrong person would tell him of it."""
    async with connect_over_http(older=True) as servers:
        hanging = asyncio.create_task(get_tool_result(servers, "hang"))
        link = servers.connections["things"].connection
        await wait_until(lambda: len(link.active_calls) == 1)
        assert await get_tool_result(servers, "stroke") == Result({"result": "not painted: cancel"})
        assert "nobody knows for which of 2 calls" in caplog.text
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        # From now on it is called once at a time, and so it is known.
        pauses = await asyncio.gather(get_tool_result(servers, "stroke"), get_tool_result(servers, "stroke"))
        colours = ("red", "blue")
        results = [
            await get_tool_result(servers, "stroke", pause=pause, answers=[{"colour": colour}])
            for pause, colour in zip(pauses, colours, strict=True)
        ]
        assert [result.content["result"] for result in results] == ["painted red", "painted blue"]


async def test_only_the_tools_that_are_wanted() -> None:
    async with connect_over_http(tools=("look",), confirm="all") as servers:
        tools = await list_tools(servers)
        assert list(tools) == ["things__look"]
        assert tools["things__look"].confirm


@pytest.mark.long
async def test_a_server_that_never_answers_is_down() -> None:
    silent = McpServerConfig(name="silent", command="/bin/sleep", args=("60",), start=0.3)
    async with connect_servers(silent) as servers:
        assert servers.down == {"silent": "it does not answer"}


async def test_what_was_shared_outlives_the_one_before() -> None:
    async with connect_over_http() as before:
        link = before.connections["things"].connection
        after = McpServers([link.server], None, before)
        other = McpServers([replace(link.server, timeout=5)], None, before)
        assert after.connections["things"].connection is link
        assert other.connections["things"].connection is not link
        await after.start()
        await before.close()
        assert await get_tool_result(after, "add", {"a": 1, "b": 1}) == Result({"result": 2})
        await after.close()
        assert not link.is_started


def test_a_link_that_was_not_started_says_so() -> None:
    async def look() -> Any:
        return McpConnection(McpServerConfig(name="x", command="y")).down_reason

    assert asyncio.run(look()) == "it was not asked yet"


@pytest.mark.demand("agents.progress_status_elicitation_interrupt")
async def test_a_servers_headers_are_sent() -> None:
    """With every request, and to no other place: a redirect to another origin is not followed."""
    got: list[tuple[str, str]] = []

    def app(name: str, elsewhere: str = "") -> Any:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            headers = {key.decode(): value.decode() for key, value in scope["headers"]}
            got.append((name, headers.get("authorization", "")))
            moved = [(b"location", elsewhere.encode())]
            await send({"type": "http.response.start", "status": 307 if elsewhere else 404, "headers": moved})
            await send({"type": "http.response.body", "body": b""})

        return answer

    async with serve_app(app("other")) as other, serve_app(app("ours", f"{other}/mcp")) as ours:
        server = McpServerConfig(name="x", url=f"{ours}/mcp", headers={"Authorization": "canary-0123456789"})
        async with connect_servers(server) as servers:
            assert "x" in servers.down
    assert set(got) == {("ours", "canary-0123456789")}


async def test_a_call_of_one_that_is_down_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connect_over_http(start=10 * HANG_TIMEOUT) as servers:
        known = servers.connections["things"]
        tool = known.tools["things__add"]
        assert tool.call is not None
        monkeypatch.setattr(connection, "connect_client", refuse_connection)
        known.connection.mark_lost()
        await wait_until(lambda: known.connection.down_reason)
        async with asyncio.timeout(HANG_TIMEOUT), closing(tool.call({"a": 1, "b": 1}, ToolContext(TURN, "c"))) as items:
            (result,) = [item async for item in items]
    assert isinstance(result, Result)
    assert result.failed
    assert "The MCP server things is down" in result.content["error"]["message"]


async def refuse_connection(*about: Any, **more: Any) -> Any:
    raise ConnectionRefusedError("nobody is there")


async def test_a_server_that_was_started_anew_is_called_on_a_new_session() -> None:
    """It does not know the old session, and so it has not begun: nothing is done twice."""
    first, second = (program.server.streamable_http_app() for _ in range(2))
    apps = [first]

    async def either(scope: Any, receive: Any, send: Any) -> None:
        await apps[-1](scope, receive, send)

    async with (
        serve_over_http(first),
        serve_over_http(second),
        serve_app(either) as url,
        connect_servers(McpServerConfig(name="things", url=f"{url}/mcp", older=True)) as servers,
    ):
        assert await get_tool_result(servers, "add", {"a": 1, "b": 1}) == Result({"result": 2})
        apps.append(second)
        assert await get_tool_result(servers, "add", {"a": 2, "b": 2}) == Result({"result": 4})
