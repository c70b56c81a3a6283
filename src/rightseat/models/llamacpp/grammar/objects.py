"""Grammar of objects: named properties in the schema's order, then open ones."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.document import Pointers, SchemaConjunction, SchemaPart, join_pointer
from rightseat.models.llamacpp.grammar.expr import NEVER, Expr, Lit, alt, rep, seq
from rightseat.models.llamacpp.grammar.keys import PropertyNames
from rightseat.models.llamacpp.grammar.literals import dump_literal
from rightseat.models.llamacpp.grammar.rules import COLON, COMMA
from rightseat.models.llamacpp.grammar.writer import SchemaWriter

# Limit of the table that counts properties.
MAX_TABLE_CELLS = 20_000


class ObjectMember(Struct, frozen=True):
    body: Expr
    required: bool


class PropertyBounds(Struct, frozen=True):
    low: int
    high: int
    extras: int
    """Maximum number of properties beyond the named ones."""


def build_object(conjunction: SchemaConjunction, writer: SchemaWriter) -> Expr:
    names = {name: None for given in conjunction.collect_values("properties") for name in given}
    required = {name for given in conjunction.collect_values("required") for name in given}
    names |= dict.fromkeys(name for given in conjunction.collect_values("required") for name in given)
    keys = PropertyNames(conjunction, writer, list(names))
    members = []
    for name in names:
        if keys.allows(name):
            value = writer.add_node(list_property_pointers(conjunction, name, keys), name)
            members.append(ObjectMember(seq(Lit(dump_literal(name)), COLON, value), name in required))
        elif name in required:
            return NEVER
    extra = _build_extra_property(conjunction, writer, keys)
    _note_object_keywords(conjunction, writer, required)
    bounds = _property_bounds(conjunction, writer, members, extra)
    return seq(Lit("{"), _build_members(members, extra, bounds, writer), Lit("}"))


def list_property_pointers(conjunction: SchemaConjunction, name: str, keys: PropertyNames) -> Pointers:
    """Return the pointers of all schemas that constrain this property."""
    pointers = set()
    evaluated = False
    for part in conjunction.parts:
        own = (
            [join_pointer(part.pointer, "properties", name)]
            if name in part.schema.get("properties", ())
            else []
        )
        own += [
            join_pointer(part.pointer, "patternProperties", pattern)
            for pattern in part.schema.get("patternProperties", ())
            if keys.matches_pattern(part, pattern, name)
        ]
        if not own and "additionalProperties" in part.schema:
            own = [join_pointer(part.pointer, "additionalProperties")]
        evaluated = evaluated or bool(own)
        pointers.update(own)
    if not evaluated:
        pointers.update(_list_unevaluated_pointers(conjunction))
    return frozenset(pointers)


def _list_unevaluated_pointers(conjunction: SchemaConjunction) -> list[str]:
    return [
        join_pointer(p.pointer, "unevaluatedProperties")
        for p in conjunction.parts
        if "unevaluatedProperties" in p.schema
    ]


def _build_extra_property(conjunction: SchemaConjunction, writer: SchemaWriter, keys: PropertyNames) -> Expr:
    """Return one property beyond the named ones; NEVER if none is allowed."""
    patterned = [part for part in conjunction.parts if part.schema.get("patternProperties")]
    if patterned:
        return _build_pattern_property(patterned, conjunction, writer, keys)
    pointers = [
        join_pointer(part.pointer, "additionalProperties")
        for part in conjunction.parts
        if "additionalProperties" in part.schema
    ]
    pointers = pointers or _list_unevaluated_pointers(conjunction)
    # A schema that names properties and does not mention others gets no others: a model needs none.
    if (
        not pointers
        and (conjunction.collect_values("properties") or conjunction.collect_values("required"))
        and _min_properties(conjunction) <= len(keys.names)
    ):
        return NEVER
    if any(writer.document.get_schema(place) is False for place in pointers):
        return NEVER
    key = keys.build_open_name()
    return NEVER if key == NEVER else seq(key, COLON, writer.add_node(frozenset(pointers), "property"))


def _build_pattern_property(
    parts: list[SchemaPart], conjunction: SchemaConjunction, writer: SchemaWriter, keys: PropertyNames
) -> Expr:
    options: list[Expr] = []
    several = sum(len(part.schema["patternProperties"]) for part in parts) > 1
    for part in parts:
        for pattern in part.schema["patternProperties"]:
            key = keys.build_pattern_name(part, pattern, several)
            pointers = {join_pointer(part.pointer, "patternProperties", pattern)}
            for other in conjunction.parts:
                if other is not part and "additionalProperties" in other.schema:
                    pointers.add(join_pointer(other.pointer, "additionalProperties"))
            options.append(seq(key, COLON, writer.add_node(frozenset(pointers), "property")))
    return alt(*options)


def _note_object_keywords(conjunction: SchemaConjunction, writer: SchemaWriter, required: set[str]) -> None:
    note = writer.document.note_unenforced
    for at, part in enumerate(conjunction.parts):
        needs: dict[str, Any] = part.schema.get("dependentRequired", {})
        if not all(required.issuperset(names) for names in needs.values()):
            note(part.pointer, "dependentRequired")
        if part.schema.get("dependentSchemas"):
            note(part.pointer, "dependentSchemas")
        if "unevaluatedProperties" in part.schema and at:
            note(part.pointer, "unevaluatedProperties")


def _min_properties(conjunction: SchemaConjunction) -> int:
    return max((int(given) for given in conjunction.collect_values("minProperties")), default=0)


def _property_bounds(
    conjunction: SchemaConjunction, writer: SchemaWriter, members: list[ObjectMember], extra: Expr
) -> PropertyBounds:
    low = _min_properties(conjunction)
    most = max(low, len(members) + writer.limits.properties)
    high = min((int(given) for given in conjunction.collect_values("maxProperties")), default=most)
    needed = sum(member.required for member in members)
    extras = 0 if extra == NEVER else max(writer.limits.properties, low)
    if low > 1000:
        raise CallerError(f"minProperties {low} is more than a grammar can ask for; at most 1000 is.")
    # Two open names may be equal, so only one of them is certain to count.
    if extras and low - needed > 1:
        _note_keywords(conjunction, writer, "minProperties")
    if (len(members) + 1) * (min(high, len(members)) + 2) > MAX_TABLE_CELLS and (
        low > 1 or high < len(members)
    ):
        _note_keywords(conjunction, writer, "minProperties", "maxProperties")
        low, high = 0, len(members) + extras
    return PropertyBounds(low, high, extras)


def _note_keywords(conjunction: SchemaConjunction, writer: SchemaWriter, *keys: str) -> None:
    for part in conjunction.parts:
        for key in keys:
            if key in part.schema:
                writer.document.note_unenforced(part.pointer, key)


def _build_members(
    members: list[ObjectMember], extra: Expr, bounds: PropertyBounds, writer: SchemaWriter
) -> Expr:
    """Build a table of continuations, from the last property to the first, by properties so far.

    Each cell is one rule, so the number of rules is linear in the optional properties; all continuations
    share one comma, so that the engine follows a single parse up to it.
    """
    counted = max(bounds.low, bounds.high if bounds.high < len(members) + bounds.extras else 0)
    cells = [_build_extra_properties(extra, done, bounds) for done in range(counted + 1)]
    ends = True
    for member in reversed(members):
        before = [
            seq(member.body, _build_next(cells[min(done + 1, counted)], ends and done + 1 >= bounds.low))
            if done < bounds.high
            else NEVER
            for done in range(counted + 1)
        ]
        if not member.required:
            before = [alt(cell, skipped) for cell, skipped in zip(before, cells, strict=True)]
            before = [cell if cell == NEVER else writer.rules.add_shared("next", cell) for cell in before]
        cells, ends = before, ends and not member.required
    return rep(cells[0], 0, 1) if ends and bounds.low == 0 else cells[0]


def _build_next(cell: Expr, ends: bool) -> Expr:
    return rep(seq(COMMA, cell), 0, 1) if ends else seq(COMMA, cell)


def _build_extra_properties(extra: Expr, done: int, bounds: PropertyBounds) -> Expr:
    """Return one or more properties beyond the named ones."""
    low, high = max(1, bounds.low - done), min(bounds.extras, bounds.high - done)
    return NEVER if high < low else seq(extra, rep(seq(COMMA, extra), low - 1, high - 1))
