"""Grammar of objects: named properties in the schema's order, then open ones."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.document import Part, Places, Way, below
from rightseat.models.llamacpp.grammar.expr import NEVER, Expr, Lit, alt, rep, seq
from rightseat.models.llamacpp.grammar.keys import Keys
from rightseat.models.llamacpp.grammar.literals import text
from rightseat.models.llamacpp.grammar.rules import COLON, COMMA
from rightseat.models.llamacpp.grammar.writer import Writer

# Limit of the table that counts properties.
MAX_TABLE = 20_000


class Member(Struct, frozen=True):
    body: Expr
    required: bool


class Bounds(Struct, frozen=True):
    low: int
    high: int
    extras: int
    """Maximum number of properties beyond the named ones."""


def object_(way: Way, writer: Writer) -> Expr:
    names = {name: None for given in way.given("properties") for name in given}
    required = {name for given in way.given("required") for name in given}
    names |= dict.fromkeys(name for given in way.given("required") for name in given)
    keys = Keys(way, writer, list(names))
    members = []
    for name in names:
        if keys.allows(name):
            value = writer.node(places(way, name, keys), name)
            members.append(Member(seq(Lit(text(name)), COLON, value), name in required))
        elif name in required:
            return NEVER
    extra = _extra(way, writer, keys)
    _note(way, writer, required)
    bounds = _bounds(way, writer, members, extra)
    return seq(Lit("{"), _members(members, extra, bounds, writer), Lit("}"))


def places(way: Way, name: str, keys: Keys) -> Places:
    """Return the pointers of all schemas that constrain this property."""
    found = set()
    evaluated = False
    for part in way.parts:
        mine = [below(part.place, "properties", name)] if name in part.schema.get("properties", ()) else []
        mine += [
            below(part.place, "patternProperties", pattern)
            for pattern in part.schema.get("patternProperties", ())
            if keys.matches(part, pattern, name)
        ]
        if not mine and "additionalProperties" in part.schema:
            mine = [below(part.place, "additionalProperties")]
        evaluated = evaluated or bool(mine)
        found.update(mine)
    if not evaluated:
        found.update(_rest(way))
    return frozenset(found)


def _rest(way: Way) -> list[str]:
    return [below(p.place, "unevaluatedProperties") for p in way.parts if "unevaluatedProperties" in p.schema]


def _extra(way: Way, writer: Writer, keys: Keys) -> Expr:
    """Return one property beyond the named ones; NEVER if none is allowed."""
    patterned = [part for part in way.parts if part.schema.get("patternProperties")]
    if patterned:
        return _patterned(patterned, way, writer, keys)
    given = [
        below(part.place, "additionalProperties")
        for part in way.parts
        if "additionalProperties" in part.schema
    ]
    given = given or _rest(way)
    # A schema that names properties and does not mention others gets no others: a model needs none.
    if not given and (way.given("properties") or way.given("required")) and _least(way) <= len(keys.names):
        return NEVER
    if any(writer.document.at(place) is False for place in given):
        return NEVER
    key = keys.open()
    return NEVER if key == NEVER else seq(key, COLON, writer.node(frozenset(given), "property"))


def _patterned(parts: list[Part], way: Way, writer: Writer, keys: Keys) -> Expr:
    found: list[Expr] = []
    several = sum(len(part.schema["patternProperties"]) for part in parts) > 1
    for part in parts:
        for pattern in part.schema["patternProperties"]:
            key = keys.pattern(part, pattern, several)
            mine = {below(part.place, "patternProperties", pattern)}
            for other in way.parts:
                if other is not part and "additionalProperties" in other.schema:
                    mine.add(below(other.place, "additionalProperties"))
            found.append(seq(key, COLON, writer.node(frozenset(mine), "property")))
    return alt(*found)


def _note(way: Way, writer: Writer, required: set[str]) -> None:
    note = writer.document.note
    for at, part in enumerate(way.parts):
        needs: dict[str, Any] = part.schema.get("dependentRequired", {})
        if not all(required.issuperset(names) for names in needs.values()):
            note(part.place, "dependentRequired")
        if part.schema.get("dependentSchemas"):
            note(part.place, "dependentSchemas")
        if "unevaluatedProperties" in part.schema and at:
            note(part.place, "unevaluatedProperties")


def _least(way: Way) -> int:
    return max((int(given) for given in way.given("minProperties")), default=0)


def _bounds(way: Way, writer: Writer, members: list[Member], extra: Expr) -> Bounds:
    low = _least(way)
    most = max(low, len(members) + writer.limits.properties)
    high = min((int(given) for given in way.given("maxProperties")), default=most)
    needed = sum(member.required for member in members)
    extras = 0 if extra == NEVER else max(writer.limits.properties, low)
    if low > 1000:
        raise CallerError(f"minProperties {low} is more than a grammar can ask for; at most 1000 is.")
    # Two open names may be equal, so only one of them is certain to count.
    if extras and low - needed > 1:
        _blame(way, writer, "minProperties")
    if (len(members) + 1) * (min(high, len(members)) + 2) > MAX_TABLE and (low > 1 or high < len(members)):
        _blame(way, writer, "minProperties", "maxProperties")
        low, high = 0, len(members) + extras
    return Bounds(low, high, extras)


def _blame(way: Way, writer: Writer, *keys: str) -> None:
    for part in way.parts:
        for key in keys:
            if key in part.schema:
                writer.document.note(part.place, key)


def _members(members: list[Member], extra: Expr, bounds: Bounds, writer: Writer) -> Expr:
    """Build a table of continuations, from the last property to the first, by properties so far.

    Each cell is one rule, so the number of rules is linear in the optional properties; all continuations
    share one comma, so that the engine follows a single parse up to it.
    """
    counted = max(bounds.low, bounds.high if bounds.high < len(members) + bounds.extras else 0)
    cells = [_extras(extra, done, bounds) for done in range(counted + 1)]
    ends = True
    for member in reversed(members):
        before = [
            seq(member.body, _then(cells[min(done + 1, counted)], ends and done + 1 >= bounds.low))
            if done < bounds.high
            else NEVER
            for done in range(counted + 1)
        ]
        if not member.required:
            before = [alt(cell, skipped) for cell, skipped in zip(before, cells, strict=True)]
            before = [cell if cell == NEVER else writer.rules.share("next", cell) for cell in before]
        cells, ends = before, ends and not member.required
    return rep(cells[0], 0, 1) if ends and bounds.low == 0 else cells[0]


def _then(cell: Expr, ends: bool) -> Expr:
    return rep(seq(COMMA, cell), 0, 1) if ends else seq(COMMA, cell)


def _extras(extra: Expr, done: int, bounds: Bounds) -> Expr:
    """Return one or more properties beyond the named ones."""
    low, high = max(1, bounds.low - done), min(bounds.extras, bounds.high - done)
    return NEVER if high < low else seq(extra, rep(seq(COMMA, extra), low - 1, high - 1))
