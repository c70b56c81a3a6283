"""Schema simplification: small definitions are inlined, allOf of objects becomes one object; of argument schemas over
the size limit the deepest definitions lose their details first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.overlap import DEFS_PREFIX
from rightseat.plugins.openapi.schemas import LIST_KEYWORDS, MAP_KEYWORDS, SINGLE_KEYWORDS, Schema, SchemaConverter

MAX_INLINE_SIZE = 80
"""Largest definition, in keywords, that is inlined; larger ones stay under `$defs`."""
MAX_CHAIN = 12
MAX_LEVELS = 60
"""Deepest nesting in which references are inlined."""
MAX_SCHEMA_BYTES = 64_000
MAX_REF_LEVELS = 6
DESCRIPTION_LIMITS = (400, 100)
"""Longest description in characters, first and second attempt."""
_MERGEABLE_KEYWORDS = {"type", "properties", "required", "description", "examples", "default"}


class SchemaSimplifier:
    def __init__(self, schemas: SchemaConverter) -> None:
        self.schemas = schemas
        self.simplified: dict[str, Schema] = {}
        self.in_progress: set[str] = set()
        self._references: dict[str, tuple[str, ...]] = {}
        self._inlinable: dict[str, bool] = {}

    def with_defs(self, schema: Schema) -> Schema:
        """Simplify a schema and add every definition it references under `$defs`."""
        simplified = self.simplify(schema, 0)
        defs: dict[str, Schema] = {}
        pending = list(iter_ref_names(simplified))
        while pending:
            name = pending.pop()
            if name not in defs:
                defs[name] = self.simplify_definition(name, 0) or {}
                pending += self.referenced_names(name)
        return {**simplified, "$defs": {name: defs[name] for name in sorted(defs)}} if defs else simplified

    def read(self, node: Node) -> Schema:
        """Convert a schema node and replace a top-level `$ref` by its definition; `$defs` are not included yet."""
        schema = self.simplify(self.schemas.convert_with_defs(node), 0)
        for _ in range(MAX_CHAIN):
            name = ref_name(schema)
            if name is None:
                break
            schema = {**(self.simplify_definition(name, 0) or {}), **without_key(schema, "$ref")}
        return schema

    def simplify_definition(self, name: str, depth: int) -> Schema | None:
        """Return the simplified definition; None while it is in progress (a recursive schema)."""
        if name in self.simplified:
            return self.simplified[name]
        if name in self.in_progress or depth > MAX_LEVELS:
            return None
        self.in_progress.add(name)
        simplified = self.simplify(self.schemas.defs.get(name, {}), depth)
        self.in_progress.discard(name)
        self.simplified[name] = simplified
        return simplified

    def referenced_names(self, name: str) -> tuple[str, ...]:
        """Return the definitions a simplified definition references (cached)."""
        if name not in self._references:
            self._references[name] = tuple(dict.fromkeys(iter_ref_names(self.simplified.get(name, {}))))
        return self._references[name]

    def is_inlinable(self, name: str) -> bool:
        if name not in self._inlinable:
            small = schema_size(self.simplified[name]) <= MAX_INLINE_SIZE
            self._inlinable[name] = small and not self.referenced_names(name)
        return self._inlinable[name]

    def simplify(self, schema: Schema, depth: int) -> Schema:
        name = ref_name(schema)
        if name is not None:
            definition = self.simplify_definition(name, depth + 1)
            if definition is None or not self.is_inlinable(name):
                return schema
            return {**definition, **without_key(schema, "$ref")}
        simplified = map_subschemas(schema, lambda inner: self.simplify(inner, depth + 1))
        return self.merge_all_of(simplified, depth) if "allOf" in simplified else simplified

    def merge_all_of(self, schema: Schema, depth: int) -> Schema:
        parts = [without_key(schema, "allOf"), *(self.resolve_part(part, depth) for part in schema["allOf"])]
        if len(parts) == 2 and not parts[0].keys() & parts[1].keys() - {"description", "examples", "default"}:
            return {**parts[1], **parts[0]}
        if not all(part.keys() <= _MERGEABLE_KEYWORDS and part.get("type", "object") == "object" for part in parts):
            return schema
        merged: Schema = {"type": "object", "properties": {}}
        required: list[str] = []
        for part in [*parts[1:], parts[0]]:
            if any(merged["properties"].get(key, inner) != inner for key, inner in part.get("properties", {}).items()):
                return schema
            merged["properties"] |= part.get("properties", {})
            required += part.get("required", [])
            merged |= {key: part[key] for key in ("description", "examples", "default") if key in part}
        return {**merged, "required": list(dict.fromkeys(required))} if required else merged

    def resolve_part(self, schema: Schema, depth: int) -> Schema:
        name = ref_name(schema)
        definition = None if name is None else self.simplify_definition(name, depth + 1)
        return schema if definition is None else {**definition, **without_key(schema, "$ref")}


def ref_name(schema: Any) -> str | None:
    ref = schema.get("$ref")
    return ref.removeprefix(DEFS_PREFIX) if isinstance(ref, str) else None


def without_key(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


def map_subschemas(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a copy with `change` applied to each direct subschema."""
    result = dict(schema)
    for key, value in schema.items():
        if key in MAP_KEYWORDS:
            result[key] = {name: change(inner) for name, inner in value.items()}
        elif key in LIST_KEYWORDS:
            result[key] = [change(inner) for inner in value]
        elif key in SINGLE_KEYWORDS and isinstance(value, dict):
            result[key] = change(value)
    return result


