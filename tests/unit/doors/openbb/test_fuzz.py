"""Random and mutated queries: never a 5xx, never a broken frame, and the next request works."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.test_doors import VALUES, FuzzTarget, fuzz_target, many_examples, mutate_value
from tests.kit.client import ResponseHead
from tests.unit.doors.openbb.client import LEGACY_WIDGETS, MCP_TOOL, PRICE_UUID, WIDGETS, make_result_item, parse_answer

pytestmark = pytest.mark.io
__all__ = ["fuzz_target"]

CALL = {"function": "get_widget_data", "input_arguments": {"widget_uuid": PRICE_UUID}}
SOURCE = {"widget_uuid": PRICE_UUID, "origin": "OpenBB API", "id": "historical_price", "input_args": {"symbol": "A"}}
CURRENT_CALL = {"function": "get_widget_data", "input_arguments": {"data_sources": [SOURCE]}}
DUE_CALL = {"id": f"call_{'0' * 24}_1", "name": "price", "arguments": {"symbol": "A"}}
LATER_CALL = {"id": "c2", "name": "ratios", "arguments": {}}
STATE = {"calls": [DUE_CALL], "later": [LATER_CALL], "seen": ["x"], "timezone": "UTC", "urls": ["http://127.0.0.1:9/"]}
SKILL = {"slug": "s", "description": "d", "contentMarkdown": "m"}
LEGACY_REQUEST: dict[str, Any] = {
    "messages": [
        {"role": "human", "content": "look"},
        {"role": "ai", "content": json.dumps({**CALL, "copilot_function_call_arguments": {"rightseat": STATE}})},
        {"role": "tool", "function": "get_widget_data", "content": "", "data": {"content": "[1]"}},
    ],
    "context": [{"uuid": PRICE_UUID, "name": "n", "description": "d", "data": {"content": [1]}, "metadata": {"a": 1}}],
    "widgets": LEGACY_WIDGETS,
}
CURRENT_REQUEST: dict[str, Any] = {
    "messages": [
        {"role": "human", "content": "look"},
        {"role": "ai", "content": CURRENT_CALL},
        {
            "role": "tool",
            **CURRENT_CALL,
            "data": [make_result_item("x", data_type="object")],
            "extra_state": {"rightseat": STATE},
        },
        {"role": "human", "content": "add"},
    ],
    "context": [{"name": "n", "data": {"items": [{"content": "a,b", "data_format": {"data_type": "csv"}}]}}],
    "widgets": WIDGETS,
    "tools": [MCP_TOOL],
    "timezone": "UTC",
    "workspace_state": {"current_dashboard_info": {"name": "d", "tabs": [{"tab_id": "t", "widgets": [{"name": "w"}]}]}},
    "selected_skills": [SKILL],
    "skills_catalog": [SKILL],
}
over_clients = pytest.mark.parametrize("valid", [LEGACY_REQUEST, CURRENT_REQUEST], ids=["2024", "today"])


def check_answer(target: FuzzTarget, data: bytes, path: str = "/v1/query") -> bytes:
    answer = target.post(path, data)
    assert answer.status < 500, answer.body
    assert b"(internal)" not in answer.body, answer.body
    if answer.status == 200:
        head = ResponseHead(200, {"content-type": "text/event-stream"})
        old = b'"copilot_function_call_arguments":' in answer.body and b'"extra_state":' not in answer.body
        parse_answer(head, answer.body.decode(), legacy=old)
    target.assert_works()
    return answer.body


@many_examples
@given(value=VALUES)
def test_any_json(fuzz_target: FuzzTarget, value: Any) -> None:
    check_answer(fuzz_target, json.dumps(value).encode("utf-8", "surrogatepass"))


@pytest.mark.demand("openbb.bad_input_recorded_case")
@many_examples
@given(value=VALUES)
def test_any_messages(fuzz_target: FuzzTarget, value: Any) -> None:
    check_answer(fuzz_target, json.dumps({"messages": [value, {"role": "human", "content": "add"}]}).encode())


@pytest.mark.demand("openbb.bad_input_recorded_case")
@over_clients
@many_examples
@given(data=st.data())
def test_a_valid_query_that_was_mutated(fuzz_target: FuzzTarget, valid: dict[str, Any], data: st.DataObject) -> None:
    check_answer(fuzz_target, json.dumps(data.draw(mutate_value(valid))).encode())


@over_clients
@many_examples
@given(cut=st.integers(0, 3000), junk=st.binary(max_size=6), length=st.integers(0, 8))
def test_broken_bytes(fuzz_target: FuzzTarget, valid: dict[str, Any], cut: int, junk: bytes, length: int) -> None:
    whole = json.dumps(valid).encode()
    at = cut % len(whole)
    check_answer(fuzz_target, whole[:at] + junk + whole[at + length :])


@pytest.mark.demand("openbb.bad_input_recorded_case")
@many_examples
@given(result=VALUES, state=VALUES)
def test_any_result_and_state(fuzz_target: FuzzTarget, result: Any, state: Any) -> None:
    tool = {"role": "tool", **CURRENT_CALL, "data": result, "extra_state": {"rightseat": state}}
    check_answer(
        fuzz_target, json.dumps({**CURRENT_REQUEST, "messages": [*CURRENT_REQUEST["messages"][:2], tool]}).encode()
    )


@over_clients
def test_the_valid_queries_are_valid(fuzz_target: FuzzTarget, valid: dict[str, Any]) -> None:
    assert b"event: copilot" in check_answer(fuzz_target, json.dumps(valid).encode())
