"""Grammar of arrays: positional items, then further items, within bounds."""

from __future__ import annotations

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.document import Places, Way, below
from rightseat.models.llamacpp.grammar.expr import EMPTY, NEVER, Expr, Lit, alt, rep, seq
from rightseat.models.llamacpp.grammar.limits import MAX_REPEAT, MAX_REQUIRED
from rightseat.models.llamacpp.grammar.rules import COMMA
from rightseat.models.llamacpp.grammar.writer import Writer


def array(way: Way, writer: Writer) -> Expr:
    low, high = _bounds(way, writer)
    _note(way, writer, low, high)
    prefix = max((len(given) for given in way.given("prefixItems")), default=0)
    further = _further(way, prefix, low)
    if further is None:
        high = min(high, prefix)
    item = NEVER if further is None else writer.node(further, "item")
    if prefix == 0:
        return seq(Lit("["), _listed(item, low, high), Lit("]"))
    rest = rep(seq(COMMA, item), max(0, low - prefix), max(0, high - prefix))
    # Built from the last position to the first, so that each item can refer to its tail.
    tail = rest if low <= prefix or further is not None else NEVER
    for at in reversed(range(prefix)):
        more = (
            seq(EMPTY if at == 0 else COMMA, writer.node(_position(way, at), "item"), tail)
            if at < high
            else NEVER
        )
        tail = more if at < low else rep(more, 0, 1)
        tail = writer.rules.share("items", tail) if at else tail
    return seq(Lit("["), tail, Lit("]"))


def _listed(item: Expr, low: int, high: int) -> Expr:
    if high < low:
        return NEVER
    if high == 0:
        return EMPTY
    some = seq(item, rep(seq(COMMA, item), max(0, low - 1), high - 1))
    return some if low else alt(some, EMPTY)


def _bounds(way: Way, writer: Writer) -> tuple[int, int]:
    low = max((int(given) for given in way.given("minItems")), default=0)
    if low > MAX_REQUIRED:
        raise CallerError(f"minItems {low} is more than a grammar can ask for; at most {MAX_REQUIRED} is.")
    high = min((int(given) for given in way.given("maxItems")), default=max(low, writer.limits.items))
    return low, min(high, max(low, MAX_REPEAT))


def _note(way: Way, writer: Writer, low: int, high: int) -> None:
    for part in way.parts:
        schema = part.schema
        if schema.get("uniqueItems") is True and high > 1:
            writer.document.note(part.place, "uniqueItems")
        if ("contains" in schema and schema.get("minContains", 1) != 0) or "maxContains" in schema:
            writer.document.note(part.place, "contains")
        if schema.get("unevaluatedItems") not in (None, False, True):
            writer.document.note(part.place, "unevaluatedItems")


def _position(way: Way, at: int) -> Places:
    places = set()
    for part in way.parts:
        if at < len(part.schema.get("prefixItems", ())):
            places.add(below(part.place, "prefixItems", at))
        elif "items" in part.schema:
            places.add(below(part.place, "items"))
    return frozenset(places)


def _further(way: Way, prefix: int, low: int) -> Places | None:
    """Return the schemas of items after the positional ones; None if no further items are allowed."""
    if any(given is False for given in way.given("unevaluatedItems")) and not way.given("items"):
        return None
    places = _position(way, prefix)
    return None if not places and low <= prefix and prefix else places
