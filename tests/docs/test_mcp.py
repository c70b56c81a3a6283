"""docs/mcp.md: its server is run, and what it says of the environment and the door is so."""

import re
import sys
from pathlib import Path

import pytest
from mcp.client import stdio

from rightseat.doors.mcp.routes import METHODS
from rightseat.mcp.connect import INHERITED_VARIABLES, MAX_GARBAGE_LINES, MAX_LINES, McpServerConfig
from rightseat.mcp.connection import ANSWER_TIMEOUT
from rightseat.mcp.tool_sources import IDLE_TIMEOUT, MAX_SHOWN_TOOLS
from tests.unit.mcp.tool_calls import call_tool, connect_servers, list_tools

pytestmark = pytest.mark.io

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")


@pytest.mark.long
async def test_the_pages_server_is_used(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(# notes\.py\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "notes.py").write_text(blocks[0], "utf-8")
    notes = McpServerConfig(name="things", command=sys.executable, args=("notes.py",), folder=tmp_path)
    async with connect_servers(notes) as servers:
        assert list(await list_tools(servers)) == ["things__note"]
        told, result = await call_tool(servers, "note", {"text": "milk"})
    assert getattr(told, "value", {})["message"] == "writing"
    assert getattr(result, "content", None) == {"result": "1 notes"}


def test_what_it_says_is_so() -> None:
    flat = " ".join(PAGE.split())
    assert all(f"`{name}`" in flat for name in INHERITED_VARIABLES)
    assert (MAX_LINES, MAX_SHOWN_TOOLS, ANSWER_TIMEOUT, IDLE_TIMEOUT) == (100, 128, 600, 300)
    assert "first hundred lines" in flat
    assert "128 tools" in flat
    assert "a thousand lines" in flat
    assert MAX_GARBAGE_LINES == 1000
    assert "after two seconds by SIGTERM, after four by SIGKILL" in flat
    assert (stdio.PROCESS_TERMINATION_TIMEOUT, stdio.FORCE_KILL_TIMEOUT) == (2, 2)
    assert "ten minutes" in flat
    assert "five minutes" in flat
    assert {"tools/list", "resources/read", "prompts/get"} <= METHODS.keys()
