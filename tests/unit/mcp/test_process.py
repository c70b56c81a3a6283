"""`rightseat serve` with an MCP server: a model's call ends there, and no program outlives the server."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.waiting import wait_until
from tests.unit.mcp.tool_calls import SERVER_SCRIPT

pytestmark = pytest.mark.io


def list_marked_pids(mark: str) -> list[int]:
    """The processes that were started with this word."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(int(place.name))
    return found


@pytest.mark.demand("agents.mcp_name_stdio_commands")
@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child that does not listen")
async def test_a_program_that_does_not_listen_ends_with_the_server_too(tmp_path: Path) -> None:
    mark = f"mark-{tmp_path.name}-{os.getpid()}"
    config = f"""
    [models.m]
    spec = "scripted:demo"
    [mcp.deaf]
    command = "{sys.executable}"
    args = ["-c", "import time; time.sleep(600)", "{mark}"]
    start = 1
    """
    server = RightseatProcess(config=config)
    await server.start()
    try:
        await wait_until(lambda: list_marked_pids(mark))
        os.kill(server.pid, signal.SIGKILL)
        await wait_until(lambda: not list_marked_pids(mark))
    finally:
        await server.stop()
        server.remove_folder()


def write_config(folder: Path, mark: str) -> str:
    turns = [
        {"when": {"tool": "things__add"}, "say": "{result}"},
        {"when": {}, "calls": [{"name": "things__add", "arguments": {"a": 20, "b": 22}}]},
    ]
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": turns}), "utf-8")
    return f"""
    [models.m]
    spec = "scripted:{script}"
    [mcp.things]
    command = "{sys.executable}"
    args = ["{SERVER_SCRIPT}", "{mark}"]
    """


@pytest.mark.demand("agents.mcp_name_stdio_commands")
@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_a_question_ends_at_the_program_which_ends_with_the_server(tmp_path: Path, end: signal.Signals) -> None:
    mark = f"mark-{tmp_path.name}-{os.getpid()}-{end}"
    server = RightseatProcess(config=write_config(tmp_path, mark))
    await server.start()
    try:
        await wait_until(lambda: "mcp things: " in server.stderr)
        assert len(list_marked_pids(mark)) == 1
        async with RawHttpClient(server.url) as client:
            question = {"messages": [{"role": "user", "content": "add"}]}
            await client.post_json("/v1/chat/completions", question)
            assert (await client.read_head()).status == 200
            answer = (await client.read_json())["choices"][0]["message"]["content"]
        assert json.loads(answer) == {"result": 42}
        os.kill(server.pid, end)
        await wait_until(lambda: not list_marked_pids(mark))
    finally:
        await server.stop()
        server.remove_folder()
