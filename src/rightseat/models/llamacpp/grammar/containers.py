"""Grammar of arrays (positional items, then further ones) and objects (named properties in order, then open ones)."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY
from rightseat.models.llamacpp.grammar.expr import EMPTY, NEVER, Expr, Lit, Ref, alt, chars, matches_text, rep, seq
from rightseat.models.llamacpp.grammar.numbers import build_any_number
from rightseat.models.llamacpp.grammar.rules import COLON, COMMA, MAX_REPEAT, MAX_REQUIRED, GrammarRules, to_rule_name
from rightseat.models.llamacpp.grammar.schema_analysis import dump_literal, list_enumerated_values
from rightseat.models.llamacpp.grammar.schema_pointers import (
    Pointers,
    SchemaConjunction,
    SchemaDocument,
    SchemaPart,
    join_pointer,
)
from rightseat.models.llamacpp.grammar.strings import (
    QUOTE,
    build_other_names,
    build_string,
    build_string_content,
    try_pattern_content,
)
from rightseat.types.schema import get_validator


class SchemaWriter:
    """Adds one rule per set of pointers; `pending` are those whose body is not built yet."""

    def __init__(self, rules: GrammarRules, document: SchemaDocument) -> None:
        self.rules = rules
        self.document = document
        self.limits = rules.limits
        self.rule_names: dict[Pointers, str] = {}
        self.pending: list[Pointers] = []

    def add_node(self, pointers: Pointers, hint: str) -> Ref:
        """Return the rule for values that satisfy all pointers; its body comes later (schemas recurse)."""
        pointers = frozenset(map(self.document.follow_references, pointers))
        if not pointers:
            return self.add_any_value(self.limits.depth)
        if pointers not in self.rule_names:
            self.rule_names[pointers] = self.rules.reserve(f"{hint} rule" if to_rule_name(hint) == "root" else hint)
            self.pending.append(pointers)
        return Ref(self.rule_names[pointers])

    def add_any_value(self, depth: int) -> Ref:
        """Return the rule for any JSON value with at most `depth` nesting levels."""
        text = self.rules.add_shared("string", build_string(SchemaConjunction(()), self.document))
        number = self.rules.add_shared("number", build_any_number(self.limits))
        scalars = (text, number, Lit("true"), Lit("false"), Lit("null"))
        value = alt(*scalars)
        key = self.rules.add_shared("key", seq(QUOTE, rep(Ref("char"), 0, self.limits.key), QUOTE))
        for _ in range(depth):
            inner = self.rules.add_shared("any", value)
            items = rep(seq(inner, rep(seq(COMMA, inner), 0, self.limits.items - 1)), 0, 1)
            member = seq(key, COLON, inner)
            members = rep(seq(member, rep(seq(COMMA, member), 0, self.limits.properties - 1)), 0, 1)
            value = alt(seq(Lit("{"), members, Lit("}")), seq(Lit("["), items, Lit("]")), *scalars)
        return self.rules.add_shared("any", value)


def build_array(conjunction: SchemaConjunction, writer: SchemaWriter) -> Expr:
    low, high = _item_bounds(conjunction, writer)
    _note_array_keywords(conjunction, writer.document, high)
    prefix = max(map(len, conjunction.collect_values("prefixItems")), default=0)
    further_pointers = _further_item_pointers(conjunction, prefix, low)
    if further_pointers is None:
        high = min(high, prefix)
    item = NEVER if further_pointers is None else writer.add_node(further_pointers, "item")
    if prefix == 0:
        return seq(Lit("["), _list_items(item, low, high), Lit("]"))
    further_items = rep(seq(COMMA, item), max(0, low - prefix), max(0, high - prefix))
    # Built from the last position to the first, so that each item can refer to its tail.
    tail = further_items if low <= prefix or further_pointers is not None else NEVER
    for at in reversed(range(prefix)):
        item_and_tail = (
            seq(EMPTY if at == 0 else COMMA, writer.add_node(_item_pointers(conjunction, at), "item"), tail)
            if at < high
            else NEVER
        )
        tail = item_and_tail if at < low else rep(item_and_tail, 0, 1)
        tail = writer.rules.add_shared("items", tail) if at else tail
    return seq(Lit("["), tail, Lit("]"))


def _list_items(item: Expr, low: int, high: int) -> Expr:
    if high < low:
        return NEVER
    if high == 0:
        return EMPTY
    some = seq(item, rep(seq(COMMA, item), max(0, low - 1), high - 1))
    return some if low else alt(some, EMPTY)


def _item_bounds(conjunction: SchemaConjunction, writer: SchemaWriter) -> tuple[int, int]:
    low = conjunction.largest("minItems")
    if low > MAX_REQUIRED:
        raise CallerError(f"minItems {low} is more than a grammar can ask for; at most {MAX_REQUIRED} is.")
    high = min(map(int, conjunction.collect_values("maxItems")), default=max(low, writer.limits.items))
    return low, min(high, max(low, MAX_REPEAT))


def _note_array_keywords(conjunction: SchemaConjunction, document: SchemaDocument, high: int) -> None:
    for part in conjunction.parts:
        schema = part.schema
        if schema.get("uniqueItems") is True and high > 1:
            document.note_unenforced(part.pointer, "uniqueItems")
        if ("contains" in schema and schema.get("minContains", 1) != 0) or "maxContains" in schema:
            document.note_unenforced(part.pointer, "contains")
        if schema.get("unevaluatedItems") not in (None, False, True):
            document.note_unenforced(part.pointer, "unevaluatedItems")


def _item_pointers(conjunction: SchemaConjunction, at: int) -> Pointers:
    pointers = set()
    for part in conjunction.parts:
        if at < len(part.schema.get("prefixItems", ())):
            pointers.add(join_pointer(part.pointer, "prefixItems", at))
        elif "items" in part.schema:
            pointers.add(join_pointer(part.pointer, "items"))
    return frozenset(pointers)


def _further_item_pointers(conjunction: SchemaConjunction, prefix: int, low: int) -> Pointers | None:
    """Return the schemas of items after the positional ones; None if no further items are allowed."""
    if False in conjunction.collect_values("unevaluatedItems") and not conjunction.collect_values("items"):
        return None
    pointers = _item_pointers(conjunction, prefix)
    return None if not pointers and low <= prefix and prefix else pointers


class PropertyNames:
    def __init__(self, conjunction: SchemaConjunction, writer: SchemaWriter, names: list[str]) -> None:
        self.writer = writer
        self.document = writer.document
        self.names = names
        self.constraints = [part for part in conjunction.parts if part.schema.get("propertyNames", True) is not True]

    def allows(self, name: str) -> bool:
        """Return whether `propertyNames` allows this name; if it cannot be evaluated, allow and note it."""
        for part in self.constraints:
            schema = {"allOf": [part.schema["propertyNames"]]}
            schema |= {key: self.document.root[key] for key in ("$defs", "definitions") if key in self.document.root}
            try:
                if not get_validator(schema).validator.is_valid(name):
                    return False
            except (CallerError, ValueError):
                self.document.note_unenforced(part.pointer, "propertyNames")
        return True

    def matches_pattern(self, part: SchemaPart, pattern: str, name: str) -> bool:
        try:
            return bool(get_validator({"pattern": pattern}).validator.is_valid(name))
        except (CallerError, ValueError):
            self.document.note_unenforced(part.pointer, "patternProperties")
            return False

    def build_open_name(self) -> Expr:
        """Return the grammar of any other name, within `propertyNames`."""
        limit = self.writer.limits.key
        if self.constraints:
            return self._build_constrained_name(limit)
        content = build_other_names(self.names, limit)
        # With too many names to exclude, no other name is allowed; the output is still valid.
        return NEVER if content is None else self._quote_name(content)

    def _build_constrained_name(self, limit: int) -> Expr:
        options: list[Expr] = []
        ways = self.document.expand_conjunctions(
            frozenset(join_pointer(part.pointer, "propertyNames") for part in self.constraints)
        )
        for way in ways:
            values = list_enumerated_values(way)
            if values is not None:
                texts = (value for value in values if isinstance(value, str) and value not in self.names)
                options += [Lit(dump_literal(value)) for value in texts if self.allows(value)]
            else:
                shape = build_string_content(way, self.document, limit)
                options.append(self._build_checked_name(shape, self.constraints[0], "propertyNames"))
        return alt(*options)

    def build_pattern_name(self, part: SchemaPart, pattern: str, several: bool) -> Expr:
        limit = self.writer.limits.key
        shape = try_pattern_content(pattern, self.document, limit)
        if shape is None:
            self.document.note_unenforced(part.pointer, "patternProperties")
            shape = rep(chars(ANY), 0, limit)
        elif several or self.constraints:
            # A name may match several patterns and must then satisfy all of them, which is not enforced.
            self.document.note_unenforced(part.pointer, "patternProperties")
        return self._build_checked_name(shape, part, "patternProperties")

    def _build_checked_name(self, shape: Expr, part: SchemaPart, keyword: str) -> Expr:
        if any(matches_text(shape, name) for name in self.names):
            self.document.note_unenforced(part.pointer, keyword)
        return self._quote_name(shape)

    def _quote_name(self, shape: Expr) -> Expr:
        return self.writer.rules.add_shared("key", seq(QUOTE, shape, QUOTE))


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
    required = conjunction.collect_names("required")
    names = conjunction.collect_names("properties") | required
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
        own = [join_pointer(part.pointer, "properties", name)] if name in part.schema.get("properties", ()) else []
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
        pointers.update(conjunction.list_pointers("unevaluatedProperties"))
    return frozenset(pointers)


def _build_extra_property(conjunction: SchemaConjunction, writer: SchemaWriter, keys: PropertyNames) -> Expr:
    """Return one property beyond the named ones; NEVER if none is allowed."""
    patterned = [part for part in conjunction.parts if part.schema.get("patternProperties")]
    if patterned:
        return _build_pattern_property(patterned, conjunction, writer, keys)
    pointers = conjunction.list_pointers("additionalProperties") or conjunction.list_pointers("unevaluatedProperties")
    names_some = conjunction.collect_values("properties") or conjunction.collect_values("required")
    # A schema that names properties and does not mention others gets no others: a model needs none.
    if not pointers and names_some and conjunction.largest("minProperties") <= len(keys.names):
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
            additional = {*conjunction.list_pointers("additionalProperties")}
            additional.discard(join_pointer(part.pointer, "additionalProperties"))
            pointers = frozenset({join_pointer(part.pointer, "patternProperties", pattern), *additional})
            options.append(seq(key, COLON, writer.add_node(pointers, "property")))
    return alt(*options)


def _note_object_keywords(conjunction: SchemaConjunction, writer: SchemaWriter, required: dict[str, None]) -> None:
    note = writer.document.note_unenforced
    for at, part in enumerate(conjunction.parts):
        needs: dict[str, Any] = part.schema.get("dependentRequired", {})
        if not all(required.keys() >= set(names) for names in needs.values()):
            note(part.pointer, "dependentRequired")
        if part.schema.get("dependentSchemas"):
            note(part.pointer, "dependentSchemas")
        if "unevaluatedProperties" in part.schema and at:
            note(part.pointer, "unevaluatedProperties")


def _property_bounds(
    conjunction: SchemaConjunction, writer: SchemaWriter, members: list[ObjectMember], extra: Expr
) -> PropertyBounds:
    low = conjunction.largest("minProperties")
    most = max(low, len(members) + writer.limits.properties)
    high = min(map(int, conjunction.collect_values("maxProperties")), default=most)
    needed = sum(member.required for member in members)
    extras = 0 if extra == NEVER else max(writer.limits.properties, low)
    if low > 1000:
        raise CallerError(f"minProperties {low} is more than a grammar can ask for; at most 1000 is.")
    # Two open names may be equal, so only one of them is certain to count.
    if extras and low - needed > 1:
        writer.document.note_keywords(conjunction, "minProperties")
    if (len(members) + 1) * (min(high, len(members)) + 2) > MAX_TABLE_CELLS and (low > 1 or high < len(members)):
        writer.document.note_keywords(conjunction, "minProperties", "maxProperties")
        low, high = 0, len(members) + extras
    return PropertyBounds(low, high, extras)


def _build_members(members: list[ObjectMember], extra: Expr, bounds: PropertyBounds, writer: SchemaWriter) -> Expr:
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
    low, high = max(1, bounds.low - done), min(bounds.extras, bounds.high - done)
    return NEVER if high < low else seq(extra, rep(seq(COMMA, extra), low - 1, high - 1))
