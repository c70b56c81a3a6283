"""JSON types that a conjunction allows."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.grammar.document import Document, Way

ALL = ("object", "array", "string", "number", "boolean", "null")
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


def kinds(way: Way, document: Document) -> list[str]:
    """Return the allowed types in grammar order; without `type`, those that other keywords constrain."""
    allowed: set[str] | None = None
    for given in way.given("type"):
        these = {given} if isinstance(given, str) else set(given)
        allowed = these if allowed is None else _meet(allowed, these)
    if allowed is None:
        allowed = {
            kind for kind, words in _KEYWORDS.items() if any(way.given(word) for word in words)
        } or set(ALL)
    for part in way.parts:
        if "not" in part.schema:
            allowed = _without(allowed, part.schema["not"], part.place, document)
    if "number" in allowed:
        allowed.discard("integer")
    return [kind for kind in (*ALL, "integer") if kind in allowed]


def _meet(left: set[str], right: set[str]) -> set[str]:
    shared = left & right
    if ("integer" in left and "number" in right) or ("integer" in right and "number" in left):
        shared.add("integer")
    return shared


def _without(allowed: set[str], excluded: Any, place: str, document: Document) -> set[str]:
    if excluded is False:
        return allowed
    if excluded is True or excluded == {}:
        return set()
    if isinstance(excluded, dict) and set(excluded) == {"type"}:
        types = excluded["type"]
        gone = {types} if isinstance(types, str) else set(types)
        if "number" in gone:
            gone.add("integer")
        if "integer" not in gone or "number" in gone or "number" not in allowed:
            return allowed - gone
    document.note(place, "not")
    return allowed
