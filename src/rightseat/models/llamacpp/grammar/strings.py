"""Grammar of strings and of the content of property names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY, ranges_of, subtract
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
from rightseat.models.llamacpp.grammar.regex import UnsupportedPattern, parse_pattern
from rightseat.models.llamacpp.grammar.rules import MAX_REPEAT, MAX_REQUIRED
from rightseat.models.llamacpp.grammar.schema_pointers import SchemaConjunction, SchemaDocument

_LEAP = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"

_DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)

_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

_UUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9]{0,30}|[A-Za-z0-9]{1,15}-[A-Za-z0-9]{1,15})"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,5}}"
_LOCAL = "[A-Za-z0-9_+-]"
_EMAIL = rf"{_LOCAL}{{1,30}}(?:\.{_LOCAL}{{1,15}}){{0,2}}@{_LABEL}(?:\.{_LABEL}){{0,2}}\.[A-Za-z]{{2,12}}"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9][0-9]|[0-9])"
_GROUP = "[0-9A-Fa-f]{1,4}"

_IPV6 = "|".join(
    [
        f"(?:{_GROUP}:){{7}}{_GROUP}",
        f"(?:{_GROUP}:){{1,7}}:",
        *(f"(?:{_GROUP}:){{1,{7 - after}}}(?::{_GROUP}){{1,{after}}}" for after in range(1, 7)),
        f":(?:(?::{_GROUP}){{1,7}}|:)",
    ]
)

_PATH = "[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}"

_URI = (
    rf"(?:https?|ftp|wss?)://{_HOST}(?::[1-9][0-9]{{0,3}})?(?:/(?:{_PATH}|/){{0,500}})?"
    rf"(?:\?(?:{_PATH}|[/?]){{0,500}})?(?:#(?:{_PATH}|[/?]){{0,200}})?|(?:mailto|urn|tel):(?:{_PATH}){{1,200}}"
)

_NUMBER = "[0-9]{1,9}"

_DURATION = (
    f"P(?:{_NUMBER}W|{_NUMBER}Y(?:{_NUMBER}M(?:{_NUMBER}D)?)?(?:T_)?|{_NUMBER}M(?:{_NUMBER}D)?(?:T_)?|{_NUMBER}D(?:T_)?|T_)"
).replace("T_", f"T(?:{_NUMBER}H(?:{_NUMBER}M(?:{_NUMBER}S)?)?|{_NUMBER}M(?:{_NUMBER}S)?|{_NUMBER}S)")

PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "uuid": _UUID,
    "email": _EMAIL,
    "idn-email": _EMAIL,
    "hostname": _HOST,
    "idn-hostname": _HOST,
    "ipv4": rf"{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE}",
    "ipv6": _IPV6,
    "uri": _URI,
    "iri": _URI,
    "duration": _DURATION,
}


@cache
def build_format_content(name: str) -> Expr | None:
    """Return the string content of a format; None for an unknown format."""
    pattern = PATTERNS.get(name)
    return None if pattern is None else parse_pattern(pattern, 1000, 0, anchored=True)


QUOTE = Lit('"')

# Limit of the trie that excludes names.
MAX_TREE = 4000


def build_string(conjunction: SchemaConjunction, document: SchemaDocument) -> Expr:
    return seq(QUOTE, build_string_content(conjunction, document, document.limits.string), QUOTE)


def build_string_content(conjunction: SchemaConjunction, document: SchemaDocument, limit: int) -> Expr:
    low = conjunction.largest("minLength")
    high = min(map(int, conjunction.collect_values("maxLength")), default=None)
    if low > MAX_REQUIRED:
        raise CallerError(f"minLength {low} is more than a grammar can ask for; at most {MAX_REQUIRED} is.")
    shape = _build_shape(conjunction, document, limit)
    if shape is not None:
        return _fit_to_length(shape, low, high, conjunction, document)
    most = max(limit, low) if high is None else min(high, max(MAX_REPEAT, low + limit))
    return rep(chars(ANY), low, most)


def _build_shape(conjunction: SchemaConjunction, document: SchemaDocument, limit: int) -> Expr | None:
    """Return the content by the first supported pattern, else by format; notes further patterns."""
    shape: Expr | None = None
    for part in conjunction.parts:
        if "pattern" in part.schema:
            parsed = try_pattern_content(part.schema["pattern"], document, limit) if shape is None else None
            if parsed is None:
                document.note_unenforced(part.pointer, "pattern")
            shape = shape or parsed
    if shape is not None:
        return shape
    known = (build_format_content(name) for name in conjunction.collect_values("format") if isinstance(name, str))
    return next((shape for shape in known if shape is not None), None)


def try_pattern_content(pattern: str, document: SchemaDocument, limit: int) -> Expr | None:
    try:
        return parse_pattern(pattern, limit, document.limits.pattern_padding)
    except UnsupportedPattern:
        return None


def _fit_to_length(
    shape: Expr, low: int, high: int | None, conjunction: SchemaConjunction, document: SchemaDocument
) -> Expr:
    most = max(measure_length(shape)[1], low) if high is None else high
    fitted = fit_length(shape, low, most)
    if fitted is not None:
        return fitted
    document.note_keywords(conjunction, "minLength", "maxLength")
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
