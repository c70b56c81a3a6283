"""Flow files: as the guide has them, as later versions write them, and what is wrong with others."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rightseat.plugins.flows.load import FlowFileReader, check_flow
from rightseat.plugins.flows.step_context import FlowReferences
from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import NextFlow, Problem
from rightseat.plugins.plugin_file import parse_json_document
from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds
from tests.unit.plugins.flows.conversations import make_flow, parse_flow, write_plugin_folder

GUIDE = """
name: example_id
description: 这里是样例描述。
on_error:
  call_type: llm
  params:
    system_prompt: You are a helpful assistant.
    user_prompt: |
      当前工具执行发生错误，原始错误信息为：{data}。请向用户展示错误信息，并给出可能的解决方案。

      背景信息：{context}
steps:
  - name: start
    call_type: api
    params:
      endpoint: GET /api/test
    next: flow_choice
  - name: flow_choice
    call_type: choice
    params:
      instruction: 返回值是否为Markdown报告？
      choices:
        - step: report_gen
          description: 返回值不是Markdown格式
        - step: end
          description: 返回值是Markdown格式
  - name: report_gen
    call_type: llm
    params:
      system_prompt: 你是一个擅长Linux系统性能优化，且能够根据具体情况撰写分析报告的智能助手。
      user_prompt: |-
        用户问题：
        {question}

        工具的输出信息：
        {data}

        上下文信息：
        {context}

        当前时间：
        {time}

        根据上述信息，撰写系统性能分析报告。
    next: end
  - name: end
    call_type: none
next_flow:
  - example_2
  - example_3
"""
API = """
openapi: 3.0.0
info: {version: 1.0.0, title: t}
servers: [{url: "http://example.com"}]
paths:
  /api/test:
    get: {description: d, responses: {"200": {description: ok}}}
  "/主机/{id}":
    post:
      description: d
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: ok}}
"""
NAMED = FlowReferences(flows=["f"], scripts=["mine"])
KNOWN = FlowReferences(endpoints=["GET /api/test"], flows=["example_id", "example_2", "example_3"], scripts=["mine"])


def find_problems(text: str, known: FlowReferences = KNOWN) -> list[Problem]:
    made, problems = parse_flow(text)
    return [*problems, *(check_flow(made, known) if made else ())]


def format_problems(text: str) -> str:
    return "\n".join(f"{one.gravity} {one.key}: {one.what} {one.fix}" for one in find_problems(text))


@pytest.mark.demand("flows.flows_yaml_exactly_seed")
def test_the_guides_flow_is_read_whole_and_nothing_is_wrong_with_it() -> None:
    assert find_problems(GUIDE) == []
    made = make_flow(GUIDE)
    assert made.id == "p/example_id"
    assert list(made.steps) == ["start", "flow_choice", "report_gen", "end"]
    assert made.steps["start"].params == {"endpoint": "GET /api/test"}
    assert made.steps["report_gen"].next == "end"
    assert made.on_error is not None
    assert "{data}" in made.on_error.params["user_prompt"]
    assert [(one.flow, one.plugin) for one in made.next_flow] == [("example_2", ""), ("example_3", "")]


@pytest.mark.demand("flows.flows_yaml_exactly_seed")
def test_later_files_name_themselves_by_id_and_steps_by_keys() -> None:
    text = """
id: later
description: d
steps:
  start: {call_type: mine, next: end}
  end: {call_type: none}
next_flow:
  - {plugin: other, flow: b, question: "And then?"}
  - other/c
