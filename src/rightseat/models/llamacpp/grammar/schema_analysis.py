"""What a conjunction allows: its JSON types, its enumerated values, and whether oneOf branches overlap."""

from __future__ import annotations

import json
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.expr import Expr, Lit, alt
from rightseat.models.llamacpp.grammar.schema_pointers import (
    ANNOTATION_KEYWORDS,
    SchemaConjunction,
    SchemaDocument,
    join_pointer,
)
from rightseat.types.schema import get_validator

_JSON_TYPES = {
    dict: "object", list: "array", str: "string", float: "number", int: "number", bool: "boolean", type(None): "null"
}  # fmt: skip
ALL_TYPES = tuple(dict.fromkeys(_JSON_TYPES.values()))

_KEYWORDS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
               "maxProperties", "unevaluatedProperties", "dependentRequired", "dependentSchemas"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}  # fmt: skip


def list_allowed_types(conjunction: SchemaConjunction, document: SchemaDocument) -> list[str]:
    """Return the allowed types in grammar order; without `type`, those that other keywords constrain."""
    allowed: set[str] | None = None
    for value in conjunction.collect_values("type"):
        types = {value} if isinstance(value, str) else set(value)
        allowed = types if allowed is None else _intersect_types(allowed, types)
    if allowed is None:
        allowed = {
            kind for kind, words in _KEYWORDS.items() if any(conjunction.collect_values(word) for word in words)
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


def dump_literal(value: Any) -> str:
    """Return the only JSON spelling that the grammar allows for a value or key."""
    return json.dumps(_shorten_numbers(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _shorten_numbers(value: Any) -> Any:
    """Convert integral floats to int: the same number in fewer tokens."""
    if isinstance(value, dict):
        return {name: _shorten_numbers(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_shorten_numbers(child) for child in value]
    short = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if short else value


def canonical_key(value: Any) -> str:
    """Return a key that is equal for values that JSON Schema considers equal."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump_literal(key)}:{canonical_key(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_key, value)) + "]"
    return dump_literal(value)


def list_enumerated_values(conjunction: SchemaConjunction) -> list[Any] | None:
    """Return the values allowed by every enum and const; None if there is no such keyword."""
    lists = [*conjunction.collect_values("enum"), *([value] for value in conjunction.collect_values("const"))]
    if not lists:
        return None
    shared = {canonical_key(value): value for value in lists[0]}
    for others in lists[1:]:
        allowed = set(map(canonical_key, others))
        shared = {key: value for key, value in shared.items() if key in allowed}
    return list(shared.values())


def build_literals(values: list[Any], conjunction: SchemaConjunction, document: SchemaDocument) -> Expr:
    """Return literals of the values that also satisfy the conjunction's other keywords."""
    remaining = [_remaining_keywords(part.schema) for part in conjunction.parts]
    rest_schema = {"allOf": [schema for schema in remaining if schema]}
    if rest_schema["allOf"]:
        for key in ("$defs", "definitions", "$id"):
            if key in document.root:
                rest_schema[key] = document.root[key]
        try:
            check = get_validator(rest_schema).validator
            values = [value for value in values if check.is_valid(value)]
        except (CallerError, ValueError):
            # A reference points elsewhere in the document.
            document.note_unenforced(conjunction.parts[0].pointer, "what stands beside enum")
    return alt(*(Lit(dump_literal(value)) for value in values))


_EXPANDED_KEYWORDS = {"enum", "const", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "format"}


def _remaining_keywords(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in _EXPANDED_KEYWORDS | ANNOTATION_KEYWORDS}


MAX_COMPARED_BRANCHES = 64


def note_overlaps(document: SchemaDocument) -> None:
    """Note every oneOf of the document whose branches may overlap: it is compiled as anyOf, which is exact
    only for disjoint branches."""
    scratch = SchemaDocument(document.root, document.limits)
    for pointer in list(document.one_of_pointers):
        if not _is_disjoint_one_of(scratch, pointer):
            document.note_unenforced(pointer, "oneOf")


def _is_disjoint_one_of(document: SchemaDocument, pointer: str) -> bool:
    count = len(document.get_schema(pointer)["oneOf"])
    if count == 1:
        return True
    if count > MAX_COMPARED_BRANCHES:
        return False
    branches = [document.expand_conjunctions(frozenset({join_pointer(pointer, "oneOf", at)})) for at in range(count)]
    return all(
        _are_disjoint(left, right, document)
        for at, ways in enumerate(branches)
        for others in branches[at + 1 :]
        for left in ways
        for right in others
    )


def _are_disjoint(left: SchemaConjunction, right: SchemaConjunction, document: SchemaDocument, level: int = 0) -> bool:
    ours, theirs = list_enumerated_values(left), list_enumerated_values(right)
    if ours is not None and theirs is not None:
        return not set(map(canonical_key, ours)) & set(map(canonical_key, theirs))
    shared = _possible_types(left, ours, document) & _possible_types(right, theirs, document)
    if not shared:
        return True
    if shared != {"object"} or level > 2:
        return False
    return (
        _forbids_required(left, right)
        or _forbids_required(right, left)
        or _have_discriminator(left, right, document, level)
    )


def _possible_types(conjunction: SchemaConjunction, values: list[Any] | None, document: SchemaDocument) -> set[str]:
    """Return all types a value may have; without `type` a schema allows every type."""
    if values is not None:
        return {_JSON_TYPES[type(value)] for value in values}
    if not conjunction.collect_values("type"):
        return set(ALL_TYPES)
    return {"number" if kind == "integer" else kind for kind in list_allowed_types(conjunction, document)}


def _forbids_required(left: SchemaConjunction, right: SchemaConjunction) -> bool:
    """Return whether `left` requires a property that `right` forbids."""
    required = left.collect_names("required").keys()
    return any(
        part.schema.get("additionalProperties") is False
        and not part.schema.get("patternProperties")
        and required - part.schema.get("properties", {}).keys()
        for part in right.parts
    )


def _have_discriminator(
    left: SchemaConjunction, right: SchemaConjunction, document: SchemaDocument, level: int
) -> bool:
    """Return whether a property required by both has disjoint values."""
    for name in sorted(left.collect_names("required").keys() & right.collect_names("required").keys()):
        ours, theirs = _property_pointers_of(left, name), _property_pointers_of(right, name)
        if ours and theirs:
            pairs = ((a, b) for a in document.expand_conjunctions(ours) for b in document.expand_conjunctions(theirs))
            if all(_are_disjoint(a, b, document, level + 1) for a, b in pairs):
                return True
    return False


def _property_pointers_of(conjunction: SchemaConjunction, name: str) -> frozenset[str]:
    return frozenset(
        join_pointer(part.pointer, "properties", name)
        for part in conjunction.parts
        if name in part.schema.get("properties", ())
    )
