"""Values of a form out of JSON, pairs and lists, without a model."""

import time
from typing import Any

import pytest

from rightseat.engine.answer_parser import parse_scalar
from rightseat.engine.form_values import (
    MAX_FIELDS,
    accepts_shape,
    drop_required,
    find_json,
    fit_value,
    keep_valid_fields,
    list_form_fields,
    parse_named_values,
    resolve_core_schema,
)
from tests.kit.cases import each_case
from tests.kit.timeouts import HANG_TIMEOUT

TEXT = {"type": "string"}
PERSON = {"type": "object", "properties": {"name": TEXT, "age": {"type": "integer"}}, "required": ["name"]}
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "person": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]},
        "tags": {"type": ["array", "null"], "items": TEXT},
    },
    "required": ["person"],
    "$defs": {"Person": PERSON},
}


def fit(value: Any, schema: dict[str, Any] = FORM) -> Any:
    return fit_value(schema, value, parse_scalar, schema)


@pytest.mark.demand("flows.missing_objects_asked_in_form")
def test_references_nulls_and_parts_are_looked_through() -> None:
    assert resolve_core_schema(FORM["properties"]["person"], FORM) is PERSON
    assert resolve_core_schema({"type": ["integer", "null"]}, {}) == {"type": "integer"}
    both = {"allOf": [PERSON, {"properties": {"city": TEXT}, "required": ["city"]}], "description": "d"}
    core = resolve_core_schema(both, {})
    assert (list(core["properties"]), core["required"], core["description"]) == (
        ["name", "age", "city"],
        ["name", "city"],
        "d",
    )
    assert resolve_core_schema({"$ref": "#/$defs/None"}, {}) == resolve_core_schema(None, {}) == {}
    assert resolve_core_schema({"$ref": "#"}, {"$ref": "#"}) == {}
    circular = {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert resolve_core_schema(circular, circular) == circular
    names = [(field.name, field.required) for field in list_form_fields(FORM)]
    assert names == [("person.name", True), ("person.age", False), ("tags", False)]


@pytest.mark.demand("flows.missing_objects_asked_in_form")
@each_case(
    ("value", "expected"),
    [
        ({"name": "Anna", "age": "7"}, {"person": {"name": "Anna", "age": 7}}),
        ({"person.name": "Anna", "person.age": 7}, {"person": {"name": "Anna", "age": 7}}),
        ({"person": '{"name": "Anna"}', "tags": "a, b"}, {"person": {"name": "Anna"}, "tags": ["a", "b"]}),
        (["a", "b"], {"tags": ["a", "b"]}),
        ({"person": {"name": "Anna"}, "more": 1}, {"person": {"name": "Anna"}, "more": 1}),
        ({"tags": "a and b"}, {"tags": "a and b"}),
        ({"other": 1}, {"other": 1}),
        ("Anna", "Anna"),
        (None, None),
        (7, 7),
    ],
)
def test_values_take_the_shape_of_the_form(value: Any, expected: Any) -> None:
    assert fit(value) == expected


def test_a_value_that_two_fields_could_be_is_left_alone() -> None:
    schema = {"type": "object", "properties": {"a": PERSON, "b": PERSON}}
    assert fit({"name": "Anna"}, schema) == {"name": "Anna"}


@pytest.mark.demand("flows.missing_objects_asked_in_form")
@each_case(
    ("text", "expected"),
    [
        ("person.name: Anna; age: 7", {"person": {"name": "Anna", "age": 7}}),
        ("- name: Anna\n- tags: a, b", {"person": {"name": "Anna"}, "tags": ["a", "b"]}),
        ("tags: a, b, name: Anna", {"tags": ["a", "b"], "person": {"name": "Anna"}}),
        ("NAME = a=b", {"person": {"name": "a=b"}}),
        ("name: Smith, Anna", None),
        ("age: old", None),
        ("city: Bonn", None),
        ("Anna", None),
        ("", None),
    ],
)
def test_pairs_are_read_by_name(text: str, expected: Any) -> None:
    assert parse_named_values(FORM, text, parse_scalar) == expected


@each_case(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('see ```json\n{"a": 1}\n``` there', {"a": 1}),
        ("take [1, 2] please", [1, 2]),
        ("] no [", None),
        ("{no}", None),
        ("7", None),
        ("[" * 5000, None),
    ],
)
def test_json_is_found_in_a_sentence(text: str, expected: Any) -> None:
    assert find_json(text) == expected


def test_every_field_becomes_optional_but_a_field_called_required_stays() -> None:
    schema = {"properties": {"required": PERSON}, "required": ["required"], "enum": [{"required": ["x"]}]}
    inner = {"type": "object", "properties": PERSON["properties"]}
    assert drop_required(schema) == {"properties": {"required": inner}, "enum": [{"required": ["x"]}]}


def test_of_a_wrong_answer_the_right_parts_are_kept() -> None:
    value = {"person": {"age": 7, "name": 3}, "tags": ["a", 1], "other": 1}
    assert keep_valid_fields(FORM, value, FORM) == {"person": {"age": 7}}
    assert keep_valid_fields(FORM, "x", FORM) == {}


def test_schemas_without_an_end_take_no_time() -> None:
    node = {"type": "object", "properties": {str(number): {"$ref": "#/$defs/Node"} for number in range(30)}}
    root: dict[str, Any] = {"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    begun = time.monotonic()
    assert len(list_form_fields(root)) == MAX_FIELDS
    assert not accepts_shape(root, {"x": 1}, root)
    assert fit({"x": 1}, root) == {"x": 1}
    assert time.monotonic() - begun < HANG_TIMEOUT


def test_long_answers_take_time_in_proportion() -> None:
    number = 60_000
    begun = time.monotonic()
    listed = parse_named_values(FORM, "tags: a\n" + "b\n" * number, parse_scalar)
    assert listed is not None
    assert len(listed["tags"]) == number + 1
    many = {f"person.{place}": place for place in range(number)} | {f"other {place}": 1 for place in range(number)}
    assert len(fit(many)["person"]) == number
    assert time.monotonic() - begun < HANG_TIMEOUT
