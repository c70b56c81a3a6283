"""Several sources as one, and a tool's name."""

from collections.abc import Collection, Iterable, Sequence

import pytest
from msgspec.structs import replace

from rightseat.engine.toolsets import CombinedToolset
from rightseat.mcp import tool_sources
from rightseat.mcp.tool import make_tool_name
from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn
from tests.unit.mcp.tool_calls import make_stdio_config

TURN = Turn(messages=())


class FakeToolSource:
    """A source with the given tools."""

    def __init__(self, *names: str) -> None:
        self.tools = {name: Tool(name, f"of {names[0]}", {}) for name in names}

    def __contains__(self, name: object, /) -> bool:
        return name in self.tools

    @property
    def suggestions(self) -> tuple[str, ...]:
        return ("Both?", f"{next(iter(self.tools))}?")

    @property
    def groups(self) -> dict[str, str]:
        return {"same": next(iter(self.tools))}

    def with_default_question(self, turn: Turn, /) -> Turn:
        return replace(turn, thread=turn.thread + next(iter(self.tools)))

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        for name, tool in self.tools.items():
            tools.setdefault(name, tool)

    async def wait_for_tools(self, names: Collection[str], /) -> None:
        return

    def fingerprint(self, names: Iterable[str], /) -> str:
        return "+".join(name for name in names if name in self.tools)


async def test_the_first_source_counts() -> None:
    both = CombinedToolset([FakeToolSource("a", "x"), FakeToolSource("b", "x")])
    tools: dict[str, Tool] = {}
    await both.add_tools(tools, TURN, ())
    assert {name: tool.description for name, tool in tools.items()} == {"a": "of a", "x": "of a", "b": "of b"}
    assert all(name in both for name in "abx")
    assert "c" not in both
    assert both.suggestions == ("Both?", "a?", "b?")
    assert both.groups == {"same": "a"}
    assert both.with_default_question(TURN).thread == "ab"


def test_a_change_in_any_of_them_changes_the_digest() -> None:
    both = CombinedToolset([FakeToolSource("a"), FakeToolSource("b")])
    assert both.fingerprint(name for name in "ab") == "ab"
    assert both.fingerprint(["b"]) == "b"


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("files", "read", "files__read"),
        ("files", "read.all", "files__read_all_"),
        ("files", "读", "files____"),
        ("files", "x" * 80, "files__" + "x" * 50 + "_"),
    ],
)
def test_names_that_every_upstream_takes(server: str, tool: str, name: str) -> None:
    found = make_tool_name(server, tool, ())
    assert found == name if name == "files__read" else found.startswith(name)
    assert len(found) <= 64
    assert found.replace("_", "").replace("-", "").isalnum()
    assert found.isascii()


def test_two_tools_never_share_a_name() -> None:
    first = make_tool_name("s", "a.b", ())
    assert first != make_tool_name("s", "a-b", ()) != make_tool_name("s", "a_b", ())
    assert make_tool_name("s", "a_b", {"s__a_b"}) != "s__a_b"


@pytest.mark.io
async def test_an_answer_waits_for_a_server_that_is_still_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_sources, "START_TIMEOUT", 0)
    servers = tool_sources.McpServers([make_stdio_config()])
    await servers.start()
    try:
        source = CombinedToolset([servers.select()])
        assert "things__add" not in source
        await source.wait_for_tools(["other__add"])
        assert "things__add" not in source
        await source.wait_for_tools(["things__add"])
        assert "things__add" in source
    finally:
        await servers.close()
