"""Compile a schema to rules: each set of pointers becomes alternatives by type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.containers import SchemaWriter, build_array, build_object
from rightseat.models.llamacpp.grammar.expr import Expr, Lit, alt
from rightseat.models.llamacpp.grammar.numbers import MAX_DIGITS, NumberRange, build_integer, build_number, ceil_to_step
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.models.llamacpp.grammar.schema_analysis import (
    build_literals,
    list_allowed_types,
    list_enumerated_values,
    note_overlaps,
)
from rightseat.models.llamacpp.grammar.schema_pointers import SchemaConjunction, SchemaDocument, upgrade_schema
from rightseat.models.llamacpp.grammar.strings import build_string
from rightseat.types.schema import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, get_validator, nesting_depth

MAX_LISTED_MULTIPLES = 256


def normalize_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema as JSON Schema 2020-12; CallerError if it is too large, too deep or invalid."""
    if nesting_depth(schema) > MAX_SCHEMA_DEPTH:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_SCHEMA_DEPTH} levels.")
    try:
        text = msgspec.json.encode(schema)
    except (UnicodeEncodeError, TypeError, OverflowError) as error:
        raise CallerError(f"The JSON Schema cannot be written as JSON: {str(error)[:200]}") from None
    if len(text) > MAX_SCHEMA_BYTES:
        raise CallerError(f"The JSON Schema has {len(text)} bytes; at most {MAX_SCHEMA_BYTES} are taken.")
    normalized: dict[str, Any] = upgrade_schema(msgspec.json.decode(text))
    get_validator(normalized)
    return normalized


def add_schema(rules: GrammarRules, schema: dict[str, Any], hint: str) -> str:
    document = SchemaDocument(normalize_schema(schema), rules.limits)
    writer = SchemaWriter(rules, document)
    name = writer.add_node(frozenset({"#"}), hint).name
    while writer.pending:
        pointers = writer.pending.pop()
        rules.bodies[writer.rule_names[pointers]] = alt(
            *(_build_conjunction(way, writer) for way in document.expand_conjunctions(pointers))
        )
    note_overlaps(document)
    rules.unenforced += document.unenforced
    if name in rules.find_unsatisfiable():
        raise CallerError("No finite value satisfies the JSON Schema: its demands contradict each other.")
    return name


def _build_conjunction(conjunction: SchemaConjunction, writer: SchemaWriter) -> Expr:
    values = list_enumerated_values(conjunction)
    if values is not None:
        return build_literals(values, conjunction, writer.document)
    allowed = list_allowed_types(conjunction, writer.document)
    if len(allowed) == 6 and not conjunction.collect_values("type"):
        return writer.add_any_value(writer.limits.depth)
    return alt(*(_build_type(kind, conjunction, writer) for kind in allowed))


def _build_type(kind: str, conjunction: SchemaConjunction, writer: SchemaWriter) -> Expr:
    match kind:
        case "object":
            return build_object(conjunction, writer)
        case "array":
            return build_array(conjunction, writer)
        case "string":
            return writer.rules.add_shared("string", build_string(conjunction, writer.document))
        case "boolean":
            return alt(Lit("true"), Lit("false"))
        case "null":
            return Lit("null")
        case _:
            return writer.rules.add_shared(kind, build_numeric(kind == "integer", conjunction, writer))


def build_numeric(integral: bool, conjunction: SchemaConjunction, writer: SchemaWriter) -> Expr:
    low, low_excluded = _tightest_bound(conjunction, writer.document, "minimum", "exclusiveMinimum", 1)
    high, high_excluded = _tightest_bound(conjunction, writer.document, "maximum", "exclusiveMaximum", -1)
    span = NumberRange(low, high, low_excluded, high_excluded)
    step = _common_step(conjunction)
    if step is None:
        return build_integer(span, writer.limits) if integral else build_number(span, writer.limits)
    power = step.normalize()
    if power.as_tuple().digits == (1,) and abs(power.adjusted()) <= MAX_DIGITS:
        if power >= 1:
            return build_integer(span, writer.limits, int(power))
        return build_integer(span, writer.limits) if integral else build_number(span, writer.limits, -power.adjusted())
    whole = step == int(step)
    if (
        whole
        and span.low is not None
        and span.high is not None
        and (span.high - span.low) / step <= MAX_LISTED_MULTIPLES
    ):
        first = ceil_to_step(span.low, int(step), span.low_excluded)
        last = -ceil_to_step(-span.high, int(step), span.high_excluded)
        return alt(*(Lit(str(count * int(step))) for count in range(first, last + 1)))
    writer.document.note_keywords(conjunction, "multipleOf")
    return build_integer(span, writer.limits) if integral or whole else build_number(span, writer.limits)


def _common_step(conjunction: SchemaConjunction) -> Decimal | None:
    steps = {Decimal(repr(step)) for step in conjunction.collect_values("multipleOf")}
    largest = max(steps, default=None)
    # Multiples of the largest step cover the others if these divide it; 0.3 makes the caller note it.
    return largest if largest is None or all(largest % step == 0 for step in steps) else Decimal("0.3")


def _tightest_bound(
    conjunction: SchemaConjunction, document: SchemaDocument, inclusive_key: str, exclusive_key: str, sign: int
) -> tuple[Decimal | None, bool]:
    bounds: list[tuple[Decimal, bool]] = []
    for part in conjunction.parts:
        for key in (inclusive_key, exclusive_key):
            if key in part.schema:
                value = Decimal(repr(part.schema[key]))
                if max(abs(value.adjusted()), len(value.as_tuple().digits)) > MAX_DIGITS:
                    document.note_unenforced(part.pointer, key)
                else:
                    bounds.append((value, key == exclusive_key))
    return max(bounds, key=lambda bound: (sign * bound[0], bound[1]), default=(None, False))
