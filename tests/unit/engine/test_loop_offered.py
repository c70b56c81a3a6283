"""A server tool that is not offered in a turn does not take its name from a client's tool."""

from __future__ import annotations

from dataclasses import replace

from rightseat.engine.loop import Assistant, Engine
from rightseat.stores.memory import MemoryStore
from rightseat.tools.function import tool
from rightseat.types.model import ToolSpec
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel


@tool
def calculate(expression: str) -> str:
    """Compute."""
    return expression


async def test_the_clients_tool_of_the_same_name_is_kept() -> None:
    hidden = replace(calculate, is_offered=lambda turn: not turn.tools)
    engine = Engine(Assistant("a", FakeModel(), tools=(hidden,)), MemoryStore())
    own = ToolSpec("calculate", "Mine.", {"type": "object", "properties": {"a": {}, "b": {}}})
    tools = await engine.collect_tools(Turn(messages=(), tools=(own,)))
    assert [(name, tool.runs_on_client, tool.description) for name, tool in tools.items()] == [
        ("calculate", True, "Mine.")
    ]
    assert "calculate" not in engine.server_tools.without({"calculate"})
    assert [*await engine.collect_tools(Turn(messages=()))] == ["calculate"]
