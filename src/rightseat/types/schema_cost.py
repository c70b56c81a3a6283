"""The cost of a JSON Schema: how many of its subschemas are evaluated at one place of a value.

`allOf`, `anyOf` and `$ref` apply subschemas to the same place, so that references can double the work at each level:
forty levels fit in 2 KB and take hours. The counts come from the schema's graph, not from an expansion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

MAX_EVALUATIONS = 10_000
"""The most subschemas that one place of a value may be checked against."""
MAX_ENDLESS_EVALUATIONS = 16
"""The same for a schema that refers to itself at the same place, which is followed until the validator gives up."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SAME_PLACE = ("not", "if", "then", "else")
_SAME_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_PLACE_MAPS = ("dependentSchemas", "dependencies")
_ANY_MEMBER = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ANY_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains")
_NOT_SCHEMAS = frozenset(("enum", "const", "default", "examples", "example"))

Schema = dict[str, Any]


class SchemaTooCostly(ValueError):
    """A schema whose references multiply. The text continues "The JSON Schema"."""


class SchemaCost:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.bases: dict[int, str] = {}
        self.by_uri: dict[str, Schema] = {"": schema}
        self.schemas: dict[int, Schema] = {}
        self.same_place: dict[int, list[Schema]] = {}
        self.index_uris()

    def index_uris(self) -> None:
        """Find the base URI of each subschema, and the subschemas that `$id` and anchors name."""
        waiting: list[tuple[Any, str]] = [(self.schema, "")]
        while waiting:
            value, base = waiting.pop()
            if isinstance(value, dict):
                if isinstance(identifier := value.get("$id"), str):
                    base = urldefrag(join_uri(base, identifier)).url
                    self.by_uri[base] = value
                self.bases[id(value)], self.schemas[id(value)] = base, value
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(anchor := value.get(keyword), str):
                        self.by_uri[f"{base}#{anchor}"] = value
                waiting += ((child, base) for name, child in value.items() if name not in _NOT_SCHEMAS)
            elif isinstance(value, list):
                waiting += ((child, base) for child in value)

    def check(self) -> None:
        """Raise SchemaTooCostly where one place would be checked against too many subschemas."""
        totals: dict[int, int] = {}
        started = set[int]()
        limit = MAX_EVALUATIONS
        waiting = list(self.schemas.values())
        while waiting:
            schema = waiting[-1]
            key = id(schema)
            parts = [] if key in totals else self.list_same_place(schema)
            missing = [part for part in parts if id(part) not in totals]
            if missing and key not in started:
                started.add(key)
                waiting += missing
                continue
            if missing:
                limit = MAX_ENDLESS_EVALUATIONS
            totals.setdefault(key, 1 + sum(totals.get(id(part), 0) for part in parts))
            waiting.pop()
        if max(totals.values(), default=0) > limit:
            raise SchemaTooCostly(f"has references that multiply to more than {limit} checks of one value")

    def list_same_place(self, schema: Schema) -> list[Schema]:
        """List the subschemas that apply to the same place as the schema, each as often as it applies."""
        key = id(schema)
        if key not in self.same_place:
            self.same_place[key] = self.find_same_place(schema)
        return self.same_place[key]

    def find_same_place(self, schema: Schema) -> list[Schema]:
        targets = [self.resolve(schema, schema[name]) for name in _REFERENCES if isinstance(schema.get(name), str)]
        parts: list[Any] = [*targets, *(schema.get(name) for name in _SAME_PLACE)]
        for name in _SAME_PLACE_LISTS:
            parts += schema[name] if isinstance(schema.get(name), list) else ()
        for name in _SAME_PLACE_MAPS:
            parts += schema[name].values() if isinstance(schema.get(name), dict) else ()
        return [part for part in parts if isinstance(part, dict)]

    def resolve(self, schema: Schema, reference: str) -> Any:
        """Return the subschema that a reference names; None where it is not in this document."""
        uri, fragment = urldefrag(join_uri(self.bases.get(id(schema), ""), reference))
        if fragment and not fragment.startswith("/"):
            return self.by_uri.get(f"{uri}#{fragment}")
        value: Any = self.by_uri.get(uri)
        for step in unquote(fragment).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = value.get(name)
            elif isinstance(value, list):
                value = value[int(name)] if name.isdecimal() and int(name) < len(value) else None
            else:
                return None
        return value

    def count_evaluations(self, value: Any, limit: int) -> int:
        """Count the evaluations of subschemas for a value; stops at `limit`."""
        total = 0
        waiting = [(value, self.schema)]
        while waiting and total < limit:
            total += 1
            place, schema = waiting.pop()
            waiting += ((place, part) for part in self.list_same_place(schema))
            for step, child in list_children(place):
                total += 1
                if total >= limit:
                    return limit
                waiting += ((child, part) for part in list_below(schema, step))
        return min(total, limit)


def join_uri(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def list_children(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def list_below(schema: Schema, step: str | int) -> list[Schema]:
    """List the subschemas that may apply to a member or an item of a value."""
    if isinstance(step, str):
        properties, patterns = schema.get("properties"), schema.get("patternProperties")
        parts = [properties.get(step)] if isinstance(properties, dict) else []
        parts += patterns.values() if isinstance(patterns, dict) else ()
    else:
        positions = schema.get("prefixItems", schema.get("items"))
        parts = positions[step : step + 1] if isinstance(positions, list) else []
    names = _ANY_MEMBER if isinstance(step, str) else _ANY_ITEM
    parts += (schema.get(name) for name in names)
    return [part for part in parts if isinstance(part, dict)]
