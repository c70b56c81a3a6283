"""Upgrade schemas to JSON Schema 2020-12: OpenAPI 3.0's `nullable`, keywords of drafts 4 and 7."""

from __future__ import annotations

from typing import Any

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("additionalProperties", "propertyNames", "items", "not", "if", "then", "else", "contains",
           "unevaluatedProperties", "unevaluatedItems")  # fmt: skip


def upgrade_schema(schema: Any) -> Any:
    """Return the upgraded schema. The caller has checked its depth."""
    if not isinstance(schema, dict):
        return schema
    new = _upgrade_bounds(_upgrade_items(dict(schema)))
    for key in _MAPS:
        if isinstance(new.get(key), dict):
            new[key] = {name: upgrade_schema(value) for name, value in new[key].items()}
    for key in _LISTS:
        if isinstance(new.get(key), list):
            new[key] = [upgrade_schema(value) for value in new[key]]
    for key in _SINGLE:
        if key in new:
            new[key] = upgrade_schema(new[key])
    return _upgrade_nullable(new)


def _upgrade_items(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")
    return schema


def _upgrade_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(flag), bool) and schema.pop(flag) and bound in schema:
            schema[flag] = schema.pop(bound)
    return schema


def _upgrade_nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("nullable") is not True:
        return schema
    del schema["nullable"]
    if "$ref" in schema or any(key in schema for key in _LISTS[:3]):
        return {"anyOf": [schema, {"type": "null"}]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    kinds = schema.get("type")
    if isinstance(kinds, str):
        schema["type"] = [kinds, "null"]
    elif isinstance(kinds, list) and "null" not in kinds:
        schema["type"] = [*kinds, "null"]
    return schema
