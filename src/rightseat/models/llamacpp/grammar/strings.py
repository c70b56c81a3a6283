"""Grammar of strings and of the content of property names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY, ranges_of, subtract
from rightseat.models.llamacpp.grammar.document import SchemaConjunction, SchemaDocument
from rightseat.models.llamacpp.grammar.expr import (
    EMPTY,
    NEVER,
    Expr,
    Lit,
    alt,
    chars,
    fit_length,
    measure_length,
    rep,
    seq,
)
from rightseat.models.llamacpp.grammar.formats import build_format_content as formatted
from rightseat.models.llamacpp.grammar.limits import MAX_REPEAT, MAX_REQUIRED
from rightseat.models.llamacpp.grammar.regex import UnsupportedPattern, parse_pattern

QUOTE = Lit('"')
# Limit of the trie that excludes names.
MAX_TREE = 4000


def build_string(conjunction: SchemaConjunction, document: SchemaDocument) -> Expr:
    return seq(QUOTE, build_string_content(conjunction, document, document.limits.string), QUOTE)


def build_string_content(conjunction: SchemaConjunction, document: SchemaDocument, limit: int) -> Expr:
    low = max((int(given) for given in conjunction.collect_values("minLength")), default=0)
    high = min((int(given) for given in conjunction.collect_values("maxLength")), default=None)
    if low > MAX_REQUIRED:
        raise CallerError(f"minLength {low} is more than a grammar can ask for; at most {MAX_REQUIRED} is.")
    shape = _build_shape(conjunction, document, limit)
    if shape is not None:
        return _fit_to_length(shape, low, high, conjunction, document)
    most = max(limit, low) if high is None else min(high, max(MAX_REPEAT, low + limit))
    return rep(chars(ANY), low, most)


def _build_shape(conjunction: SchemaConjunction, document: SchemaDocument, limit: int) -> Expr | None:
    """Return the content by the first supported pattern, else by format; notes further patterns."""
    pattern_shape: Expr | None = None
    for part in conjunction.parts:
        pattern = part.schema.get("pattern")
        if pattern is None:
            continue
        parsed = try_pattern_content(pattern, document, limit) if pattern_shape is None else None
        if parsed is None:
            document.note_unenforced(part.pointer, "pattern")
        else:
            pattern_shape = parsed
    if pattern_shape is not None:
        return pattern_shape
    known = (formatted(name) for name in conjunction.collect_values("format") if isinstance(name, str))
    return next((shape for shape in known if shape is not None), None)


def try_pattern_content(pattern: str, document: SchemaDocument, limit: int) -> Expr | None:
    try:
        return parse_pattern(
            pattern, limit, document.limits.pattern_padding, document.limits.anchored_patterns
        )
    except UnsupportedPattern:
        return None


def _fit_to_length(
    shape: Expr, low: int, high: int | None, conjunction: SchemaConjunction, document: SchemaDocument
) -> Expr:
    most = max(measure_length(shape)[1], low) if high is None else high
    fitted = fit_length(shape, low, most)
    if fitted is not None:
        return fitted
    for part in conjunction.parts:
        for key in ("minLength", "maxLength"):
            if key in part.schema:
                document.note_unenforced(part.pointer, key)
    return shape


def build_other_names(names: Iterable[str], limit: int) -> Expr | None:
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
    return _build_other(tree, limit) if size <= MAX_TREE else None


def _build_other(tree: dict[str, Any], limit: int) -> Expr:
    letters = [char for char in tree if char]
    if limit <= 0:
        return NEVER if "" in tree else EMPTY
    diverging = seq(chars(subtract(ANY, ranges_of("".join(letters)))), rep(chars(ANY), 0, limit - 1))
    known = [seq(chars(ranges_of(char)), _build_other(tree[char], limit - 1)) for char in letters]
    return alt(NEVER if "" in tree else EMPTY, *known, diverging)
