"""Patterns bind the whole value, and numbers too: as keywords where there are any, else in code."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.plugins.openapi.patterns import number_keywords
from rightseat.plugins.value_patterns import VALUE_PATTERN, check_value_patterns, strip_anchors
from rightseat.types.schema import get_validator
from tests.kit.cases import each_case
from tests.unit.plugins.folders import load_schema

KEYWORDS = [
    ("2", {"const": 2}),
    ("[1-9][0-9]?", {"minimum": 1, "maximum": 99}),
    (r"\d{1,3}", {"minimum": 0, "maximum": 999}),
    (r"^\d{10}$", {"minimum": 10**9, "maximum": 10**10 - 1}),
    (r"\d+", {"minimum": 0}),
    (r"[1-9]\d*", {"minimum": 1}),
    (r"2\d{3}", {"minimum": 2000, "maximum": 2999}),
    ("1|2|3", {"minimum": 1, "maximum": 3}),
    ("(1|10|100)", {"enum": [1, 10, 100]}),
    ("[13579]", {"enum": [1, 3, 5, 7, 9]}),
    (r"[1-9]\d{0,2}|1000", {"minimum": 1, "maximum": 1000}),
    (r"-[1-9]", {"minimum": -9, "maximum": -1}),
    (r"-?\d+", {}),
]
SEARCHED = [*range(-120, 1300), 1999, 2000, 2999, 3000, 9999, 10**9, 10**10 - 1, 10**10]


@pytest.mark.demand("llamacpp.json_schema_2020_12", "plugins.arguments_honour_schema_exactly")
@each_case(("pattern", "keywords"), KEYWORDS)
def test_a_pattern_of_an_integer_is_a_range_or_a_list(pattern: str, keywords: dict[str, Any]) -> None:
    assert number_keywords(pattern, fractions=False) == keywords
    check = get_validator({"type": "integer", **keywords})
    for number in SEARCHED:
        assert (check.find_problem(number) is None) == bool(re.fullmatch(strip_anchors(pattern), str(number))), number


@pytest.mark.demand("llamacpp.json_schema_2020_12", "plugins.arguments_honour_schema_exactly")
@given(st.from_regex(r"\A(-\?)?(([0-9]|\[[0-9]-[0-9]\]|\\d)(\?|\{[0-3],[1-4]\}|\{[1-5]\})?){1,3}\Z"))
def test_whatever_the_keywords_they_take_the_same_numbers(pattern: str) -> None:
    keywords = number_keywords(pattern, fractions=False)
    if VALUE_PATTERN in keywords:
        return
    check = get_validator({"type": "integer", **keywords})
    for number in SEARCHED:
        assert (check.find_problem(number) is None) == bool(re.fullmatch(pattern, str(number))), (pattern, number)


def test_a_number_of_digits_only_is_an_integer(tmp_path: Path) -> None:
    made = load_schema(tmp_path, {"type": "number", "pattern": r"\d{2}"})
    assert made == {"type": "integer", "minimum": 10, "maximum": 99}


@pytest.mark.demand("plugins.arguments_honour_schema_exactly")
def test_other_patterns_of_numbers_are_checked_in_code(tmp_path: Path) -> None:
    made = load_schema(tmp_path, {"type": "number", "pattern": r"\d+\.\d{2}"})
    assert made == {"type": "number", VALUE_PATTERN: r"\d+\.\d{2}"}
    schema = {
        "type": "object",
        "properties": {"a": made, "b": {"type": "array", "items": {"$ref": "#/$defs/M"}}},
        "$defs": {"M": {"type": "object", "properties": {"c": made}}},
    }
    assert check_value_patterns(schema, {"a": 1.25, "b": [{"c": 10.01}], "other": 3}) is None
    assert check_value_patterns(schema, {"a": 1.555}) == r"a: 1.555 does not match the pattern \d+\.\d{2}"
    # 1.50 as it is read.
    assert check_value_patterns(schema, {"a": 1.5}) is None
    assert (check_value_patterns(schema, {"b": [{"c": 2.22}, {"c": 7.125}]}) or "").startswith("b[1].c: 7.125 ")
    assert check_value_patterns(schema, {"a": True, "b": None}) is None


@pytest.mark.parametrize("pattern", ["(a+)+$", r"(\d{1,9}){1,9}", r"((\d*)*)*", "x{2}", r"\d{1,99}" * 60])
def test_a_pattern_that_could_take_long_is_not_tried_on_numbers(tmp_path: Path, pattern: str) -> None:
    assert VALUE_PATTERN not in load_schema(tmp_path, {"type": "integer", "pattern": pattern})


@pytest.mark.demand("plugins.arguments_honour_schema_exactly")
@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ({"pattern": "[a-z]{1,20}"}, "^(?:[a-z]{1,20})$"),
        ({"pattern": "a|b"}, "^(?:a|b)$"),
        ({"pattern": "^[a-z]+$"}, "^[a-z]+$"),
        ({"pattern": "^[a-z]+"}, "^[a-z]+"),
        ({"pattern": r"\S", "example": "two words"}, r"\S"),
        ({"pattern": 5}, "^(?:5)$"),
    ],
)
def test_a_pattern_of_a_text_binds_all_of_it(tmp_path: Path, schema: dict[str, Any], pattern: str) -> None:
    assert load_schema(tmp_path, {"type": "string", **schema})["pattern"] == pattern


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "(("},
        {"type": "boolean", "pattern": "yes|no"},
        {"type": "boolean", "pattern": "true|false"},
        {"type": "null", "pattern": "a"},
        {"type": "string", "pattern": ""},
    ],
)
def test_a_pattern_that_cannot_be_used_is_passed_over(tmp_path: Path, schema: dict[str, Any]) -> None:
    assert load_schema(tmp_path, schema) == {"type": schema["type"]}


TEXTS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.demand("plugins.arguments_honour_schema_exactly")
@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": "boolean", "pattern": "true"}, [True], [False]),
        ({"type": "boolean", "pattern": "^f.*$"}, [False], [True]),
        ({"type": "boolean", "pattern": "true", "nullable": True}, [True, None], [False]),
        ({**TEXTS, "pattern": "[a-z]{2}"}, [[], ["ab"], ["ab", "cd"]], [["a"], ["ab", "c"]]),
        ({"type": "array", "pattern": "[a-z]{2}"}, [["ab"]], [["abc"]]),
        ({"type": "array", "items": {"type": "integer"}, "pattern": r"[1-9]\d?"}, [[1, 99]], [[0], [100]]),
        (
            {"type": "array", "items": {"type": "string", "pattern": "a+"}, "pattern": "..?"},
            [["a", "aa"]],
            [["aaa"], ["b"]],
        ),
        ({"type": "array", "items": {"type": "boolean"}, "pattern": "true"}, [[True]], [[True, False]]),
        ({**TEXTS, "pattern": r'\["a"(,"b")?\]'}, [["a"], ["a", "b"]], [[], ["b"], ["a", "b", "c"]]),
        ({"type": "array", "items": {"type": "integer"}, "pattern": r"^\[\d, \d\]$"}, [[1, 2]], [[1], [10, 2]]),
        ({"type": "object", "pattern": r'\{"a":\d\}'}, [{"a": 1}], [{"a": 12}, {"b": 1}]),
    ],
)
def test_a_pattern_binds_any_type(tmp_path: Path, schema: dict[str, Any], valid: list[Any], invalid: list[Any]) -> None:
    whole = {"type": "object", "properties": {"x": load_schema(tmp_path, schema)}}

    def is_valid(value: Any) -> bool:
        return not (get_validator(whole).find_problem({"x": value}) or check_value_patterns(whole, {"x": value}))

    assert [value for value in valid if not is_valid(value)] == []
    assert [value for value in invalid if is_valid(value)] == []


def test_a_pattern_that_could_take_long_is_bounded_on_json(tmp_path: Path) -> None:
    made = load_schema(tmp_path, {**TEXTS, "pattern": r"\[(\"(a+)+\",?)+\]$"})
    schema = {"type": "object", "properties": {"x": made}}
    assert check_value_patterns(schema, {"x": ["a" * 5000 + "b"]}) is not None