"""
    made = make_flow(text)
    assert (made.name, list(made.steps)) == ("later", ["start", "end"])
    assert made.next_flow == (
        NextFlow(flow="b", plugin="other", question="And then?", line=8),
        NextFlow(flow="c", plugin="other", line=9),
    )


START = "name: f\ndescription: d\nsteps:\n"


def write_steps(*steps: str) -> str:
    return START + "".join(f"  - {step}\n" for step in steps)


@pytest.mark.demand("flows.checked_load_missing_start")
@each_case(
    ("text", "said"),
    [
        ("[]", "It is no flow"),
        ("name: f\ndescription: d\nsteps: []", "It has no steps"),
        (write_steps("{name: first, call_type: none}"), "No step is called 'start'"),
        (write_steps("{name: start, call_type: mine, next: gone}"), "goes on with 'gone'"),
        (
            write_steps("{name: start, call_type: mine, next: strat}", "{name: start2, call_type: none}"),
            "Did you mean 'start'",
        ),
        (
            write_steps("{name: start, call_type: mine}", "{name: lost, call_type: mine}"),
            "warning steps.lost: Nothing leads to this step",
        ),
        (
            write_steps("{name: start, call_type: mine, next: b}", "{name: b, call_type: mine, next: start}"),
            "These steps go round for ever: start, b",
        ),
        (write_steps("{name: start, call_type: mien}"), "There is no call_type 'mien'"),
        (write_steps("{name: start, call_type: mien}"), "Did you mean 'mine'"),
        (write_steps("{name: start, call_type: api, params: {endpoint: GET /api/tests}}"), "GET /api/test"),
        (write_steps("{name: start, call_type: flow, params: {flow: f2}}"), "There is no flow 'f2'"),
        (write_steps("{name: start, call_type: flow, params: {flow: f}}"), "cannot run itself"),
        (write_steps("{name: start, call_type: tool, params: {tool: his}}"), "There is no tool 'his'"),
        (write_steps("{name: start, call_type: mine}", "{name: start, call_type: none}"), "two steps called 'start'"),
        (write_steps("{call_type: mine}"), "The step has no name"),
        (write_steps("{name: start}"), "It has no call_type"),
        (write_steps("{name: start, call_type: mine, params: 3}"), "params are not a mapping"),
        (write_steps("{name: start, call_type: mine, retry: lots}"), "is not a number"),
        (write_steps("{name: start, call_type: mine, retry: 99}"), "not between 0 and 10"),
        (write_steps("{name: start, call_type: mine, nxt: b}"), "Did you mean 'next'"),
        (write_steps("{name: start, call_type: ask}"), "It asks nothing"),
        (write_steps("{name: start, call_type: parallel}"), "There are none"),
        (
            write_steps("{name: start, call_type: parallel, params: {branches: {a: {call_type: no}}}}"),
            "start/a: There is no call_type 'no'",
        ),
        (write_steps("{name: start, call_type: loop}"), "There are none"),
        (write_steps("{name: start, call_type: loop, params: {max: 0, steps: []}}"), "from 1 to 1000"),
        (
            write_steps("{name: start, call_type: mine, on_error: {call_type: mine, on_error: {call_type: a}}}"),
            "must not have an on_error",
        ),
        (write_steps("{name: start, call_type: mine}") + "next_flow: [example_4]", "no flow 'example_4'"),
        (write_steps("{name: start, call_type: mine}") + "timeout: -1", "not between 0 and"),
        ("steps:\n  - {name: start, call_type: mine}", "is called 'f'"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    assert said in format_problems(text)


@pytest.mark.demand("flows.checked_load_missing_start")
def test_steps_within_steps_may_name_those_around_them() -> None:
    text = (
        START
        + """
  - {name: start, call_type: mine, next: both}
  - name: both
    call_type: parallel
    params:
      branches:
        a:
          - call_type: choice
            params: {choices: [{step: "2", when: {path: start.count, above: 1}}, {step: "3"}]}
          - {call_type: mine}
          - {call_type: mine}