def iter_subschemas(schema: Schema) -> Iterator[Schema]:
    """Yield the schema and, recursively, its subschemas."""
    pending = [schema]
    while pending:
        current = pending.pop()
        yield current
        for key, value in current.items():
            if key in MAP_KEYWORDS:
                pending += value.values()
            elif key in LIST_KEYWORDS:
                pending += value
            elif key in SINGLE_KEYWORDS and isinstance(value, dict):
                pending.append(value)


def iter_ref_names(schema: Schema) -> Iterator[str]:
    """Yield the names of the definitions that the schema references."""
    return (name for inner in iter_subschemas(schema) if (name := ref_name(inner)) is not None)


def schema_size(schema: Schema) -> int:
    """Return the number of keywords in the schema, counted until it exceeds MAX_INLINE_SIZE."""
    count = 0
    for inner in iter_subschemas(schema):
        count += len(inner)
        if count > MAX_INLINE_SIZE:
            break
    return count


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
    if encoded_size(shrunk) <= MAX_SCHEMA_BYTES:
        return shrunk
    outline = without_key(schema, "$defs")
    outline["properties"] = {name: stub_schema(inner) for name, inner in schema["properties"].items()}
    return shorten_descriptions(outline, DESCRIPTION_LIMITS[-1])


def encoded_size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def drop_deep_definitions(schema: Schema) -> Schema:
    """Keep as many levels of definitions as fit; reduce the next level to type and description."""
    definitions = schema["$defs"]
    root = without_key(schema, "$defs")
    rows = definition_levels(root, definitions)
    bytes_left = MAX_SCHEMA_BYTES - encoded_size(root)
    retained: dict[str, Schema] = {}
    for number, row in enumerate(rows):
        bytes_left -= sum(encoded_size(definitions[name]) for name in row)
        if number and (bytes_left < 0 or number > MAX_REF_LEVELS):
            retained |= {name: stub_schema(definitions[name]) for name in row}
            break
        retained |= {name: definitions[name] for name in row}
    return {**root, "$defs": {name: retained[name] for name in sorted(retained)}}


def definition_levels(root: Schema, definitions: dict[str, Schema]) -> list[set[str]]:
    """Group definitions by their distance in references from the root."""
    rows, row, seen = list[set[str]](), set(iter_ref_names(root)), set[str]()
    while row:
        rows.append(row)
        seen |= row
        row = {target for name in row for target in iter_ref_names(definitions[name])} - seen
    return rows


def stub_schema(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("type", "description") if key in schema}


def shorten_descriptions(schema: Schema, letters: int) -> Schema:
    """Cut every description to `letters` characters."""
    result = map_subschemas(schema, lambda inner: shorten_descriptions(inner, letters))
    if "$defs" in result:
        result["$defs"] = {name: shorten_descriptions(inner, letters) for name, inner in result["$defs"].items()}
    description = result.get("description", "")
    if len(description) > letters:
        result["description"] = description[: letters - 1].rstrip() + "…"
    return result
