"""What Gemini is told of a JSON Schema."""

import json
from typing import Any

import pytest

from rightseat.models.google.request import narrow_parameters, narrow_schema
from tests.kit.cases import each_case

TAKEN = {
    *("type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems"),
    *("minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"),
}


@pytest.mark.demand("models.google_gemini_api")
@each_case(
    ("given", "told"),
    [
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (
            {"type": "string", "format": "email", "pattern": "^a", "description": "Mail."},
            {"type": "string", "description": 'Mail. (pattern: "^a"; format: "email")'},
        ),
        ({"type": "string", "minLength": 2}, {"type": "string", "description": "minLength: 2"}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"const": True}, {"type": "boolean", "description": "const: true"}),
        ({"enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a"]}),
        ({"type": ["integer", "null"]}, {"type": ["integer", "null"]}),
        (
            {"oneOf": [{"type": "string"}, {"const": 1}]},
            {"anyOf": [{"type": "string"}, {"type": "integer", "enum": [1]}]},
        ),
        ({"type": "array", "items": True}, {"type": "array"}),
        ({"type": "array", "items": [{"type": "string"}]}, {"type": "array", "prefixItems": [{"type": "string"}]}),
        (
            {"type": "object", "properties": {"a": True}, "required": ["a", "b"], "patternProperties": {"x": {}}},
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        ),
        (
            {"type": "object", "additionalProperties": {"not": {}, "type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"if": {}, "then": {}, "not": {"type": "string"}, "type": "string"}, {"type": "string"}),
    ],
)
def test_as_near_as_possible(given: Any, told: Any) -> None:
    assert narrow_schema(given) == told


@pytest.mark.demand("models.google_gemini_api")
def test_references_are_written_out() -> None:
    schema = {
        "$defs": {"city": {"type": "string", "title": "City"}},
        "definitions": {"a/b": {"type": "integer"}},
        "type": "object",
        "properties": {
            "from": {"$ref": "#/$defs/city", "description": "Where it begins."},
            "count": {"$ref": "#/definitions/a~1b"},
            "lost": {"$ref": "#/nowhere"},
            "far": {"$ref": "https://example.org/schema.json"},
        },
    }
    assert narrow_schema(schema) == {
        "type": "object",
        "properties": {
            "from": {"type": "string", "title": "City", "description": "Where it begins."},
            "count": {"type": "integer"},
            "lost": {},
            "far": {},
        },
    }


def test_all_of_is_merged() -> None:
    schema = {
        "$defs": {"named": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
        "allOf": [{"$ref": "#/$defs/named"}, {"properties": {"age": {"type": "integer"}}}],
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
    }
    told = narrow_schema(schema)
    assert set(told["properties"]) == {"id", "name", "age"}
    assert sorted(told["required"]) == ["id", "name"]


def test_a_schema_that_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": "string"}}}
    told = narrow_schema({"$defs": {"node": node}, "$ref": "#/$defs/node"})
    assert told["properties"]["next"] == {"type": "object"}
    assert narrow_schema({"$ref": "#"}) == {}


def test_a_schema_that_grows_by_its_references_stays_small() -> None:
    doubling = {
        f"d{n}": {"properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in ("left", "right")}} for n in range(40)
    }
    told = narrow_schema({"$defs": doubling, "$ref": "#/$defs/d0"})
    assert len(json.dumps(told)) < 1_000_000


def test_arguments_are_always_an_object() -> None:
    assert narrow_parameters({}) == {"type": "object"}
    assert narrow_parameters({"anyOf": [{"type": "object"}]})["type"] == "object"


@pytest.mark.demand("models.google_gemini_api")
def test_only_words_that_gemini_takes() -> None:
    every = {
        "$schema": "x",
        "$id": "y",
        "$comment": "z",
        "type": "object",
        "title": "t",
        "default": {},
        "examples": [],
        "properties": {"a": {"type": "number", "multipleOf": 2, "exclusiveMinimum": 1, "readOnly": True}},
        "dependentRequired": {},
        "unevaluatedProperties": False,
        "propertyNames": {},
        "minProperties": 1,
    }
    told = narrow_schema(every)
    assert set(told) <= TAKEN
    assert set(told["properties"]["a"]) <= TAKEN
