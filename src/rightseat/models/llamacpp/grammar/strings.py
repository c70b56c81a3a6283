"""Grammar of strings and of the content of property names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY, less, of
from rightseat.models.llamacpp.grammar.document import Document, Way
from rightseat.models.llamacpp.grammar.expr import EMPTY, NEVER, Expr, Lit, alt, chars, fit, measure, rep, seq
from rightseat.models.llamacpp.grammar.formats import content as formatted
from rightseat.models.llamacpp.grammar.limits import MAX_REPEAT, MAX_REQUIRED
from rightseat.models.llamacpp.grammar.regex import Unsayable, parse

QUOTE = Lit('"')
# Limit of the trie that excludes names.
MAX_TREE = 4000


def string(way: Way, document: Document) -> Expr:
    return seq(QUOTE, content(way, document, document.limits.string), QUOTE)


def content(way: Way, document: Document, limit: int) -> Expr:
    low = max((int(given) for given in way.given("minLength")), default=0)
    high = min((int(given) for given in way.given("maxLength")), default=None)
    if low > MAX_REQUIRED:
        raise CallerError(f"minLength {low} is more than a grammar can ask for; at most {MAX_REQUIRED} is.")
    shaped = _shaped(way, document, limit)
    if shaped is not None:
        return _fitted(shaped, low, high, way, document)
    most = max(limit, low) if high is None else min(high, max(MAX_REPEAT, low + limit))
    return rep(chars(ANY), low, most)


def _shaped(way: Way, document: Document, limit: int) -> Expr | None:
    """Return the content by the first supported pattern, else by format; notes further patterns."""
    found: Expr | None = None
    for part in way.parts:
        pattern = part.schema.get("pattern")
        if pattern is None:
            continue
        read = pattern_content(pattern, document, limit) if found is None else None
        if read is None:
            document.note(part.place, "pattern")
        else:
            found = read
    if found is not None:
        return found
    known = (formatted(name) for name in way.given("format") if isinstance(name, str))
    return next((shape for shape in known if shape is not None), None)


def pattern_content(pattern: str, document: Document, limit: int) -> Expr | None:
    try:
        return parse(pattern, limit, document.limits.around, document.limits.whole)
    except Unsayable:
        return None


def _fitted(shaped: Expr, low: int, high: int | None, way: Way, document: Document) -> Expr:
    most = max(measure(shaped)[1], low) if high is None else high
    fitted = fit(shaped, low, most)
    if fitted is not None:
        return fitted
    for part in way.parts:
        for key in ("minLength", "maxLength"):
            if key in part.schema:
                document.note(part.place, key)
    return shaped


def other_than(names: Iterable[str], limit: int) -> Expr | None:
    """Return strings that equal none of the names; None if there are too many names."""
    tree: dict[str, Any] = {}
    size = 0
    # Longer names cannot be generated.
    for name in (name for name in names if len(name) <= limit):
        branch = tree
        for char in name:
            size += char not in branch
            branch = branch.setdefault(char, {})
        branch[""] = {}
    return _other(tree, limit) if size <= MAX_TREE else None


def _other(tree: dict[str, Any], limit: int) -> Expr:
    letters = [char for char in tree if char]
    if limit <= 0:
        return NEVER if "" in tree else EMPTY
    strange = seq(chars(less(ANY, of("".join(letters)))), rep(chars(ANY), 0, limit - 1))
    known = [seq(chars(of(char)), _other(tree[char], limit - 1)) for char in letters]
    return alt(NEVER if "" in tree else EMPTY, *known, strange)
