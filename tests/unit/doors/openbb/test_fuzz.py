"""Random and mutated queries: never a 5xx, never a broken frame, and the next request works."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.test_doors import VALUES, Bench, bench, many, mutated
from tests.kit.client import Head
from tests.unit.doors.openbb.client import LISTED, PRICE, SEARCH, WIDGETS, item, read

pytestmark = pytest.mark.io
__all__ = ["bench"]

CALL = {"function": "get_widget_data", "input_arguments": {"widget_uuid": PRICE}}
SOURCE = {"widget_uuid": PRICE, "origin": "OpenBB API", "id": "historical_price", "input_args": {"symbol": "A"}}
ASKED = {"function": "get_widget_data", "input_arguments": {"data_sources": [SOURCE]}}
DUE = {"id": f"call_{'0' * 24}_1", "name": "price", "arguments": {"symbol": "A"}}
LATER = {"id": "c2", "name": "ratios", "arguments": {}}
STATE = {"calls": [DUE], "later": [LATER], "seen": ["x"], "timezone": "UTC", "urls": ["http://127.0.0.1:9/"]}
SKILL = {"slug": "s", "description": "d", "contentMarkdown": "m"}
OLD: dict[str, Any] = {
    "messages": [
        {"role": "human", "content": "look"},
        {"role": "ai", "content": json.dumps({**CALL, "copilot_function_call_arguments": {"rightseat": STATE}})},
        {"role": "tool", "function": "get_widget_data", "content": "", "data": {"content": "[1]"}},
    ],
    "context": [{"uuid": PRICE, "name": "n", "description": "d", "data": {"content": [1]}, "metadata": {"a": 1}}],
    "widgets": LISTED,
}
TODAY: dict[str, Any] = {
    "messages": [
        {"role": "human", "content": "look"},
        {"role": "ai", "content": ASKED},
        {"role": "tool", **ASKED, "data": [item("x", data_type="object")], "extra_state": {"rightseat": STATE}},
        {"role": "human", "content": "add"},
    ],
    "context": [{"name": "n", "data": {"items": [{"content": "a,b", "data_format": {"data_type": "csv"}}]}}],
    "widgets": WIDGETS,
    "tools": [SEARCH],
    "timezone": "UTC",
    "workspace_state": {"current_dashboard_info": {"name": "d", "tabs": [{"tab_id": "t", "widgets": [{"name": "w"}]}]}},
    "selected_skills": [SKILL],
    "skills_catalog": [SKILL],
}
eras = pytest.mark.parametrize("valid", [OLD, TODAY], ids=["2024", "today"])


def check(bench: Bench, data: bytes, path: str = "/v1/query") -> bytes:
    answer = bench.ask(path, data)
    assert answer.status < 500, answer.body
    assert b"(internal)" not in answer.body, answer.body
    if answer.status == 200:
        head = Head(200, {"content-type": "text/event-stream"})
        old = b'"copilot_function_call_arguments":' in answer.body and b'"extra_state":' not in answer.body
        read(head, answer.body.decode(), old=old)
    bench.works()
    return answer.body


@many
@given(value=VALUES)
def test_any_json(bench: Bench, value: Any) -> None:
    check(bench, json.dumps(value).encode("utf-8", "surrogatepass"))


@pytest.mark.demand("openbb.bad_input_recorded_case")
@many
@given(value=VALUES)
def test_any_messages(bench: Bench, value: Any) -> None:
    check(bench, json.dumps({"messages": [value, {"role": "human", "content": "add"}]}).encode())


@pytest.mark.demand("openbb.bad_input_recorded_case")
@eras
@many
@given(data=st.data())
def test_a_valid_query_that_was_mutated(bench: Bench, valid: dict[str, Any], data: st.DataObject) -> None:
    check(bench, json.dumps(data.draw(mutated(valid))).encode())


@eras
@many
@given(cut=st.integers(0, 3000), junk=st.binary(max_size=6), length=st.integers(0, 8))
def test_broken_bytes(bench: Bench, valid: dict[str, Any], cut: int, junk: bytes, length: int) -> None:
    whole = json.dumps(valid).encode()
    at = cut % len(whole)
    check(bench, whole[:at] + junk + whole[at + length :])


@pytest.mark.demand("openbb.bad_input_recorded_case")
@many
@given(result=VALUES, state=VALUES)
def test_any_result_and_state(bench: Bench, result: Any, state: Any) -> None:
    tool = {"role": "tool", **ASKED, "data": result, "extra_state": {"rightseat": state}}
    check(bench, json.dumps({**TODAY, "messages": [*TODAY["messages"][:2], tool]}).encode())


@eras
def test_the_valid_queries_are_valid(bench: Bench, valid: dict[str, Any]) -> None:
    assert b"event: copilot" in check(bench, json.dumps(valid).encode())
