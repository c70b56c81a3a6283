"""JSON Schemas that the API can enforce.

Objects must be closed and every value typed. Limits of numbers, lengths and patterns are not supported: they
are dropped, and the answer is validated here.
"""

from __future__ import annotations

from typing import Any

_KEPT_KEYS = frozenset({"type", "description", "title", "enum", "const", "required", "default"})
_DROPPED_KEYS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
) | frozenset(
    {"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "examples", "$schema", "$id"}
)
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri"}) | frozenset(
    {"ipv4", "ipv6", "uuid"}
)
_MAX_DEPTH = 64


class UnenforceableSchema(Exception):
    """The schema uses what the API cannot enforce."""


def make_enforceable(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema without its limits, or None if the API cannot enforce it."""
    try:
        return _convert_object(schema, 0) if schema.get("type") == "object" else None
    except UnenforceableSchema:
        return None


def _convert(schema: object, depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        raise UnenforceableSchema
    if schema.get("type") == "object":
        return _convert_object(schema, depth)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    type_keywords = {"enum", "const", "anyOf", "$ref"} & schema.keys()
    if (not type_keywords and not _TYPES.issuperset(kinds)) or "object" in kinds:
        raise UnenforceableSchema
    return _convert_keywords(schema, depth)


def _convert_object(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    if schema.get("additionalProperties") is not False or not isinstance(schema.get("properties"), dict):
        raise UnenforceableSchema
    return _convert_keywords(schema, depth)


def _convert_keywords(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _KEPT_KEYS or key == "additionalProperties":
            out[key] = value
        elif key in ("properties", "$defs") and isinstance(value, dict):
            out[key] = {name: _convert(inner, depth + 1) for name, inner in value.items()}
        elif key == "items":
            out[key] = _convert(value, depth + 1)
        elif key == "anyOf" and isinstance(value, list):
            out[key] = [_convert(inner, depth + 1) for inner in value]
        elif key == "$ref" and str(value).startswith("#/$defs/"):
            out[key] = value
        elif key == "format":
            out.update({key: value} if value in _FORMATS else {})
        elif key not in _DROPPED_KEYS:
            raise UnenforceableSchema
    return out
