"""Schema helpers for an operation: references, properties, files. `$ref` points into local `$defs` only."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.operation import BINARY_FORMAT

Schema = dict[str, Any]
MAX_SCHEMA_DEPTH = 24
COMBINATORS = ("anyOf", "oneOf", "allOf")
EMPTY_SCHEMA: Schema = {}


def resolve_ref(schema: Any, root: Schema) -> Schema:
    """Follow `$ref` and return the schema it points to; an empty schema where it leads nowhere."""
    for _ in range(MAX_SCHEMA_DEPTH):
        if not isinstance(schema, dict):
            return EMPTY_SCHEMA
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            return schema
        schema = (root.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
    return EMPTY_SCHEMA


def expand_schema(schema: Any, root: Schema, level: int = 0) -> list[Schema]:
    """Return the schema and, recursively, its anyOf, oneOf and allOf parts."""
    found = resolve_ref(schema, root)
    inner = [part for word in COMBINATORS for part in found.get(word) or () if level < MAX_SCHEMA_DEPTH]
    return [found, *(one for part in inner for one in expand_schema(part, root, level + 1))]


def all_properties(schema: Any, root: Schema) -> dict[str, Any]:
    """Return the properties declared in the schema or any of its parts."""
    properties: dict[str, Any] = {}
    for one in expand_schema(schema, root):
        for name, inner in (one.get("properties") or {}).items():
            properties.setdefault(name, inner)
    return properties


def all_of_parts(schema: Any, root: Schema, level: int = 0) -> list[Schema]:
    """Return the schema and, recursively, its allOf parts."""
    found = resolve_ref(schema, root)
    inner = found.get("allOf") or () if level < MAX_SCHEMA_DEPTH else ()
    return [found, *(one for part in inner for one in all_of_parts(part, root, level + 1))]


def item_schema(schema: Any, root: Schema) -> Any:
    """Return the schema of an array's items, or None."""
    return next(
        (one["items"] for one in expand_schema(schema, root) if isinstance(one.get("items"), dict)), None
    )


def is_file(schema: Any, root: Schema) -> bool:
    return any(one.get("format") == BINARY_FORMAT for one in expand_schema(schema, root))


def is_file_list(schema: Any, root: Schema) -> bool:
    """Tell whether the schema is a list of files."""
    inner = item_schema(schema, root)
    return inner is not None and is_file(inner, root)


def transform_schema(schema: Any, change: Any, level: int = 0) -> Any:
    """Return a copy with `change` applied to the schema and every subschema, innermost first."""
    if not isinstance(schema, dict) or level > 2 * MAX_SCHEMA_DEPTH:
        return schema
    result: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            result[key] = {name: transform_schema(inner, change, level + 1) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not", "contains", "propertyNames"):
            result[key] = transform_schema(value, change, level + 1)
        elif key in (*COMBINATORS, "prefixItems") and isinstance(value, list):
            result[key] = [transform_schema(inner, change, level + 1) for inner in value]
        else:
            result[key] = value
    return change(result)
