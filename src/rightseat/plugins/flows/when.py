"""Conditions evaluated without a model: `{path: start.count, above: 3}`, `all`, `any`, `not`.

Comparisons are typed: text is not a number, and incomparable values are an error, not false. If the path does
not exist, every comparison except `exists: false` is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from rightseat.documents.shape import written
from rightseat.errors import CallerError
from rightseat.plugins.flows.path import BadPath, Missing, keys, there
from rightseat.plugins.flows.stage import StepFailed
from rightseat.plugins.flows.template import Find, Unknown, value_of
from rightseat.types.schema import checker

MAX_DEPTH = 20
PATH = "path"
ALL, ANY, NOT = "all", "any", "not"
SHAPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "text": lambda value: isinstance(value, str),
    "number": lambda value: number(value),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "empty": lambda value: value is None or value in ("", [], {}),
}


class BadCondition(StepFailed):
    """The value is not a condition. The message says what to write."""


class Test(Struct, frozen=True):
    path: str
    operator: str
    value: Any


class Every(Struct, frozen=True):
    parts: tuple[Condition, ...]


class Some(Struct, frozen=True):
    parts: tuple[Condition, ...]


class Not(Struct, frozen=True):
    part: Condition


Condition = Test | Every | Some | Not


def read(given: Any, depth: int = 0) -> Condition:
    """Parse a condition of a flow file; raise InvalidCondition if it is none."""
    if not isinstance(given, dict) or depth > MAX_DEPTH:
        raise BadCondition("A condition is {path: …, equals: …}, or has all, any or not.")
    words = [word for word in (ALL, ANY, NOT) if word in given]
    if not words:
        return test(given)
    if len(given) > 1:
        raise BadCondition(f"{words[0]!r} stands alone. Put what is beside it into an all.")
    inner = given[words[0]]
    if words[0] == NOT:
        return Not(read(inner, depth + 1))
    if not isinstance(inner, list) or not inner:
        raise BadCondition(f"{words[0]!r} takes a list of conditions.")
    parts = tuple(read(one, depth + 1) for one in inner)
    return Every(parts) if words[0] == ALL else Some(parts)


def test(given: dict[str, Any]) -> Test:
    path = given.get(PATH)
    operators = [str(name) for name in given if name != PATH]
    if not isinstance(path, str) or not path or len(operators) != 1 or operators[0] not in OPERATORS:
        raise BadCondition(f"A test has a path and one of {', '.join(OPERATORS)}.")
    try:
        keys(path)
    except BadPath as error:
        raise BadCondition(str(error)) from None
    [operator] = operators
    value = shape_name(given[operator]) if operator == "is" else given[operator]
    if problem := wrong(operator, value):
        raise BadCondition(f"{operator} {problem}.")
    return Test(path, operator, value)


def wrong(operator: str, value: Any) -> str | None:
    """Return what is wrong with an operator's operand; None if nothing is."""
    if operator == "is" and value not in SHAPES:
        return f"takes one of {', '.join(SHAPES)}"
    if operator == "exists" and not isinstance(value, bool):
        return "takes true or false"
    if operator == "in" and not isinstance(value, str | list):
        return "takes a list"
    if operator == "matches":
        try:
            checker({"pattern": value})
        except CallerError:
            return "takes a regular expression"
    return None


def shape_name(value: Any) -> Any:
    """Return the type name as text: YAML reads `is: null` and `is: true` as values."""
    return written(value) if value is None or isinstance(value, bool) else value


def paths(condition: Condition) -> Iterator[str]:
    match condition:
        case Test(path=path):
            yield path
        case Not(part):
            yield from paths(part)
        case Every(parts) | Some(parts):
            for one in parts:
                yield from paths(one)


def holds(condition: Condition, find: Find) -> bool:
    match condition:
        case Every(parts):
            return all(holds(one, find) for one in parts)
        case Some(parts):
            return any(holds(one, find) for one in parts)
        case Not(part):
            return not holds(part, find)
        case Test(path, operator, expected):
            return tested(path, operator, expected, find)


def tested(path: str, operator: str, expected: Any, find: Find) -> bool:
    try:
        value = find(path)
    except (Missing, Unknown):
        return operator == "exists" and expected is False
    if operator == "exists":
        return bool(expected)
    if operator == "is":
        return SHAPES[expected](value)
    try:
        return OPERATORS[operator](value, value_of(expected, find))
    except Mismatch as error:
        raise StepFailed(f"The condition {path} {operator} cannot be decided: {error}") from None


class Mismatch(Exception):
    """The operator cannot compare these two values."""


def equals(value: Any, expected: Any) -> bool:
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(equals(value[key], expected[key]) for key in value)
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(equals, value, expected))
    return bool(value == expected)


def above(value: Any, expected: Any) -> bool:
    return order(value, expected) > 0


def below(value: Any, expected: Any) -> bool:
    return order(value, expected) < 0


def order(value: Any, expected: Any) -> int:
    """Compare two numbers or two dates; return -1, 0 or 1."""
    if number(value) and number(expected):
        return int(value > expected) - int(value < expected)
    first, second = moment(value), moment(expected)
    if first is None or second is None:
        raise Mismatch(f"{there(value)} and {there(expected)} are not two numbers, nor two dates.")
    return (first > second) - (first < second)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def moment(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def contains(value: Any, expected: Any) -> bool:
    match value:
        case str() if isinstance(expected, str):
            return expected.casefold() in value.casefold()
        case list():
            return any(equals(one, expected) for one in value)
        case dict() if isinstance(expected, str):
            return expected in value
        case _:
            raise Mismatch(f"{there(value)} cannot contain {there(expected)}.")


def matches(value: Any, expected: Any) -> bool:
    """Match with a regex engine that bounds its time: the value is untrusted."""
    if not isinstance(value, str) or not isinstance(expected, str):
        raise Mismatch(f"{there(value)} is not a text.")
    return checker({"pattern": expected}).problem(value) is None


def among(value: Any, expected: Any) -> bool:
    if not isinstance(expected, list):
        raise Mismatch(f"{there(expected)} is not a list.")
    return any(equals(value, one) for one in expected)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "is": equals,
    "equals": equals,
    "above": above,
    "below": below,
    "contains": contains,
    "matches": matches,
    "exists": equals,
    "in": among,
}
