"""Names in braces, and nothing else in braces."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.plugins.flows.paths import InvalidPath, PathNotFound, decode_json_text, parse_path, resolve_path
from rightseat.plugins.flows.step_context import StepOutput, current_time
from rightseat.plugins.flows.templates import (
    StepVariables,
    UnknownVariable,
    fill_template,
    fill_value,
    iter_placeholders,
)
from rightseat.plugins.plugin import Step
from rightseat.types.messages import text_message
from rightseat.types.turn import AppContext, ForwardedProps, Turn, TurnClient
from tests.kit.cases import each_case
from tests.unit.plugins.flows.step_runs import NOW, make_context, make_services

HOSTS = {"hosts": [{"name": "web-1", "cpu": 0.5}, {"name": "db-1", "cpu": 0.9}], "a.b": 1}
STEP = Step(name="report", kind="llm")


def make_variables(**more: Any) -> StepVariables:
    return StepVariables(make_context(STEP, make_services(), outputs={"start": HOSTS}, **more))


@pytest.mark.demand("flows.llm_system_prompt_user")
def test_the_four_names_and_every_step() -> None:
    text = "{question}|{data}|{start.hosts[0].name}|{time}|{{ question }}"
    assert (
        fill_template(text, make_variables(before="text"))
        == "What is there?|text|web-1|2026-11-15 10:00:00 UTC|What is there?"
    )


@pytest.mark.demand("flows.llm_system_prompt_user")
def test_other_braces_are_text() -> None:
    text = '{"a": {"b": 1}} {output} {} { question } {question {unknown.path} {{x}} {%s} {0}'
    assert fill_template(text, make_variables()) == text


@pytest.mark.demand("flows.llm_system_prompt_user")
def test_what_a_value_brings_is_not_filled_in_again() -> None:
    assert (
        fill_template("{data} {question}", make_variables(before="{question}", question="{data}"))
        == "{question} {data}"
    )


@pytest.mark.demand("flows.llm_system_prompt_user")
@given(st.text(), st.text())
def test_any_text_stays_what_it_is(text: str, value: str) -> None:
    """Only known names change, and only into their values."""
    made = fill_template(text, lambda name: value if name == "data" else _raise_unknown(name))
    if "data" not in text:
        assert made == text
    else:
        assert made.count(value) >= text.count("{data}") - text.count("{{")


def _raise_unknown(name: str) -> Any:
    raise UnknownVariable(name)


def test_a_name_alone_keeps_its_type() -> None:
    assert fill_value(
        {"n": "{start.hosts[1].cpu}", "t": "{start.hosts[1].cpu} %", "l": ["{start.hosts.name}"]}, make_variables()
    ) == {"n": 0.9, "t": "0.9 %", "l": [["web-1", "db-1"]]}


@pytest.mark.demand("flows.llm_system_prompt_user")
def test_a_path_that_leads_nowhere_says_what_was_there() -> None:
    with pytest.raises(PathNotFound, match=r"no 'disk' in start.hosts\[0\]: there is an object with 'name', 'cpu'"):
        fill_template("{start.hosts[0].disk}", make_variables())
    with pytest.raises(PathNotFound, match="there is a list of 2"):
        fill_template("{start.hosts[2]}", make_variables())


def test_a_step_that_has_not_run_is_empty() -> None:
    made = StepVariables(make_context(STEP, make_services(), other_steps=(Step(name="other", kind="api"),)))
    assert fill_template("<{other}>", made) == "<>"


def test_a_choice_passes_on_what_was_before_it() -> None:
    passed = StepVariables(
        make_context(STEP, make_services(), outputs={"start": HOSTS, "pick": StepOutput("report", jump="report")})
    )
    assert passed("data") == HOSTS
    assert passed("pick") == "report"


def test_in_on_error_data_is_the_failure() -> None:
    assert make_variables(before="fine", failure="GET /x answered 500.")("data") == "GET /x answered 500."


@pytest.mark.demand("flows.llm_context_conversation_finished")
def test_the_context_is_the_conversation_and_the_steps() -> None:
    told = (
        text_message("user", "Hello"),
        text_message("assistant", "Hi there"),
        text_message("user", "What is there?"),
    )
    turn = Turn(messages=told, context=(AppContext("Page", "inventory"),))
    context = make_variables(turn=turn)("context")
    for part in ("user: Hello", "assistant: Hi there", "Page: inventory", 'start: {"hosts"'):
        assert part in context
    assert "What is there?" not in context


def test_names_with_dots_are_found_whole() -> None:
    step = Step(name="GET /a.b", kind="api")
    made = StepVariables(
        make_context(STEP, make_services(), outputs={"GET /a.b": {"x": 1}, "GET /a": 2}, other_steps=(step,))
    )
    assert made("GET /a.b.x") == 1


@each_case(
    ("path", "expected"),
    [
        ("hosts.name", ["web-1", "db-1"]),
        ("hosts[-1].name", "db-1"),
        ("hosts.0.name", "web-1"),
        ("hosts.length", 2),
        ('["a.b"]', 1),
        ("['a.b']", 1),
    ],
)
def test_paths(path: str, expected: Any) -> None:
    assert resolve_path(HOSTS, parse_path(path)) == expected


@each_case("path", ["a..b", "a[", "a[x]", ".", "a.", "[", "a]b"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(InvalidPath):
        parse_path(path)


def test_json_in_a_text_is_opened() -> None:
    assert decode_json_text('```json\n{"a": 1}\n```') == {"a": 1}
    assert decode_json_text(" [1, 2]") == [1, 2]
    assert decode_json_text("{not json") == "{not json"
    assert resolve_path({"inner": '{"a": {"b": 2}}'}, parse_path("inner.a.b")) == 2


def test_holes_are_told() -> None:
    assert list(iter_placeholders("{a} {{ b }} {c.d[0]}")) == ["a", "b", "c.d[0]"]


ZONES = (
    Turn(messages=(), context=(AppContext("The user's time zone", "Asia/Shanghai"),)),
    Turn(messages=(), client=TurnClient(forwarded=ForwardedProps(properties={"timezone": "Asia/Shanghai"}))),
    Turn(messages=(), client=TurnClient(forwarded=ForwardedProps(config={"timeZone": "Asia/Shanghai"}))),
    Turn(messages=(), context=(AppContext("用户时区", '"Asia/Shanghai"'),)),
)


@pytest.mark.demand("flows.llm_context_conversation_finished")
@pytest.mark.parametrize("turn", ZONES)
def test_the_time_is_the_users(turn: Turn) -> None:
    here = current_time(turn)
    assert (here.tzname(), here.utcoffset()) == ("CST", datetime.fromisoformat("2026-01-01T00:00:00+08:00").utcoffset())


@pytest.mark.demand("flows.llm_context_conversation_finished")
@each_case("zone", ["Mars/Base", "../etc/passwd", "", "Europe", "x" * 100, "\0"])
def test_what_is_no_zone_is_the_servers(zone: str) -> None:
    turn = Turn(messages=(), context=(AppContext("time zone", zone),))
    assert current_time(turn).utcoffset() == datetime.now().astimezone().utcoffset()


def test_the_time_has_its_zone_in_words() -> None:
    assert StepVariables(make_context(STEP, make_services(now=lambda turn: NOW)))("time") == "2026-11-15 10:00:00 UTC"
