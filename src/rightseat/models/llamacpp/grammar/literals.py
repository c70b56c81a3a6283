"""Enumerated values of a schema: enum and const."""

from __future__ import annotations

import json
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.document import ANNOTATION_KEYWORDS, SchemaConjunction, SchemaDocument
from rightseat.models.llamacpp.grammar.expr import Expr, Lit, alt
from rightseat.types.schema import get_validator


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
        return (
            "{" + ",".join(f"{dump_literal(key)}:{canonical_key(value[key])}" for key in sorted(value)) + "}"
        )
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


_EXPANDED_KEYWORDS = {
    "enum",
    "const",
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "format",
}


def _remaining_keywords(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in schema.items() if key not in _EXPANDED_KEYWORDS | ANNOTATION_KEYWORDS
    }
