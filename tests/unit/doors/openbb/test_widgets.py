"""Widgets and MCP tools as the model sees them."""

from collections.abc import Container
from datetime import UTC, datetime
from typing import Any

import pytest

from rightseat.doors.openbb.tool_selection import select_tools
from rightseat.doors.openbb.wire import OpenBBQuery
from rightseat.doors.openbb.workspace_tools import WorkspaceTool, collect_tools, make_parameter_schema, slugify
from rightseat.types.schema import get_validator
from tests.kit.cases import each_case
from tests.unit.doors.openbb.client import LEGACY_WIDGETS, MCP_TOOL, PRICE_UUID, WIDGETS

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)


def offer_tools(query: OpenBBQuery, reserved: Container[str] = ()) -> dict[str, WorkspaceTool]:
    return select_tools(query, collect_tools(query, NOW, reserved), reserved=reserved).tools


PARAMS: list[tuple[dict[str, Any], Any, dict[str, Any]]] = [
    ({"type": "ticker", "description": "d"}, "A", {"type": "string", "description": "d", "default": "A"}),
    ({"type": "number"}, 1.5, {"type": "number", "default": 1.5}),
    ({"type": "integer"}, "5", {"type": "integer", "default": 5}),
    ({"type": "number"}, "nan", {"type": "number"}),
    ({"type": "integer"}, "five", {"type": "integer"}),
    ({"type": "number"}, "0.5", {"type": "number", "default": 0.5}),
    ({"type": "boolean"}, "true", {"type": "boolean", "default": True}),
    ({"type": "number", "options": ["1", "2"]}, "2", {"enum": ["1", "2"], "default": "2"}),
    ({"type": "integer"}, True, {"type": "integer"}),
    ({"type": "boolean"}, False, {"type": "boolean", "default": False}),
    ({"type": "form"}, {"a": 1}, {"type": "string"}),
    ({}, None, {"type": "string"}),
    (
        {"type": "date"},
        "2024-01-01",
        {"type": "string", "description": "(a date, YYYY-MM-DD)", "default": "2024-01-01"},
    ),
    ({"type": "text", "options": ["1d", "1w"]}, "1m", {"type": "string", "enum": ["1d", "1w", "1m"], "default": "1m"}),
    (
        {"type": "text", "options": [{"label": "Day", "value": "1d"}]},
        None,
        {"type": "string", "enum": ["1d"], "description": "(1d: Day)"},
    ),
    (
        {
            "type": "ticker",
            "description": "Share",
            "options": [{"label": "腾讯", "value": "0700"}, {"label": "aapl", "value": "AAPL"}, {"value": "MSFT"}],
        },
        None,
        {"type": "string", "enum": ["0700", "AAPL", "MSFT"], "description": "Share (0700: 腾讯)"},
    ),
    ({"type": "text", "options": [1, "a"]}, None, {"enum": [1, "a"]}),
    ({"type": "endpoint", "options": ["a"], "get_options": True}, "b", {"type": "string", "default": "b"}),
    ({"type": "text", "multi_select": True}, "a", {"type": "array", "items": {"type": "string"}, "default": ["a"]}),
    ({"type": "text", "multi_select": True}, ["a"], {"type": "array", "items": {"type": "string"}, "default": ["a"]}),
    (
        {"type": "text", "multi_select": True, "options": ["a", "b", "c,d"]},
        "b, a",
        {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c,d"]}, "default": ["b", "a"]},
    ),
    (
        {"type": "text", "multi_select": True, "options": ["a", "c,d"]},
        "c,d",
        {"type": "array", "items": {"type": "string", "enum": ["a", "c,d"]}, "default": ["c,d"]},
    ),
]


@pytest.mark.demand("openbb.widgets_become_client_tools")
@each_case(("param", "value", "schema"), PARAMS)
def test_a_parameter_as_json_schema(param: dict[str, Any], value: Any, schema: dict[str, Any]) -> None:
    made = make_parameter_schema({"name": "x", **param}, value)
    assert made == schema
    get_validator({"type": "object", "properties": {"x": made}})


@pytest.mark.demand("openbb.widgets_become_client_tools")
def test_a_tool_says_what_the_widget_shows() -> None:
    found = offer_tools(OpenBBQuery(messages=[], widgets=WIDGETS, tools=[MCP_TOOL]))
    assert list(found) == ["price", "ratios", "news", "docs_search", "get_parameter_options"]
    about = found["price"].spec.description
    for fact in ("Price", "Prices of a share", "FMP", "date, close"):
        assert fact in about
    assert "1763160000000" not in about, "what changes with every look spoils a prompt that is kept"
    assert (
        "AAPL"
        in offer_tools(OpenBBQuery(messages=[], widgets=LEGACY_WIDGETS))["historical_stock_price"].spec.description
    )


@pytest.mark.demand("openbb.widgets_become_client_tools")
def test_a_value_is_the_present_one_else_the_first_that_is_set() -> None:
    params = [
        {"name": "a", "current_value": "now", "default_value": "d", "executed_value": "ran"},
        {"name": "b", "current_value": None, "default_value": "d", "executed_value": "ran"},
        {"name": "c", "default_value": "<<UNDEFINED>>", "executed_value": "ran"},
        {"name": "d", "default_value": "<<UNDEFINED>>"},
        {"name": "e", "type": "integer", "current_value": "5"},
    ]
    widget = {"origin": "o", "widget_id": "w", "name": "W", "params": params}
    source = offer_tools(OpenBBQuery(messages=[], widgets={"primary": [widget]}))["w"].to_client_arguments({})
    assert source["input_args"] == {"a": "now", "b": "d", "c": "ran", "e": "5"}


def test_arguments_that_the_widget_does_not_have_are_left_out() -> None:
    price = offer_tools(OpenBBQuery(messages=[], widgets=WIDGETS))["price"]
    source = price.to_client_arguments({"symbol": "B", "other": 1})
    assert source["input_args"] == {"symbol": "B", "interval": "1d"}


@pytest.mark.parametrize(
    ("name", "made"), [("Historical  Stock-Price!", "historical_stock_price"), ("汉字", ""), ("_a_", "a")]
)
def test_names_that_models_can_write(name: str, made: str) -> None:
    assert slugify(name) == made


def test_names_are_never_the_same_and_never_empty() -> None:
    twice = [{"uuid": f"{PRICE_UUID[:-1]}{n}", "name": name} for n, name in enumerate(["A", "a", "汉字", "汉字"])]
    names = list(offer_tools(OpenBBQuery(messages=[], widgets=twice), reserved={"a"}))
    assert names[:2] == ["a_2", "a_3"]
    assert len(set(names)) == 4
    assert all(names)
