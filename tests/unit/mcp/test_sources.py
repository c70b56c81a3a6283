"""Several sources as one, and a tool's name."""

from collections.abc import Iterable, Sequence

import pytest
from msgspec.structs import replace

from rightseat.engine.toolsets import CombinedToolset
from rightseat.mcp.tool import make_tool_name
from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn

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
