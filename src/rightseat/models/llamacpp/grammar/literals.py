"""Enumerated values of a schema: enum and const."""

from __future__ import annotations

import json
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.document import SILENT, Document, Way
from rightseat.models.llamacpp.grammar.expr import Expr, Lit, alt
from rightseat.types.schema import checker


def text(value: Any) -> str:
    """Return the only JSON spelling that the grammar allows for a value or key."""
    return json.dumps(_whole(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _whole(value: Any) -> Any:
    """Convert integral floats to int: the same number in fewer tokens."""
    if isinstance(value, dict):
        return {name: _whole(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_whole(child) for child in value]
    short = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if short else value


def identity(value: Any) -> str:
    """Return a key that is equal for values that JSON Schema considers equal."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{text(key)}:{identity(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(identity, value)) + "]"
    return text(value)


def named(way: Way) -> list[Any] | None:
    """Return the values allowed by every enum and const; None if there is no such keyword."""
    lists = [*way.given("enum"), *([value] for value in way.given("const"))]
    if not lists:
        return None
    shared = {identity(value): value for value in lists[0]}
    for others in lists[1:]:
        allowed = set(map(identity, others))
        shared = {key: value for key, value in shared.items() if key in allowed}
    return list(shared.values())


def literals(values: list[Any], way: Way, document: Document) -> Expr:
    """Return literals of the values that also satisfy the conjunction's other keywords."""
    rest = [_rest(part.schema) for part in way.parts]
    judge = {"allOf": [schema for schema in rest if schema]}
    if judge["allOf"]:
        for key in ("$defs", "definitions", "$id"):
            if key in document.root:
                judge[key] = document.root[key]
        try:
            check = checker(judge).validator
            values = [value for value in values if check.is_valid(value)]
        except (CallerError, ValueError):
            # A reference points elsewhere in the document.
            document.note(way.parts[0].place, "what stands beside enum")
    return alt(*(Lit(text(value)) for value in values))


_OPENED = {"enum", "const", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "format"}


def _rest(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in _OPENED | SILENT}
