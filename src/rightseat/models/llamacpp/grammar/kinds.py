"""JSON types that a conjunction allows."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.grammar.document import SchemaConjunction, SchemaDocument

ALL_TYPES = ("object", "array", "string", "number", "boolean", "null")
_KEYWORDS = {
    "object": (
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "unevaluatedProperties",
        "dependentRequired",
        "dependentSchemas",
    ),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def list_allowed_types(conjunction: SchemaConjunction, document: SchemaDocument) -> list[str]:
    """Return the allowed types in grammar order; without `type`, those that other keywords constrain."""
    allowed: set[str] | None = None
    for given in conjunction.collect_values("type"):
        types = {given} if isinstance(given, str) else set(given)
        allowed = types if allowed is None else _intersect_types(allowed, types)
    if allowed is None:
        allowed = {
            kind
            for kind, words in _KEYWORDS.items()
            if any(conjunction.collect_values(word) for word in words)
        } or set(ALL_TYPES)
    for part in conjunction.parts:
        if "not" in part.schema:
            allowed = _exclude_types(allowed, part.schema["not"], part.pointer, document)
    if "number" in allowed:
        allowed.discard("integer")
    return [kind for kind in (*ALL_TYPES, "integer") if kind in allowed]


def _intersect_types(left: set[str], right: set[str]) -> set[str]:
    shared = left & right
    if ("integer" in left and "number" in right) or ("integer" in right and "number" in left):
        shared.add("integer")
    return shared


def _exclude_types(allowed: set[str], excluded: Any, pointer: str, document: SchemaDocument) -> set[str]:
    if excluded is False:
        return allowed
    if excluded is True or excluded == {}:
        return set()
    if isinstance(excluded, dict) and set(excluded) == {"type"}:
        types = excluded["type"]
        excluded_types = {types} if isinstance(types, str) else set(types)
        if "number" in excluded_types:
            excluded_types.add("integer")
        if "integer" not in excluded_types or "number" in excluded_types or "number" not in allowed:
            return allowed - excluded_types
    document.note_unenforced(pointer, "not")
    return allowed
