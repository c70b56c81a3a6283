"""Overlap of schemas: whether one value may fit two branches of a oneOf."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import msgspec

from rightseat.errors import CallerError
from rightseat.plugins.openapi.keywords import json_type
from rightseat.types.schema import get_validator

Schema = dict[str, Any]
DEFS_PREFIX = "#/$defs/"
COMPARED_TYPES = ("null", "boolean", "number", "string", "array", "object")
MAX_COMPARISONS = 2_000
MAX_LEVELS = 6
MAX_VALUES = 50


class OverlapFinder:
    """Compares schemas whose references are in `defs`. What it cannot tell apart overlaps."""

    def __init__(self, defs: Mapping[str, Schema]) -> None:
        self.defs = defs
        self.comparisons_left = 0

    def has_overlap(self, branches: list[Schema]) -> bool:
        """Tell whether a value may fit two of the branches."""
        self.comparisons_left = MAX_COMPARISONS
        return not all(self.are_disjoint(left, right) for left, right in combinations(branches, 2))

    def are_disjoint(self, left: Any, right: Any, level: int = 0) -> bool:
        """Tell whether surely no value fits both."""
        self.comparisons_left -= 1
        if level > MAX_LEVELS or self.comparisons_left < 0:
            return False
        left, right = self.resolve(left), self.resolve(right)
        for schema, other in ((left, right), (right, left)):
            for word in ("anyOf", "oneOf"):
                options = schema.get(word)
                if options and all(self.are_disjoint(option, other, level + 1) for option in options):
                    return True
            if any(self.are_disjoint(part, other, level + 1) for part in schema.get("allOf") or ()):
                return True
            if (values := list_values(schema)) is not None:
                return not any(fits(other, value) for value in values)
        left, right = self.merge_parts(left), self.merge_parts(right)
        return all(self.differ_as(kind, left, right, level) for kind in list_types(left) & list_types(right))

    def resolve(self, schema: Any) -> Schema:
        for _ in range(MAX_LEVELS):
            if not isinstance(schema, dict):
                # `true` allows everything.
                return {"enum": []} if schema is False else {}
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            schema = self.defs.get(reference.removeprefix(DEFS_PREFIX))
        return {}

    def merge_parts(self, schema: Schema) -> Schema:
        """Return the schema with the types and properties that its allOf parts allow and require."""
        parts = [self.resolve(part) for part in schema.get("allOf") or ()]
        if not parts:
            return schema
        properties: dict[str, list[Any]] = {}
        for part in (schema, *parts):
            for name, inner in (part.get("properties") or {}).items():
                properties.setdefault(name, []).append(inner)
        required = [name for part in (schema, *parts) for name in part.get("required") or ()]
        merged = {name: inner[0] if len(inner) == 1 else {"allOf": inner} for name, inner in properties.items()}
        types = set.intersection(*(list_types(part) for part in (schema, *parts)))
        return {**schema, "type": sorted(types), "properties": merged, "required": required}

    def differ_as(self, kind: str, left: Schema, right: Schema, level: int) -> bool:
        """Tell whether no value of this type fits both."""
        match kind:
            case "number":
                return are_apart(number_range(left), number_range(right))
            case "string":
                return are_apart(*(size_range(schema, "minLength", "maxLength") for schema in (left, right)))
            case "array":
                sizes = [size_range(schema, "minItems", "maxItems") for schema in (left, right)]
                filled = max(low for low, _ in sizes) > 0
                return are_apart(*sizes) or (filled and self.differ_in(left, right, "items", level))
            case "object":
                return self.differ_in_property(left, right, level) or self.differ_in_property(right, left, level)
            case _:
                return False

    def differ_in(self, left: Schema, right: Schema, key: str, level: int) -> bool:
        return key in left and key in right and self.are_disjoint(left[key], right[key], level + 1)

    def differ_in_property(self, left: Schema, right: Schema, level: int) -> bool:
        """Tell whether a property that `left` requires is another, or forbidden, in `right`."""
        ours, theirs = left.get("properties") or {}, right.get("properties") or {}
        is_closed = right.get("additionalProperties") is False and not right.get("patternProperties")
        for name in left.get("required") or ():
            if name not in theirs:
                if is_closed:
                    return True
            elif self.are_disjoint(ours.get(name, {}), theirs[name], level + 1):
                return True
        return False


def fits(schema: Schema, value: Any) -> bool:
    """Tell whether the value may fit the schema; one with references is taken to."""
    if (values := list_values(schema)) is not None:
        return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in values)
    kind = json_type(value)
    if ("number" if kind == "integer" else kind) not in list_types(schema):
        return False
    try:
        return b'"$ref"' in msgspec.json.encode(schema) or get_validator(schema).find_problem(value) is None
    except CallerError:
        return True


def list_values(schema: Schema) -> list[Any] | None:
    """Return the values that the schema lists; None if it lists none, or too many to compare."""
    if schema.get("not") == {}:
        return []
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return values if isinstance(values, list) and len(values) <= MAX_VALUES else None


def list_types(schema: Schema) -> set[str]:
    kinds = schema.get("type")
    if kinds is None:
        return set(COMPARED_TYPES)
    names: Iterable[str] = (kinds,) if isinstance(kinds, str) else kinds
    return {"number" if name == "integer" else name for name in names}


def number_range(schema: Schema) -> tuple[float, float]:
    """Return the least and the greatest number. An open end is moved by the least step that a float has."""
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if (above := schema.get("exclusiveMinimum")) is not None:
        low = max(low, math.nextafter(above, math.inf))
    if (below := schema.get("exclusiveMaximum")) is not None:
        high = min(high, math.nextafter(below, -math.inf))
    return low, high


def size_range(schema: Schema, least: str, most: str) -> tuple[float, float]:
    return schema.get(least, 0), schema.get(most, math.inf)


def are_apart(left: tuple[float, float], right: tuple[float, float]) -> bool:
    return left[1] < right[0] or right[1] < left[0]
