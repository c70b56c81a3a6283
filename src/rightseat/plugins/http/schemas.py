"""Schema helpers for an operation: references, properties, files. `$ref` points into local `$defs` only."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.operation import BINARY

Schema = dict[str, Any]
DEEPEST = 24
CHOICES = ("anyOf", "oneOf", "allOf")
TYPELESS: Schema = {}


def resolved(schema: Any, root: Schema) -> Schema:
    """Follow `$ref` and return the schema it points to; an empty schema where it leads nowhere."""
    for _ in range(DEEPEST):
        if not isinstance(schema, dict):
            return TYPELESS
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            return schema
        schema = (root.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
    return TYPELESS


def options(schema: Any, root: Schema, level: int = 0) -> list[Schema]:
    """Return the schema and, recursively, its anyOf, oneOf and allOf parts."""
    found = resolved(schema, root)
    inner = [part for word in CHOICES for part in found.get(word) or () if level < DEEPEST]
    return [found, *(one for part in inner for one in options(part, root, level + 1))]


def properties(schema: Any, root: Schema) -> dict[str, Any]:
    """Return the properties declared in the schema or any of its parts."""
    made: dict[str, Any] = {}
    for one in options(schema, root):
        for name, inner in (one.get("properties") or {}).items():
            made.setdefault(name, inner)
    return made


def together(schema: Any, root: Schema, level: int = 0) -> list[Schema]:
    """Return the schema and, recursively, its allOf parts."""
    found = resolved(schema, root)
    inner = found.get("allOf") or () if level < DEEPEST else ()
    return [found, *(one for part in inner for one in together(part, root, level + 1))]


def items(schema: Any, root: Schema) -> Any:
    """Return the schema of an array's items, or None."""
    return next((one["items"] for one in options(schema, root) if isinstance(one.get("items"), dict)), None)


def is_file(schema: Any, root: Schema) -> bool:
    return any(one.get("format") == BINARY for one in options(schema, root))


def is_files(schema: Any, root: Schema) -> bool:
    """Tell whether the schema is a list of files."""
    inner = items(schema, root)
    return inner is not None and is_file(inner, root)


def walked(schema: Any, change: Any, level: int = 0) -> Any:
    """Return a copy with `change` applied to the schema and every subschema, innermost first."""
    if not isinstance(schema, dict) or level > 2 * DEEPEST:
        return schema
    made: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            made[key] = {name: walked(inner, change, level + 1) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not", "contains", "propertyNames"):
            made[key] = walked(value, change, level + 1)
        elif key in (*CHOICES, "prefixItems") and isinstance(value, list):
            made[key] = [walked(inner, change, level + 1) for inner in value]
        else:
            made[key] = value
    return change(made)
