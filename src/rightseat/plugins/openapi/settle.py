"""Schema simplification: small definitions are inlined, allOf of objects becomes one object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rightseat.plugins.openapi.circles import POINTER
from rightseat.plugins.openapi.schemas import LISTS, MAPS, SINGLES, Schema, Schemas

INLINE = 80
"""Largest definition, in keywords, that is inlined; larger ones stay under `$defs`."""
MAX_CHAIN = 12
MAX_LEVELS = 60
"""Deepest nesting in which references are inlined."""
_MERGED = {"type", "properties", "required", "description", "examples", "default"}


class Settled:
    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas
        self.done: dict[str, Schema] = {}
        self.open: set[str] = set()
        self._leads: dict[str, tuple[str, ...]] = {}
        self._small: dict[str, bool] = {}

    def closed(self, schema: Schema) -> Schema:
        """Simplify a schema and add every definition it references under `$defs`."""
        made = self.settle(schema, 0)
        defs: dict[str, Schema] = {}
        waiting = list(names(made))
        while waiting:
            name = waiting.pop()
            if name not in defs:
                defs[name] = self.definition(name, 0) or {}
                waiting += self.leads(name)
        return {**made, "$defs": {name: defs[name] for name in sorted(defs)}} if defs else made

    def top(self, schema: Schema) -> Schema:
        """Replace a top-level `$ref` by its definition, keeping the keywords beside it."""
        made = self.settle(schema, 0)
        for _ in range(MAX_CHAIN):
            name = target(made)
            if name is None:
                return made
            made = {**(self.definition(name, 0) or {}), **without(made, "$ref")}
        return made

    def definition(self, name: str, depth: int) -> Schema | None:
        """Return the simplified definition; None while it is in progress (a recursive schema)."""
        if name in self.done:
            return self.done[name]
        if name in self.open or depth > MAX_LEVELS:
            return None
        self.open.add(name)
        made = self.settle(self.schemas.defs.get(name, {}), depth)
        self.open.discard(name)
        self.done[name] = made
        return made

    def leads(self, name: str) -> tuple[str, ...]:
        """Return the definitions a simplified definition references (cached)."""
        if name not in self._leads:
            self._leads[name] = tuple(dict.fromkeys(names(self.done.get(name, {}))))
        return self._leads[name]

    def small(self, name: str) -> bool:
        if name not in self._small:
            self._small[name] = not self.leads(name) and size(self.done[name]) <= INLINE
        return self._small[name]

    def settle(self, schema: Schema, depth: int) -> Schema:
        name = target(schema)
        if name is not None:
            found = self.definition(name, depth + 1)
            inline = found is not None and self.small(name)
            return {**found, **without(schema, "$ref")} if found is not None and inline else schema
        made = mapped(schema, lambda inner: self.settle(inner, depth + 1))
        return self.merged(made, depth) if "allOf" in made else made

    def merged(self, schema: Schema, depth: int) -> Schema:
        parts = [without(schema, "allOf"), *(self.part(one, depth) for one in schema["allOf"])]
        if len(parts) == 2 and not parts[0].keys() & parts[1].keys() - {"description", "examples", "default"}:
            return {**parts[1], **parts[0]}
        if not all(part.keys() <= _MERGED and part.get("type", "object") == "object" for part in parts):
            return schema
        made: Schema = {"type": "object", "properties": {}}
        needed: list[str] = []
        for part in [*parts[1:], parts[0]]:
            if any(
                made["properties"].get(key, one) != one for key, one in part.get("properties", {}).items()
            ):
                return schema
            made["properties"] |= part.get("properties", {})
            needed += part.get("required", [])
            made |= {key: part[key] for key in ("description", "examples", "default") if key in part}
        return {**made, "required": list(dict.fromkeys(needed))} if needed else made

    def part(self, schema: Schema, depth: int) -> Schema:
        name = target(schema)
        found = None if name is None else self.definition(name, depth + 1)
        return schema if found is None else {**found, **without(schema, "$ref")}


def target(schema: Any) -> str | None:
    found = schema.get("$ref")
    return found.removeprefix(POINTER) if isinstance(found, str) else None


def without(schema: Schema, key: str) -> Schema:
    return {name: value for name, value in schema.items() if name != key}


def mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a copy with `change` applied to each direct subschema."""
    made = dict(schema)
    for key, value in schema.items():
        if key in MAPS:
            made[key] = {name: change(inner) for name, inner in value.items()}
        elif key in LISTS:
            made[key] = [change(inner) for inner in value]
        elif key in SINGLES and isinstance(value, dict):
            made[key] = change(value)
    return made


def inner_schemas(schema: Schema) -> Iterator[Schema]:
    for key, value in schema.items():
        if key in MAPS:
            yield from value.values()
        elif key in LISTS:
            yield from value
        elif key in SINGLES and isinstance(value, dict):
            yield value


def names(schema: Schema) -> Iterator[str]:
    """Yield the names of the definitions that the schema references."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if (name := target(one)) is not None:
            yield name
        waiting += inner_schemas(one)


def size(schema: Schema) -> int:
    count, waiting = 0, [schema]
    while waiting and count <= INLINE:
        one = waiting.pop()
        count += len(one)
        waiting += inner_schemas(one)
    return count
