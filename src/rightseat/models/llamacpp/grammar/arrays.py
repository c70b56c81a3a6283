"""Grammar of arrays: positional items, then further items, within bounds."""

from __future__ import annotations

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.document import Pointers, SchemaConjunction, join_pointer
from rightseat.models.llamacpp.grammar.expr import EMPTY, NEVER, Expr, Lit, alt, rep, seq
from rightseat.models.llamacpp.grammar.limits import MAX_REPEAT, MAX_REQUIRED
from rightseat.models.llamacpp.grammar.rules import COMMA
from rightseat.models.llamacpp.grammar.writer import SchemaWriter


def build_array(conjunction: SchemaConjunction, writer: SchemaWriter) -> Expr:
    low, high = _item_bounds(conjunction, writer)
    _note_array_keywords(conjunction, writer, low, high)
    prefix = max((len(given) for given in conjunction.collect_values("prefixItems")), default=0)
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
    low = max((int(given) for given in conjunction.collect_values("minItems")), default=0)
    if low > MAX_REQUIRED:
        raise CallerError(f"minItems {low} is more than a grammar can ask for; at most {MAX_REQUIRED} is.")
    high = min(
        (int(given) for given in conjunction.collect_values("maxItems")),
        default=max(low, writer.limits.items),
    )
    return low, min(high, max(low, MAX_REPEAT))


def _note_array_keywords(conjunction: SchemaConjunction, writer: SchemaWriter, low: int, high: int) -> None:
    for part in conjunction.parts:
        schema = part.schema
        if schema.get("uniqueItems") is True and high > 1:
            writer.document.note_unenforced(part.pointer, "uniqueItems")
        if ("contains" in schema and schema.get("minContains", 1) != 0) or "maxContains" in schema:
            writer.document.note_unenforced(part.pointer, "contains")
        if schema.get("unevaluatedItems") not in (None, False, True):
            writer.document.note_unenforced(part.pointer, "unevaluatedItems")


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
    if any(
        given is False for given in conjunction.collect_values("unevaluatedItems")
    ) and not conjunction.collect_values("items"):
        return None
    pointers = _item_pointers(conjunction, prefix)
    return None if not pointers and low <= prefix and prefix else pointers
