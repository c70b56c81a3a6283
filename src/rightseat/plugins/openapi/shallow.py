"""Size limit of argument schemas: the deepest definitions lose their details first."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.settle import iter_ref_names, map_subschemas

MAX_SCHEMA_BYTES = 64_000
MAX_REF_LEVELS = 6
DESCRIPTION_LIMITS = (400, 100)
"""Longest description in characters, first and second attempt."""


def shrink_schema(schema: Schema) -> Schema:
    """Shrink a schema to MAX_SCHEMA_BYTES: drop deep definitions, then shorten descriptions, at last keep
    only names and types of the arguments. A small schema is returned itself."""
    if encoded_size(schema) <= MAX_SCHEMA_BYTES:
        return schema
    shrunk = drop_deep_definitions(schema) if "$defs" in schema else schema
    for letters in DESCRIPTION_LIMITS:
        if encoded_size(shrunk) <= MAX_SCHEMA_BYTES:
            return shrunk
        shrunk = shorten_descriptions(shrunk, letters)
    return (
        shrunk
        if encoded_size(shrunk) <= MAX_SCHEMA_BYTES
        else shorten_descriptions(outline_arguments(schema), DESCRIPTION_LIMITS[-1])
    )


def encoded_size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def drop_deep_definitions(schema: Schema) -> Schema:
    """Keep as many levels of definitions as fit; reduce the next level to type and description."""
    definitions = schema["$defs"]
    root = {key: value for key, value in schema.items() if key != "$defs"}
    rows = definition_levels(root, definitions)
    bytes_left = MAX_SCHEMA_BYTES - encoded_size(root)
    kept: dict[str, Schema] = {}
    for number, row in enumerate(rows):
        bytes_left -= sum(encoded_size(definitions[name]) for name in row)
        if number and (bytes_left < 0 or number > MAX_REF_LEVELS):
            kept |= {name: stub_schema(definitions[name]) for name in row}
            break
        kept |= {name: definitions[name] for name in row}
    return {**root, "$defs": {name: kept[name] for name in sorted(kept)}}


def definition_levels(root: Schema, definitions: dict[str, Schema]) -> list[set[str]]:
    """Group definitions by their distance in references from the root."""
    rows, row, seen = list[set[str]](), set(iter_ref_names(root)), set[str]()
    while row:
        rows.append(row)
        seen |= row
        row = {one for name in row for one in iter_ref_names(definitions[name])} - seen
    return rows


def outline_arguments(schema: Schema) -> Schema:
    result = {key: value for key, value in schema.items() if key != "$defs"}
    result["properties"] = {name: stub_schema(inner) for name, inner in schema["properties"].items()}
    return result


def stub_schema(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("type", "description") if key in schema}


def shorten_descriptions(schema: Schema, letters: int) -> Schema:
    """Cut every description to `letters` characters."""
    result = map_subschemas(schema, lambda inner: shorten_descriptions(inner, letters))
    if "$defs" in result:
        result["$defs"] = {
            name: shorten_descriptions(inner, letters) for name, inner in result["$defs"].items()
        }
    description = result.get("description", "")
    if len(description) > letters:
        result["description"] = description[: letters - 1].rstrip() + "…"
    return result
