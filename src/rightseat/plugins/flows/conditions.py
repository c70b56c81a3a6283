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
from rightseat.plugins.flows.context import StepError
from rightseat.plugins.flows.paths import InvalidPath, PathNotFound, describe_value, parse_path
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


class Comparison(Struct, frozen=True):
    path: str
    operator: str
    value: Any


class AllOf(Struct, frozen=True):
    parts: tuple[Condition, ...]


class AnyOf(Struct, frozen=True):
    parts: tuple[Condition, ...]


class Negation(Struct, frozen=True):
    part: Condition


Condition = Comparison | AllOf | AnyOf | Negation


def parse_condition(value: Any, depth: int = 0) -> Condition:
    """Parse a condition of a flow file; raise InvalidCondition if it is none."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        raise InvalidCondition("A condition is {path: …, equals: …}, or has all, any or not.")
    words = [word for word in (ALL, ANY, NOT) if word in value]
    if not words:
        return parse_comparison(value)
    if len(value) > 1:
        raise InvalidCondition(f"{words[0]!r} must be the only key. Put the other keys into an `all`.")
    inner = value[words[0]]
    if words[0] == NOT:
        return Negation(parse_condition(inner, depth + 1))
    if not isinstance(inner, list) or not inner:
        raise InvalidCondition(f"{words[0]!r} takes a list of conditions.")
    parts = tuple(parse_condition(one, depth + 1) for one in inner)
    return AllOf(parts) if words[0] == ALL else AnyOf(parts)


def parse_comparison(value_map: dict[str, Any]) -> Comparison:
    path = value_map.get(PATH)
    operators = [str(name) for name in value_map if name != PATH]
    if not isinstance(path, str) or not path or len(operators) != 1 or operators[0] not in OPERATORS:
        raise InvalidCondition(f"A test has a path and one of {', '.join(OPERATORS)}.")
    try:
        parse_path(path)
    except InvalidPath as error:
        raise InvalidCondition(str(error)) from None
    [operator] = operators
    value = normalize_type_name(value_map[operator]) if operator == "is" else value_map[operator]
    if problem := check_operand(operator, value):
        raise InvalidCondition(f"{operator} {problem}.")
    return Comparison(path, operator, value)


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


def normalize_type_name(value: Any) -> Any:
    """Return the type name as text: YAML reads `is: null` and `is: true` as values."""
    return encode_json(value) if value is None or isinstance(value, bool) else value


def iter_paths(condition: Condition) -> Iterator[str]:
    match condition:
        case Comparison(path=path):
            yield path
        case Negation(part):
            yield from iter_paths(part)
        case AllOf(parts) | AnyOf(parts):
            for one in parts:
                yield from iter_paths(one)


def evaluate_condition(condition: Condition, find: VariableLookup) -> bool:
    match condition:
        case AllOf(parts):
            return all(evaluate_condition(one, find) for one in parts)
        case AnyOf(parts):
            return any(evaluate_condition(one, find) for one in parts)
        case Negation(part):
            return not evaluate_condition(part, find)
        case Comparison(path, operator, expected):
            return evaluate_comparison(path, operator, expected, find)


def evaluate_comparison(path: str, operator: str, expected: Any, find: VariableLookup) -> bool:
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


def is_above(value: Any, expected: Any) -> bool:
    return compare_values(value, expected) > 0


def is_below(value: Any, expected: Any) -> bool:
    return compare_values(value, expected) < 0


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
    "above": is_above,
    "below": is_below,
    "contains": contains,
    "matches": matches,
    "exists": is_equal,
    "in": is_in,
}
