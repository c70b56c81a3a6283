"""What stands in prompts: nothing twice, and no option of a chart. Over HTTP, by what reaches the model."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.charts.chart import describe_charts, is_chart_option
from rightseat.plugins.flows.templates import describe_data
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.plugins.flows.served import AguiFlowClient, OpenAIFlowClient, serve_plugin
from tests.unit.plugins.http.recording_api import make_json_response, serve_recording_api

HOSTS = [{"host": "web-7731", "hours": 3}, {"host": "db-7732", "hours": 5}]
HEAD = "name: f\ndescription: Draws.\nsteps:\n"
HEAD += "  - {name: start, call_type: api, params: {endpoint: GET /hosts, values: {}}, next: second}\n"
CHART = "  - {name: second, call_type: render, params: {kind: bar}, next: third}\n"
OPTION_WORDS = ("tooltip", "axisLabel", "richText", '"series"', "containLabel")


async def run_flow(folder: Path, steps: str, *lines: Any, hosts: Any = HOSTS) -> tuple[list[str], AguiFlowClient]:
    """All that the model was told, by call."""
    model = FakeModel(*(lines or (reply_text("Fine."),)))
    async with serve_recording_api() as api:
        api.replies = [make_json_response(hosts)] * 3
        async with serve_plugin(folder, api.url, {"/hosts": {"get": {}}}, model, f=HEAD + steps) as url:
            person = AguiFlowClient(url, "p.f")
            await person.send_message("Which host?")
            assert person.errors == []
    return ["\n".join(message.text for message in prompt.messages) for prompt in model.prompts], person


@pytest.mark.io
@pytest.mark.demand("flows.data_and_context_never_repeat")
@pytest.mark.parametrize(
    "prompt", ["", "D {data} C {context}", "C {context} S {start}", "S {steps} C {context}", "{data}", "{context}"]
)
async def test_what_a_step_gave_stands_once(tmp_path: Path, prompt: str) -> None:
    params = json.dumps({"user_prompt": prompt} if prompt else {})
    (told,), _ = await run_flow(tmp_path, f"  - {{name: second, call_type: llm, params: {params}}}\n")
    assert (told.count("web-7731"), told.count("db-7732")) == (1, 1)


@pytest.mark.io
@pytest.mark.demand("flows.data_and_context_never_repeat")
async def test_the_context_keeps_what_the_data_leaves_out(tmp_path: Path) -> None:
    steps = """  - {name: second, call_type: extract, params: {keys: {first: "$[0].host"}}, next: third}
  - {name: third, call_type: llm, params: {user_prompt: "D {data} C {context}"}}
"""
    (told,), _ = await run_flow(tmp_path / "a", steps)
    assert told.count('{"first":"web-7731"}') == 1
    assert told.count("db-7732") == 1, "of the first step, in the context"
    # A part of what a step gave is no reason to leave the rest out.
    steps = '  - {name: second, call_type: llm, params: {user_prompt: "{start[0].host} {context}"}}\n'
    (told,), _ = await run_flow(tmp_path / "b", steps)
    assert (told.count("web-7731"), told.count("db-7732")) == (2, 1)


@pytest.mark.io
@pytest.mark.demand("flows.data_and_context_never_repeat")
async def test_decisions_and_arguments_are_asked_for_without_repetition(tmp_path: Path) -> None:
    steps = """  - name: second
    call_type: choice
    params: {choices: [{step: end, description: a}, {step: third, description: b}]}
  - {name: third, call_type: llm}
  - {name: end, call_type: none, params: {say: Done.}}
"""
    told, _ = await run_flow(tmp_path, steps, reply_text('{"step": "end"}'))
    assert [text.count("web-7731") for text in told] == [1]


@pytest.mark.io
@pytest.mark.demand("flows.data_and_context_never_repeat")
@pytest.mark.parametrize("prompt", ["", "{data}", "{context}", "{steps}", "{second}", "{data} {context}"])
async def test_a_chart_is_described_and_its_numbers_stand_once(tmp_path: Path, prompt: str) -> None:
    params = json.dumps({"user_prompt": prompt} if prompt else {})
    (told,), person = await run_flow(tmp_path, CHART + f"  - {{name: third, call_type: llm, params: {params}}}\n")
    assert [word for word in OPTION_WORDS if word in told] == []
    assert told.count("web-7731") == 1
    assert person.outputs["second"]["series"][0]["data"] == [3, 5], "a step that wants the option still gets it"


@pytest.mark.io
@pytest.mark.demand("flows.data_and_context_never_repeat")
async def test_the_answer_after_a_chart_is_written_from_the_table(tmp_path: Path) -> None:
    (told,), person = await run_flow(tmp_path, CHART.replace(", next: third", ""))
    assert [word for word in OPTION_WORDS if word in told] == []
    assert told.count("web-7731") == 1
    assert [artifact["kind"] for artifact in person.artifacts] == ["chart"]


@pytest.mark.io
@pytest.mark.demand("flows.data_and_context_never_repeat")
async def test_charts_of_loops_and_branches_are_described_too(tmp_path: Path) -> None:
    steps = """  - name: second
    call_type: loop
    params: {over: [1, 2], steps: [{call_type: render, params: {from: start, kind: bar}}]}
    next: third
  - name: third
    call_type: parallel
    params: {branches: {one: {call_type: render, params: {from: start, kind: pie, title: Hours}}}}
