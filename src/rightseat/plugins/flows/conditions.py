"""Conditions evaluated without a model: `{path: start.count, above: 3}`, `all`, `any`, `not`.

Comparisons are typed: text is not a number, and incomparable values are an error, not false. If the path does
not exist, every comparison except `exists: false` is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from rightseat.documents.json import encode_json
from rightseat.errors import CallerError
from rightseat.plugins.flows.paths import InvalidPath, PathNotFound, describe_value, parse_path
from rightseat.plugins.flows.step_context import StepError
from rightseat.plugins.flows.templates import UnknownVariable, VariableLookup, fill_value
from rightseat.types.schema import get_validator

MAX_DEPTH = 20
PATH = "path"
ALL, ANY, NOT = "all", "any", "not"
TYPE_TESTS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "text": lambda value: isinstance(value, str),
    "number": lambda value: is_number(value),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "empty": lambda value: value is None or value in ("", [], {}),
}


class InvalidCondition(StepError):
    """The value is not a condition. The message says what to write."""


class Condition(Struct, frozen=True):
    """A comparison of the value at `path`, or `all`, `any` or `not` of `parts`."""

    operator: str
    path: str = ""
    value: Any = None
    parts: tuple[Condition, ...] = ()


def parse_condition(value: Any, depth: int = 0) -> Condition:
    """Parse a condition of a flow file; raise InvalidCondition if it is none."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        raise InvalidCondition("A condition is {path: …, equals: …}, or has all, any or not.")
    word = next((word for word in (ALL, ANY, NOT) if word in value), None)
    if word is None:
        return parse_comparison(value)
    if len(value) > 1:
        raise InvalidCondition(f"{word!r} must be the only key. Put the other keys into an `all`.")
    parts = [value[NOT]] if word == NOT else value[word]
    if not isinstance(parts, list) or not parts:
        raise InvalidCondition(f"{word!r} takes a list of conditions.")
    return Condition(word, parts=tuple(parse_condition(part, depth + 1) for part in parts))


def parse_comparison(comparison: dict[str, Any]) -> Condition:
    path = comparison.get(PATH)
    operators = [str(name) for name in comparison if name != PATH]
    if not isinstance(path, str) or not path or len(operators) != 1 or operators[0] not in OPERATORS:
        raise InvalidCondition(f"A test has a path and one of {', '.join(OPERATORS)}.")
    try:
        parse_path(path)
    except InvalidPath as error:
        raise InvalidCondition(str(error)) from None
    [operator] = operators
    value = comparison[operator]
    if operator == "is" and (value is None or isinstance(value, bool)):
        # YAML reads the type names in `is: null` and `is: true` as values.
        value = encode_json(value)
    if problem := check_operand(operator, value):
        raise InvalidCondition(f"{operator} {problem}.")
    return Condition(operator, path, value)


def check_operand(operator: str, value: Any) -> str | None:
    """Return what is wrong with an operator's operand; None if nothing is."""
    if operator == "is" and value not in TYPE_TESTS:
        return f"takes one of {', '.join(TYPE_TESTS)}"
    if operator == "exists" and not isinstance(value, bool):
        return "takes true or false"
    if operator == "in" and not isinstance(value, str | list):
        return "takes a list"
    if operator == "matches":
        try:
            get_validator({"pattern": value})
        except CallerError:
            return "takes a regular expression"
    return None


def iter_paths(condition: Condition) -> Iterator[str]:
    if condition.path:
        yield condition.path
    for part in condition.parts:
        yield from iter_paths(part)


def evaluate_condition(condition: Condition, find: VariableLookup) -> bool:
    results = (evaluate_condition(part, find) for part in condition.parts)
    match condition.operator:
        case "all":
            return all(results)
        case "any":
            return any(results)
        case "not":
            return not next(results)
        case _:
            return evaluate_comparison(condition, find)


def evaluate_comparison(comparison: Condition, find: VariableLookup) -> bool:
    path, operator, expected = comparison.path, comparison.operator, comparison.value
    try:
        value = find(path)
    except (PathNotFound, UnknownVariable):
        return operator == "exists" and expected is False
    if operator == "exists":
        return bool(expected)
    if operator == "is":
        return TYPE_TESTS[expected](value)
    try:
        return OPERATORS[operator](value, fill_value(expected, find))
    except IncomparableValues as error:
        raise StepError(f"The condition {path} {operator} cannot be decided: {error}") from None


class IncomparableValues(Exception):
    """The operator cannot compare these two values."""


def is_equal(value: Any, expected: Any) -> bool:
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(is_equal(value[key], expected[key]) for key in value)
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(is_equal, value, expected))
    return bool(value == expected)


def compare_values(value: Any, expected: Any) -> int:
    """Compare two numbers or two dates; return -1, 0 or 1."""
    if is_number(value) and is_number(expected):
        return int(value > expected) - int(value < expected)
    first, second = parse_datetime(value), parse_datetime(expected)
    if first is None or second is None:
        raise IncomparableValues(
            f"{describe_value(value)} and {describe_value(expected)} are not two numbers, nor two dates."
        )
    return (first > second) - (first < second)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def parse_datetime(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def contains(value: Any, expected: Any) -> bool:
    match value:
        case str() if isinstance(expected, str):
            return expected.casefold() in value.casefold()
        case list():
            return any(is_equal(one, expected) for one in value)
        case dict() if isinstance(expected, str):
            return expected in value
        case _:
            raise IncomparableValues(f"{describe_value(value)} cannot contain {describe_value(expected)}.")


def matches(value: Any, expected: Any) -> bool:
    """Match with a regex engine that bounds its time: the value is untrusted."""
    if not isinstance(value, str) or not isinstance(expected, str):
        raise IncomparableValues(f"{describe_value(value)} is not a text.")
    return get_validator({"pattern": expected}).find_problem(value) is None


def is_in(value: Any, expected: Any) -> bool:
    if not isinstance(expected, list):
        raise IncomparableValues(f"{describe_value(expected)} is not a list.")
    return any(is_equal(value, one) for one in expected)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "is": is_equal,
    "equals": is_equal,
    "above": lambda value, expected: compare_values(value, expected) > 0,
    "below": lambda value, expected: compare_values(value, expected) < 0,
    "contains": contains,
    "matches": matches,
    "exists": is_equal,
    "in": is_in,
}