"""
    )
    assert format_problems(text) == ""


@pytest.mark.demand("flows.checked_load_missing_start")
def test_problems_know_their_line() -> None:
    (problem,) = find_problems(f"{START}  - name: start\n    call_type: mine\n    next: gone\n")
    assert (problem.file, problem.line) == ("flows/f.yaml", 4)
    (problem,) = find_problems(f"{START}  - name: first\n    call_type: mine\n")
    assert problem.line == 4
    (problem,) = find_problems(f"{START}  - name: start\n    call_type: mine\nnext_flow:\n  - f\n  - gone\n", NAMED)
    assert (problem.line, problem.gravity) == (8, "warning")


def test_a_flow_that_only_moves_in_its_file_stays_the_same() -> None:
    text = f"{START}  - {{name: start, call_type: mine}}\nnext_flow: [example_2]\n"
    assert make_flow(text).digest == make_flow(f"# a comment\n{text}").digest
    assert make_flow(text).digest != make_flow(text.replace("example_2", "example_3")).digest


@pytest.mark.demand("flows.checked_load_missing_start")
def test_a_step_that_cannot_be_read_is_all_that_is_said() -> None:
    bad = "{name: start, call_type: mine, retry: lots, next: b}"
    (problem,) = find_problems(write_steps(bad, "{name: b, call_type: mine, next: end}"))
    assert problem.what == "Its retry: 'lots' is not a number."


@pytest.mark.demand("flows.checked_load_missing_start")
def test_a_broken_flow_costs_itself_alone(tmp_path: Path) -> None:
    good = f"{START}  - {{name: start, call_type: api, params: {{endpoint: GET /api/test}}}}"
    home = write_plugin_folder(
        tmp_path / "p",
        openapi=API,
        flows__a=good,
        flows__b=good.replace("/api/test", "/api/none").replace("name: f", "name: g"),
        flows__c="steps: [",
        flows__d=good,
    )
    plugin = read_plugin(home)
    assert [one.name for one in plugin.workflows] == ["f"]
    assert len(plugin.operations) == 2
    said = {one.file for one in plugin.problems if one.gravity == "error"}
    assert said == {"flows/b.yaml", "flows/c.yaml", "flows/d.yaml"}


@pytest.mark.demand("flows.automatic_flow_true_operation")
def test_automatic_flow_makes_a_flow_of_each_operation_beside_the_files(tmp_path: Path) -> None:
    home = write_plugin_folder(
        tmp_path / "p",
        **{"plugin.json": '{"name": "n", "description": "d", "automatic_flow": true}'},
        openapi=API,
        flows__a=GUIDE,
    )
    made = {one.name: one for one in read_plugin(home).workflows}
    assert set(made) == {"example_id", "GET /api/test", "POST /主机/{id}"}
    one = made["POST /主机/{id}"]
    assert [(step.name, step.kind, step.next) for step in one.steps.values()] == [
        ("start", "api", "end"),
        ("end", "none", None),
    ]
    assert one.steps["start"].params == {"endpoint": "POST /主机/{id}"}


KEYS = ["name", "id", "steps", "call_type", "params", "next", "on_error", "choices", "branches", "schema"]
KINDS = ["api", "ask", "choice", "extract", "flow", "llm", "loop", "parallel", "tool"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["start", "end", "llm"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "id", "steps", "call_type", "params", "next", "on_error", "choices", "branches"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@pytest.mark.demand("flows.checked_load_missing_start")
@settings(max_examples=limit_rounds(150), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(VALUES, st.sampled_from(KINDS))
def test_no_file_makes_reading_raise(value: object, kind: str) -> None:
    step = {"name": "start", "call_type": kind, "params": value if isinstance(value, dict) else {}}
    for one in (value, {"name": "f", "steps": value}, {"name": "f", "steps": [step]}):
        made = FlowFileReader("p", parse_json_document("flows/f.json", json.dumps(one))).read_flow()
        if made is not None:
            assert all(isinstance(fault, Problem) for fault in check_flow(made, KNOWN))


@pytest.mark.parametrize(
    ("say", "is_text"),
    [
        ("Done.", True),
        ("{en: Done., zh: 完成。}", True),
        ("{zh: 完成。}", True),
        ("{de: Fertig.}", False),
        ("{en: 1}", False),
    ],
)
def test_a_text_may_be_written_in_each_language(say: str, is_text: bool) -> None:
    for kind, param in (("none", "say"), ("ask", "question")):
        text = f"{START}  - name: start\n    call_type: {kind}\n    params: {{{param}: {say}}}\n"
        assert (format_problems(text) == "") is is_text