"""
    (told,), _ = await run_flow(tmp_path / "a", steps)
    assert [word for word in OPTION_WORDS if word in told] == []
    assert told.count('"chart":"bar"') == 2
    assert '"chart":"pie","title":"Hours"' in told
    prompt = '  - {name: fourth, call_type: llm, params: {user_prompt: "{second[0]} {third.one.series[0].type}"}}\n'
    (told,), _ = await run_flow(tmp_path / "b", steps + "    next: fourth\n" + prompt)
    assert told.endswith('{"chart":"bar"} pie'), "a path to a chart gives its description, one into it a value"


@pytest.mark.io
@pytest.mark.demand("flows.data_and_context_never_repeat")
async def test_a_model_that_calls_the_flow_is_not_told_the_option(tmp_path: Path) -> None:
    model = FakeModel(reply_calls(("p_f", '{"request": "draw"}')), reply_text("Drawn."))
    async with serve_recording_api() as api:
        api.replies = [make_json_response(HOSTS)]
        flow = HEAD + CHART.replace(", next: third", "")
        async with serve_plugin(tmp_path, api.url, {"/hosts": {"get": {}}}, model, f=flow) as url:
            seen = await OpenAIFlowClient(url, "default").send_message("Draw the hosts.")
    assert seen.text.endswith("Drawn.")
    [told] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert [word for word in OPTION_WORDS if word in told] == []
    assert told.count("web-7731") == 1


@pytest.mark.demand("flows.data_and_context_never_repeat")
def test_only_options_are_charts() -> None:
    option = {"tooltip": {}, "xAxis": {"data": ["a"]}, "yAxis": {}, "series": [{"type": "bar", "data": [1]}]}
    assert is_chart_option(option)
    others: list[Any] = [None, [], "x", {}, {"series": []}, {"series": [{"type": "drama"}], "tooltip": {}}]
    others += [{"series": [{"type": "bar"}]}, {"series": "bar", "xAxis": {}}, {"xAxis": {}, "yAxis": {}}]
    assert [value for value in others if is_chart_option(value)] == []
    assert describe_charts({"a": [option], "b": 1}) == {"a": [{"chart": "bar"}], "b": 1}
    assert describe_data(json.dumps(option)) == {"chart": "bar"}
    assert describe_data('{"series": 1}') == '{"series": 1}'
    plain = {"a": [1, {"b": "c"}]}
    assert describe_charts(plain) is plain


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    path = tmp_path / "tickets.db"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE tickets (host TEXT, hours INTEGER)")
        made.executemany("INSERT INTO tickets VALUES (?, ?)", [("web-1", 3), ("db-1", 5)])
    return path


SQL = """
name: f
description: d
steps:
  - name: start
    call_type: sql
    params: {database: tickets, sql: "SELECT host, hours FROM tickets", title: TITLE}
    next: names
  - {name: names, call_type: extract, params: {keys: {host: "$[*].host"}, title: "Hosts of {question}"}, next: end}
  - {name: end, call_type: none, params: {say: Done.}}
"""


@pytest.mark.io
@pytest.mark.demand("flows.tables_have_own_title")
@pytest.mark.parametrize(
    ("title", "question", "expected"),
    [
        ('"Hours by host"', "May", "Hours by host"),
        ('{en: "Hours of {question}", zh: "{question}的工时"}', "五月份的工单", "五月份的工单的工时"),
        ('""', "May", "start"),
    ],
)
async def test_tables_have_the_steps_own_title(
    tmp_path: Path, tickets: Path, title: str, question: str, expected: str
) -> None:
    rules = f'[databases.tickets]\nurl = "sqlite:///{tickets}"\n'
    flow = SQL.replace("TITLE", title)
    async with serve_plugin(tmp_path, "http://127.0.0.1:9", {"/x": {"get": {}}}, rules=rules, f=flow) as url:
        person = AguiFlowClient(url, "p.f")
        assert (await person.send_message(question)).text == "Done."
        assert [table["name"] for table in person.artifacts] == [expected, f"Hosts of {question}"]
        said = await OpenAIFlowClient(url, "p.f").send_message(question)
        assert said.text.startswith(f"{expected}\n\n| host | hours |")
