"""Schema simplification: small definitions are inlined, allOf of objects becomes one object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rightseat.plugins.openapi.circles import DEFS_PREFIX
from rightseat.plugins.openapi.schemas import (
    LIST_KEYWORDS,
    MAP_KEYWORDS,
    SINGLE_KEYWORDS,
    Schema,
    SchemaConverter,
)

MAX_INLINE_SIZE = 80
"""Largest definition, in keywords, that is inlined; larger ones stay under `$defs`."""
MAX_CHAIN = 12
MAX_LEVELS = 60
"""Deepest nesting in which references are inlined."""
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

    def resolve_top(self, schema: Schema) -> Schema:
        """Replace a top-level `$ref` by its definition, keeping the keywords beside it."""
        resolved = self.simplify(schema, 0)
        for _ in range(MAX_CHAIN):
            name = ref_name(resolved)
            if name is None:
                return resolved
            resolved = {**(self.simplify_definition(name, 0) or {}), **without_key(resolved, "$ref")}
        return resolved

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
            self._inlinable[name] = (
                not self.referenced_names(name) and schema_size(self.simplified[name]) <= MAX_INLINE_SIZE
            )
        return self._inlinable[name]

    def simplify(self, schema: Schema, depth: int) -> Schema:
        name = ref_name(schema)
        if name is not None:
            definition = self.simplify_definition(name, depth + 1)
            inline = definition is not None and self.is_inlinable(name)
            return (
                {**definition, **without_key(schema, "$ref")} if definition is not None and inline else schema
            )
        simplified = map_subschemas(schema, lambda inner: self.simplify(inner, depth + 1))
        return self.merge_all_of(simplified, depth) if "allOf" in simplified else simplified

    def merge_all_of(self, schema: Schema, depth: int) -> Schema:
        parts = [without_key(schema, "allOf"), *(self.resolve_part(one, depth) for one in schema["allOf"])]
        if len(parts) == 2 and not parts[0].keys() & parts[1].keys() - {"description", "examples", "default"}:
            return {**parts[1], **parts[0]}
        if not all(
            part.keys() <= _MERGEABLE_KEYWORDS and part.get("type", "object") == "object" for part in parts
        ):
            return schema
        merged: Schema = {"type": "object", "properties": {}}
        required: list[str] = []
        for part in [*parts[1:], parts[0]]:
            if any(
                merged["properties"].get(key, one) != one for key, one in part.get("properties", {}).items()
            ):
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
    for key, value in schema.items():
        if key in MAP_KEYWORDS:
            yield from value.values()
        elif key in LIST_KEYWORDS:
            yield from value
        elif key in SINGLE_KEYWORDS and isinstance(value, dict):
            yield value


def iter_ref_names(schema: Schema) -> Iterator[str]:
    """Yield the names of the definitions that the schema references."""
    pending = [schema]
    while pending:
        current = pending.pop()
        if (name := ref_name(current)) is not None:
            yield name
        pending += iter_subschemas(current)


def schema_size(schema: Schema) -> int:
    count, pending = 0, [schema]
    while pending and count <= MAX_INLINE_SIZE:
        current = pending.pop()
        count += len(current)
        pending += iter_subschemas(current)
    return count
