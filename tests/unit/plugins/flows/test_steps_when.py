"""Conditions: read, typed, decided."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.plugins.flows.conditions import (
    InvalidCondition,
    evaluate_condition,
    is_equal,
    iter_paths,
    parse_condition,
)
from rightseat.plugins.flows.paths import parse_path, resolve_path
from rightseat.plugins.flows.step_context import StepError
from tests.kit.cases import each_case

DATA: dict[str, Any] = {
    "count": 3,
    "name": "Web-1",
    "up": True,
    "none": None,
    "tags": ["a", "b"],
    "load": {"cpu": 0.5},
    "day": "2026-11-15",
    "at": "2026-11-15T12:00:00+02:00",
    "nothing": [],
}


def resolve(path: str) -> Any:
    return resolve_path(DATA, parse_path(path))


def evaluate(condition: Any) -> bool:
    return evaluate_condition(parse_condition(condition), resolve)


@pytest.mark.demand("flows.choice_model_picks_among")
@each_case(
    ("test", "expected"),
    [
        ({"path": "count", "equals": 3}, True),
        ({"path": "count", "equals": 3.0}, True),
        ({"path": "count", "equals": "3"}, False),
        ({"path": "up", "equals": 1}, False),
        ({"path": "up", "equals": True}, True),
        ({"path": "count", "above": 2}, True),
        ({"path": "count", "above": 3}, False),
        ({"path": "count", "below": 3.5}, True),
        ({"path": "day", "above": "2026-11-14"}, True),
        ({"path": "at", "below": "2026-11-15T11:00:00+00:00"}, True),
        ({"path": "name", "contains": "web"}, True),
        ({"path": "tags", "contains": "b"}, True),
        ({"path": "tags", "contains": "B"}, False),
        ({"path": "load", "contains": "cpu"}, True),
        ({"path": "name", "matches": "^Web-[0-9]+$"}, True),
        ({"path": "name", "matches": "^web"}, False),
        ({"path": "name", "in": ["Web-1", "Web-2"]}, True),
        ({"path": "count", "in": [1, 2]}, False),
        ({"path": "count", "exists": True}, True),
        ({"path": "lost", "exists": True}, False),
        ({"path": "lost", "exists": False}, True),
        ({"path": "lost.deep", "equals": 1}, False),
        ({"path": "none", "is": None}, True),
        ({"path": "none", "exists": True}, True),
        ({"path": "up", "is": True}, True),
        ({"path": "up", "is": "false"}, False),
        ({"path": "count", "is": "number"}, True),
        ({"path": "up", "is": "number"}, False),
        ({"path": "nothing", "is": "empty"}, True),
        ({"path": "tags", "is": "list"}, True),
        ({"path": "tags.length", "above": 1}, True),
        ({"path": "load", "equals": {"cpu": 0.5}}, True),
        ({"all": [{"path": "up", "is": True}, {"path": "count", "above": 2}]}, True),
        ({"any": [{"path": "up", "is": False}, {"path": "count", "above": 2}]}, True),
        ({"not": {"path": "up", "is": True}}, False),
    ],
)
def test_every_operator(test: Any, expected: bool) -> None:
    assert evaluate(test) is expected


def test_a_value_may_be_another_step() -> None:
    assert evaluate_condition(parse_condition({"path": "count", "equals": "{count}"}), resolve)


@pytest.mark.demand("flows.choice_model_picks_among")
@each_case(
    "test",
    [
        {"path": "name", "above": 3},
        {"path": "count", "above": "many"},
        {"path": "count", "contains": 3},
        {"path": "count", "matches": "3"},
        {"path": "up", "below": 2},
        {"path": "count", "in": "{name}"},
    ],
)
def test_what_cannot_be_compared_is_an_error_and_no_no(test: Any) -> None:
    with pytest.raises(StepError, match="cannot be decided"):
        evaluate(test)


def test_what_comes_first_guards_what_follows() -> None:
    assert not evaluate({"all": [{"path": "name", "is": "number"}, {"path": "name", "above": 3}]})


@pytest.mark.demand("flows.choice_model_picks_among")
@each_case(
    "given",
    [
        None,
        [],
        "count > 3",
        {},
        {"path": "count"},
        {"path": "count", "above": 1, "below": 5},
        {"path": "count", "bigger": 1},
        {"path": "", "equals": 1},
        {"path": "a..b", "equals": 1},
        {"path": "a", "is": "huge"},
        {"path": "a", "exists": "yes"},
        {"path": "a", "in": 3},
        {"path": "a", "matches": "("},
        {"path": "a", "matches": 3},
        {"all": []},
        {"any": {"path": "a", "equals": 1}},
        {"all": [{"path": "a", "equals": 1}], "path": "b"},
        {"not": [1]},
    ],
)
def test_what_is_no_condition_says_what_to_write(given: Any) -> None:
    with pytest.raises(InvalidCondition, match=r"\w+ \w+"):
        parse_condition(given)


def test_a_condition_cannot_be_nested_for_ever() -> None:
    made: Any = {"path": "a", "equals": 1}
    for _ in range(10_000):
        made = {"not": made}
    with pytest.raises(InvalidCondition):
        parse_condition(made)


@pytest.mark.demand("flows.choice_model_picks_among")
def test_a_pattern_cannot_hold_up_the_server() -> None:
    """What backtracks for ever in Python gives up here."""
    assert not evaluate_condition(parse_condition({"path": "x", "matches": "^(a+)+$"}), lambda path: "a" * 5000 + "b")


def test_its_paths_are_told() -> None:
    made = parse_condition({"all": [{"path": "a", "equals": 1}, {"not": {"any": [{"path": "b.c", "exists": True}]}}]})
    assert list(iter_paths(made)) == ["a", "b.c"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_equality_is_an_equality(one: Any, other: Any) -> None:
    assert is_equal(one, one)
    assert is_equal(one, other) == is_equal(other, one)
