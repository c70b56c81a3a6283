"""The demo's set-up: when it is there, which turns get its tools, and how they are described."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, Role, text_message
from rightseat.types.model import ToolSpec
from rightseat.types.turn import AppContext, Turn, TurnClient
from rightseat.wiring.demo import DESCRIPTIONS
from rightseat.wiring.demo.offer import is_plain_turn
from rightseat.wiring.from_config import build_runtime
from tests.kit.cases import each_case

HELLO = text_message("user", "Hello")


def list_default_tools(config: Config) -> list[str]:
    return [tool.name for tool in build_runtime(config, env={}).assistants["default"].tools]


@pytest.mark.demand("demo.offered_while_unconfigured")
@pytest.mark.parametrize(
    "table",
    [
        "[[plugins]]\npath = 'plugins'",
        "[mcp.files]\ncommand = 'true'",
        "[models.default]\nspec = 'scripted:demo'",
        "[assistants.mine]\nsystem = 'Be brief.'",
        "[databases.db]\nurl = 'sqlite:///x.db'",
    ],
)
def test_whoever_has_configured_something_gets_no_demo(tmp_path: Path, table: str) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "rightseat.toml").write_text(table)
    config = load_config(tmp_path / "rightseat.toml", env={"RIGHTSEAT_MODEL": ""})
    runtime = build_runtime(structs.replace(config, without_local="No weights."), env={})
    assert not [tool.name for tool in runtime.assistants["default"].tools if tool.name.startswith("demo")]
    assert "demo.sales" not in runtime.responders


@pytest.mark.demand("demo.offered_while_unconfigured")
def test_settings_of_the_server_leave_the_demo(tmp_path: Path) -> None:
    (tmp_path / "rightseat.toml").write_text("[server]\nport = 7778\n[limits]\nrun_seconds = 60\n")
    assert list_default_tools(load_config(tmp_path / "rightseat.toml", env={"RIGHTSEAT_MODEL": "scripted:demo"})) == [
        "demo_clock",
        "demo_book",
        "calculate",
        "table_query",
        "facts",
        "demo_sales",
    ]


@pytest.mark.demand("demo.offered_to_plain_requests")
@each_case(
    "brought",
    [
        {"tools": (ToolSpec("f", "", {}),)},
        {"context": (AppContext("Prices", "apple 3"),)},
        {"output_schema": {"type": "object"}},
        {"client": TurnClient(is_workspace=True)},
        {"messages": (Message("user", (ImageMessagePart("data:image/png;base64,aa"),)), HELLO)},
        {"messages": (Message("user", (FileMessagePart("a.txt", "text/plain", "aa"),)),)},
    ],
)
def test_a_turn_that_brings_something_is_not_plain(brought: dict[str, Any]) -> None:
    assert is_plain_turn(Turn(messages=(HELLO,)))
    assert not is_plain_turn(Turn(**{"messages": (HELLO,), **brought}))


@pytest.mark.demand("demo.offered_to_plain_requests")
@pytest.mark.parametrize(
    ("prompt", "is_plain"),
    [
        ("", True),
        ("You are a helpful assistant.", True),
        ("You are a helpful assistant", True),
        ("You are a helpful, friendly AI assistant. Answer in the language of the question.", True),
        ("You are an AI assistant.", True),
        ("你是一个有用的助手。", True),
        ("你是一个乐于助人的AI助手。", True),
        ("You are a helpful assistant of ACME's shop.", False),
        ("You are a helpful assistant. Apples cost 3 euros.", False),
        ("You are a pirate.", False),
        ("Answer from this table: apple 3", False),
        ("你是销售助手，苹果三元一斤。", False),
        ("You are a helpful assistant. " + "Answer kindly. " * 20, False),
    ],
)
@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_prompt_counts_unless_everybody_sends_it(prompt: str, is_plain: bool, role: Role) -> None:
    assert is_plain_turn(Turn(messages=(text_message(role, prompt), HELLO))) is is_plain


@pytest.mark.demand("demo.sales_chart_of_the_default")
def test_each_tool_is_described_in_both_languages() -> None:
    every_tool = build_runtime(Config(without_local="No weights."), env={}).assistants["default"].tools
    tools = [tool for tool in every_tool if tool.name.startswith("demo_")]
    assert {tool.name: tool.description for tool in tools} == {
        name: texts["en"] for name, texts in DESCRIPTIONS.items()
    }
    assert all(texts["zh"] for texts in DESCRIPTIONS.values())
    assert all(tool.parameters.get("properties", {}).keys() <= {"people"} for tool in tools)
