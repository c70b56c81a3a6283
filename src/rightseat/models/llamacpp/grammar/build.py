"""Compile a schema to rules: each set of pointers becomes alternatives by type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.arrays import array
from rightseat.models.llamacpp.grammar.dialect import modern
from rightseat.models.llamacpp.grammar.disjoint import note_overlaps
from rightseat.models.llamacpp.grammar.document import Document, Way
from rightseat.models.llamacpp.grammar.expr import NEVER, Expr, Lit, alt
from rightseat.models.llamacpp.grammar.kinds import kinds
from rightseat.models.llamacpp.grammar.literals import literals, named
from rightseat.models.llamacpp.grammar.numbers import MAX_DIGITS, Span, integer, number
from rightseat.models.llamacpp.grammar.objects import object_
from rightseat.models.llamacpp.grammar.rules import Rules
from rightseat.models.llamacpp.grammar.strings import string
from rightseat.models.llamacpp.grammar.writer import Writer
from rightseat.types.schema import MAX_BYTES, MAX_DEPTH, checker, depth

MAX_LISTED = 256


def sound(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema as JSON Schema 2020-12; CallerError if it is too large, too deep or invalid."""
    if depth(schema) > MAX_DEPTH:
        raise CallerError(f"The JSON Schema is nested deeper than {MAX_DEPTH} levels.")
    try:
        text = msgspec.json.encode(schema)
    except (UnicodeEncodeError, TypeError, OverflowError) as error:
        raise CallerError(f"The JSON Schema cannot be written as JSON: {str(error)[:200]}") from None
    if len(text) > MAX_BYTES:
        raise CallerError(f"The JSON Schema has {len(text)} bytes; at most {MAX_BYTES} are taken.")
    today: dict[str, Any] = modern(msgspec.json.decode(text))
    checker(today)
    return today


def add_schema(rules: Rules, schema: dict[str, Any], hint: str) -> str:
    document = Document(sound(schema), rules.limits)
    writer = Writer(rules, document)
    name = writer.node(frozenset({"#"}), hint).name
    while writer.todo:
        places = writer.todo.pop()
        rules.bodies[writer.names[places]] = alt(*(_way(way, writer) for way in document.ways(places)))
    note_overlaps(document)
    rules.unsaid += document.unsaid
    if name in rules.bury():
        raise CallerError("No finite value satisfies the JSON Schema: its demands contradict each other.")
    return name


def _way(way: Way, writer: Writer) -> Expr:
    values = named(way)
    if values is not None:
        return literals(values, way, writer.document)
    allowed = kinds(way, writer.document)
    if len(allowed) == 6 and not any(part.schema.keys() & {"type"} for part in way.parts):
        return writer.anything(writer.limits.depth)
    return alt(*(_kind(kind, way, writer) for kind in allowed))


def _kind(kind: str, way: Way, writer: Writer) -> Expr:
    match kind:
        case "object":
            return object_(way, writer)
        case "array":
            return array(way, writer)
        case "string":
            return writer.rules.share("string", string(way, writer.document))
        case "boolean":
            return alt(Lit("true"), Lit("false"))
        case "null":
            return Lit("null")
        case _:
            return writer.rules.share(kind, numeric(kind == "integer", way, writer))


def numeric(whole: bool, way: Way, writer: Writer) -> Expr:
    span = _span(way, writer.document)
    step = _step(way)
    if step is None:
        return integer(span, writer.limits) if whole else number(span, writer.limits)
    power = step.normalize()
    if power.as_tuple().digits == (1,) and abs(power.adjusted()) <= MAX_DIGITS:
        if power >= 1:
            return integer(span, writer.limits, int(power))
        return integer(span, writer.limits) if whole else number(span, writer.limits, -power.adjusted())
    if (step == int(step) and whole) or step == int(step):
        listed = _listed(span, int(step))
        if listed is not None:
            return listed
    for part in way.parts:
        if "multipleOf" in part.schema:
            writer.document.note(part.place, "multipleOf")
    return integer(span, writer.limits) if whole or step == int(step) else number(span, writer.limits)


def _listed(span: Span, step: int) -> Expr | None:
    """List all multiples between two close bounds; None if there are too many."""
    if span.low is None or span.high is None or (span.high - span.low) / step > MAX_LISTED:
        return None
    first = -int(-span.low // step) if span.low <= 0 else -(-int(span.low) // step)
    found = []
    for value in range((first - 2) * step, int(span.high) + step, step):
        above = value > span.low or (value == span.low and not span.above)
        below = value < span.high or (value == span.high and not span.below)
        if above and below:
            found.append(Lit(str(value)))
    return alt(*found) if found else NEVER


def _step(way: Way) -> Decimal | None:
    steps = {Decimal(repr(given)) for given in way.given("multipleOf")}
    if not steps:
        return None
    largest = max(steps)
    # Multiples of the largest step cover the others if these divide it; 0.3 makes the caller note it.
    return largest if all(largest % step == 0 for step in steps) else Decimal("0.3")


def _span(way: Way, document: Document) -> Span:
    low = _bound(way, document, "minimum", "exclusiveMinimum", 1)
    high = _bound(way, document, "maximum", "exclusiveMaximum", -1)
    return Span(low[0], high[0], low[1], high[1])


def _bound(way: Way, document: Document, at: str, beyond: str, sign: int) -> tuple[Decimal | None, bool]:
    """Return the tightest bound and whether it is exclusive."""
    found: list[tuple[Decimal, bool]] = []
    for part in way.parts:
        for key in (at, beyond):
            if key in part.schema:
                value = Decimal(repr(part.schema[key]))
                if max(abs(value.adjusted()), len(value.as_tuple().digits)) > MAX_DIGITS:
                    document.note(part.place, key)
                else:
                    found.append((value, key == beyond))
    if not found:
        return None, False
    return max(found, key=lambda bound: (sign * bound[0], bound[1]))
