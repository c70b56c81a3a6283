"""Branches of a oneOf that no value can share, and those that one may."""

import time
from itertools import combinations
from typing import Any

import pytest

from rightseat.plugins.openapi.overlap import MAX_COMPARISONS, OverlapFinder
from rightseat.types.schema import get_validator
from tests.kit.cases import each_case

STRING, INTEGER, NUMBER, NULL = ({"type": kind} for kind in ("string", "integer", "number", "null"))
DEFS: dict[str, dict[str, Any]] = {
    "Pet": {"type": "object", "required": ["kind"], "properties": {"kind": STRING}},
    "Cat": {"allOf": [{"$ref": "#/$defs/Pet"}, {"properties": {"kind": {"enum": ["cat"]}}}]},
    "Dog": {"allOf": [{"$ref": "#/$defs/Pet"}, {"properties": {"kind": {"enum": ["dog"]}}}]},
    "Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}},
    "Loop": {"$ref": "#/$defs/Loop"},
}
CAT, DOG, PET = ({"$ref": f"#/$defs/{name}"} for name in ("Cat", "Dog", "Pet"))


def make_object(closed: bool = False, required: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return {**schema, "additionalProperties": False} if closed else schema


DISJOINT = [
    (STRING, INTEGER),
    (STRING, NULL),
    ({"type": ["string", "null"]}, {"type": ["integer", "boolean"]}),
    ({"enum": ["a", "b"]}, {"enum": ["c"]}),
    ({"const": True}, {"const": 1}),
    ({"const": "a"}, {"type": "string", "minLength": 2}),
    ({"enum": [1, 2]}, {"type": "integer", "minimum": 3}),
    ({"type": "integer", "maximum": 9}, {"type": "number", "minimum": 10}),
    ({"type": "number", "exclusiveMaximum": 9}, {"type": "number", "minimum": 9}),
    ({"type": "string", "maxLength": 3}, {"type": "string", "minLength": 4}),
    ({"type": "array", "maxItems": 1}, {"type": "array", "minItems": 2}),
    ({"type": "array", "items": STRING, "minItems": 1}, {"type": "array", "items": INTEGER}),
    (make_object(required="kind", kind={"const": "a"}), make_object(kind={"const": "b"})),
    (make_object(required="a", a=STRING), make_object(closed=True, b=STRING)),
    ({"anyOf": [STRING, NULL]}, {"oneOf": [INTEGER, {"type": "boolean"}]}),
    (CAT, DOG),
    ({"anyOf": [CAT, NULL]}, DOG),
    ({"not": {}}, STRING),
    (False, STRING),
]
OVERLAPPING = [
    (INTEGER, NUMBER),
    (STRING, {}),
    (STRING, True),
    (STRING, STRING),
    (NULL, {"type": ["string", "null"]}),
    ({"const": 1}, {"const": 1.0}),
    ({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}),
    ({"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}),
    ({"type": "number", "maximum": 9}, {"type": "number", "minimum": 9}),
    ({"type": "array", "items": STRING}, {"type": "array", "items": INTEGER}),
    (make_object(a=STRING), make_object(b=STRING)),
    (make_object(required="a", a=STRING), make_object(required="b", b=STRING)),
    (make_object(kind={"const": "a"}), make_object(kind={"const": "b"})),
    ({"enum": ["a"]}, {"anyOf": [{"$ref": "#/$defs/Pet"}, STRING]}),
    (CAT, PET),
    ({"$ref": "#/$defs/Tree"}, {"$ref": "#/$defs/Tree"}),
    ({"$ref": "#/$defs/Loop"}, STRING),
    ({"$ref": "#/$defs/Nothing"}, STRING),
    ({"enum": list(range(100))}, INTEGER),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.0, 2, 3, 8.5, 9, 9.5, 10, "", "a", "b", "c", "ab", "abcd", "10.0.0.1"),
    *([], ["a"], [1], ["a", 1], [1, 2], {}, {"a": "x"}, {"b": "x"}, {"a": "x", "b": "x"}),
    *({"kind": "a"}, {"kind": "b"}, {"kind": "cat"}, {"kind": "dog"}, {"left": {}}),
]


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
@each_case(("left", "right"), DISJOINT)
def test_no_value_is_shared(left: Any, right: Any) -> None:
    assert not OverlapFinder(DEFS).has_overlap([left, right])
    assert not OverlapFinder(DEFS).has_overlap([right, left])


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
@each_case(("left", "right"), OVERLAPPING)
def test_a_value_may_be_shared(left: Any, right: Any) -> None:
    assert OverlapFinder(DEFS).has_overlap([left, right])
    assert OverlapFinder(DEFS).has_overlap([right, left])


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
def test_what_is_called_disjoint_shares_none_of_many_values() -> None:
    finder, schemas = OverlapFinder(DEFS), [schema for pair in (*DISJOINT, *OVERLAPPING) for schema in pair]
    usable = [schema for schema in schemas if isinstance(schema, dict) and "Nothing" not in str(schema)]
    usable = [schema for schema in usable if "Loop" not in str(schema)]
    for left, right in combinations(usable, 2):
        if not finder.has_overlap([left, right]):
            both = get_validator({"allOf": [left, right], "$defs": {**DEFS, "Loop": {}}})
            assert [value for value in VALUES if both.find_problem(value) is None] == [], (left, right)


@pytest.mark.demand("plugins.overlapping_one_of_is_sent")
def test_comparisons_are_bounded() -> None:
    finder = OverlapFinder({})
    started = time.process_time()
    assert finder.has_overlap([{"anyOf": [STRING] * 1000}, {"anyOf": [INTEGER] * 1000}])
    print(f"{MAX_COMPARISONS} comparisons took {time.process_time() - started:.2f} s")
    assert finder.comparisons_left < 0
    assert not finder.has_overlap([{"anyOf": [STRING] * 10}, {"anyOf": [INTEGER] * 10}])
