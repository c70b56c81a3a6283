"""Regex patterns on numbers, which the plugin guide allows and JSON Schema does not.

A schema holds such a pattern as `x-pattern`; `check_number_patterns` checks arguments against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PATTERN = "x-pattern"
MAX_DEPTH = 40
PLACES = 9
_ATOMS = re.compile(
    r"(?:-|\\-|\\d|\\\.|\[(?:[-.0-9]|\\d)+\]|[0-9]|\(\?:|[()|])(?:[?*+]|\{\d{1,2}(?:,\d{0,2})?\})?"
)
_QUANTIFIED_GROUP = re.compile(r"\)[*+{]")


def plain(pattern: str) -> str:
    """Return the pattern without ^ and $: it applies to the whole number anyway."""
    bare = pattern.removeprefix("^")
    return bare[:-1] if bare.endswith("$") and not bare.endswith(r"\$") else bare


def simple(bare: str) -> bool:
    """Whether the pattern has only digits, points, signs and alternatives, so that matching is fast."""
    at = 0
    while at < len(bare):
        found = _ATOMS.match(bare, at)
        if found is None:
            return False
        at = found.end()
    return len(bare) <= 200 and not _QUANTIFIED_GROUP.search(bare) and compiles(bare)


def compiles(bare: str) -> bool:
    try:
        re.compile(bare)
    except (re.error, OverflowError):
        return False
    return True


def problem(schema: dict[str, Any], value: Any) -> str | None:
    """Return a message for the model if the value violates an `x-pattern` of the schema; else None."""
    return _problem(schema, value, schema.get("$defs") or {}, "", 0)


def spellings(value: float) -> Iterator[str]:
    """Yield the spellings of a number: 1.5 may have been 1.50."""
    yield str(value)
    yield f"{value:.15g}"
    for places in range(PLACES):
        if float(written := f"{value:.{places}f}") == value:
            yield written


def _problem(schema: Any, value: Any, defs: dict[str, Any], where: str, depth: int) -> str | None:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    if "$ref" in schema:
        target = defs.get(str(schema["$ref"]).removeprefix("#/$defs/"))
        return _problem(target, value, defs, where, depth + 1)
    if isinstance(value, dict):
        inner = [(schema.get("properties") or {}).get(key) for key in value]
        pairs = zip(inner, value.values(), (f"{where}.{key}".lstrip(".") for key in value), strict=True)
        return next(filter(None, (_problem(one, v, defs, at, depth + 1) for one, v, at in pairs)), None)
    if isinstance(value, list):
        items = enumerate(value)
        found = (_problem(schema.get("items"), v, defs, f"{where}[{n}]", depth + 1) for n, v in items)
        return next(filter(None, found), None)
    pattern = schema.get(PATTERN)
    if pattern is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    bare = plain(pattern)
    if not simple(bare) or any(re.fullmatch(bare, written) for written in spellings(value)):
        return None
    return f"{where or 'value'}: {value} does not match the pattern {pattern}"
