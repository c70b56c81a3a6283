"""The built-in tools as users meet them: named in rightseat.toml, in a program, called over HTTP."""

import asyncio
import json
from pathlib import Path

import pytest

import rightseat
from rightseat.config.load import load_config
from rightseat.testing import ScriptedModel, TestClient
from rightseat.wiring.from_config import build_runtime
from tests.unit.tools.test_function import call_tool

SALES = "| fruit | sold |\n|---|---|\n| apples | 1,034 |\n| pears | 51 |\n"
CONFIG = """
[models.script]
spec = "scripted:script.json"
[assistants.default]
model = "script"
tools = ["calculate", "table_query"]
"""


def make_script(name: str, arguments: dict[str, str]) -> str:
    turns = [
        {"when": {"tool": name}, "say": "{result}"},
        {"when": {}, "calls": [{"name": name, "arguments": arguments}]},
    ]
    return json.dumps({"turns": turns})


@pytest.mark.io
@pytest.mark.demand("five_minutes.builtin_tools_by_name")
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("calculate", {"expression": "17% of 240"}, "40.8"),
        ("table_query", {"table": SALES, "sql": "SELECT sum(sold) AS total FROM t"}, "| total |\n|---|\n| 1085 |"),
        ("calculate", {"expression": "9**9**9"}, "larger than 100000"),
        ("table_query", {"table": SALES, "sql": "DROP TABLE t"}, "Only SELECT can be run here"),
    ],
)
def test_an_assistant_calls_them_by_their_names_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, arguments: dict[str, str], answer: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightseat.toml").write_text(CONFIG)
    (tmp_path / "script.json").write_text(make_script(name, arguments))

    async def ask() -> str:
        runtime = build_runtime(load_config(tmp_path / "rightseat.toml"))
        async with TestClient(runtime) as client:
            body = {"messages": [{"role": "user", "content": "compute"}]}
            reply = await client.post_json("/v1/chat/completions", body)
        return str(reply.json["choices"][0]["message"]["content"])

    assert answer in asyncio.run(ask())


@pytest.mark.demand("five_minutes.builtin_tools_by_name")
async def test_a_program_has_them_as_public_names() -> None:
    model = ScriptedModel(("calculate", {"expression": "0.1 + 0.2"}), "It is 0.3.")
    async with rightseat.Runtime(model=model, tools=[rightseat.calculate, rightseat.table_query]) as runtime:
        answer = await runtime.ask("What is 0.1 + 0.2?")
    assert [call.result for call in answer.tool_calls] == ["0.3"]


@pytest.mark.parametrize("tool", [rightseat.calculate, rightseat.table_query])
def test_both_only_read_and_need_no_approval(tool: rightseat.Tool) -> None:
    assert tool.effect == "reads"
    assert not tool.confirm
    assert set(tool.parameters["required"]) == set(tool.parameters["properties"])


@pytest.mark.io
async def test_errors_are_results_that_say_what_to_write() -> None:
    [result] = await call_tool(rightseat.calculate, {"expression": "2 +"})
    assert result.failed
    assert "A number is missing" in result.text
    [result] = await call_tool(rightseat.table_query, {"table": "no table", "sql": "SELECT 1"})
    assert result.failed
    assert "Markdown, CSV, TSV" in result.text
    [result] = await call_tool(rightseat.table_query, {"table": SALES, "sql": "SELECT price FROM t"})
    assert result.failed
    assert "no such column: price. Write one SELECT over the table t (fruit TEXT, sold INTEGER)." in result.text
    assert rightseat.table_query.close is not None
    await rightseat.table_query.close()
