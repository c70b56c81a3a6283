"""Size limit of argument schemas: the deepest definitions lose their details first."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.settle import mapped, names

MAX_BYTES = 64_000
DEEPEST = 6
WORDS = (400, 100)
"""Longest description in characters, first and second attempt."""


def shallow(schema: Schema) -> Schema:
    """Shrink a schema to MAX_SCHEMA_BYTES: drop deep definitions, then shorten descriptions, at last keep
    only names and types of the arguments. A small schema is returned itself."""
    if weight(schema) <= MAX_BYTES:
        return schema
    made = cut(schema) if "$defs" in schema else schema
    for letters in WORDS:
        if weight(made) <= MAX_BYTES:
            return made
        made = brief(made, letters)
    return made if weight(made) <= MAX_BYTES else brief(outline(schema), WORDS[-1])


def weight(value: Any) -> int:
    return len(msgspec.json.encode(value))


def cut(schema: Schema) -> Schema:
    """Keep as many levels of definitions as fit; reduce the next level to type and description."""
    given = schema["$defs"]
    root = {key: value for key, value in schema.items() if key != "$defs"}
    rows = levels(root, given)
    room = MAX_BYTES - weight(root)
    kept: dict[str, Schema] = {}
    for number, row in enumerate(rows):
        room -= sum(weight(given[name]) for name in row)
        if number and (room < 0 or number > DEEPEST):
            kept |= {name: stub(given[name]) for name in row}
            break
        kept |= {name: given[name] for name in row}
    return {**root, "$defs": {name: kept[name] for name in sorted(kept)}}


def levels(root: Schema, given: dict[str, Schema]) -> list[set[str]]:
    """Group definitions by their distance in references from the root."""
    rows, row, seen = list[set[str]](), set(names(root)), set[str]()
    while row:
        rows.append(row)
        seen |= row
        row = {one for name in row for one in names(given[name])} - seen
    return rows


def outline(schema: Schema) -> Schema:
    made = {key: value for key, value in schema.items() if key != "$defs"}
    made["properties"] = {name: stub(inner) for name, inner in schema["properties"].items()}
    return made


def stub(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("type", "description") if key in schema}


def brief(schema: Schema, letters: int) -> Schema:
    """Cut every description to `letters` characters."""
    made = mapped(schema, lambda inner: brief(inner, letters))
    if "$defs" in made:
        made["$defs"] = {name: brief(inner, letters) for name, inner in made["$defs"].items()}
    said = made.get("description", "")
    if len(said) > letters:
        made["description"] = said[: letters - 1].rstrip() + "…"
    return made
