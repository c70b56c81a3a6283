"""Regex patterns on numbers, which the plugin guide allows and JSON Schema does not.

A schema holds such a pattern as `x-pattern`; `check_number_patterns` checks arguments against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

NUMBER_PATTERN = "x-pattern"
MAX_DEPTH = 40
MAX_DECIMALS = 9
_ATOMS = re.compile(r"(?:-|\\-|\\d|\\\.|\[(?:[-.0-9]|\\d)+\]|[0-9]|\(\?:|[()|])(?:[?*+]|\{\d{1,2}(?:,\d{0,2})?\})?")
_QUANTIFIED_GROUP = re.compile(r"\)[*+{]")


def strip_anchors(pattern: str) -> str:
    """Return the pattern without ^ and $: it applies to the whole number anyway."""
    bare = pattern.removeprefix("^")
    return bare[:-1] if bare.endswith("$") and not bare.endswith(r"\$") else bare


def is_simple_pattern(bare: str) -> bool:
    """Whether the pattern has only digits, points, signs and alternatives, so that matching is fast."""
    at = 0
    while at < len(bare):
        atom = _ATOMS.match(bare, at)
        if atom is None:
            return False
        at = atom.end()
    if len(bare) > 200 or _QUANTIFIED_GROUP.search(bare):
        return False
    try:
        re.compile(bare)
    except (re.error, OverflowError):
        return False
    return True


def check_number_patterns(schema: dict[str, Any], value: Any) -> str | None:
    """Return a message for the model if the value violates an `x-pattern` of the schema; else None."""
    return _check_value(schema, value, schema.get("$defs") or {}, "", 0)


def iter_spellings(value: float) -> Iterator[str]:
    """Yield the spellings of a number: 1.5 may have been 1.50."""
    yield str(value)
    yield f"{value:.15g}"
    for places in range(MAX_DECIMALS):
        if float(written := f"{value:.{places}f}") == value:
            yield written


def _check_value(schema: Any, value: Any, defs: dict[str, Any], where: str, depth: int) -> str | None:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    if "$ref" in schema:
        target = defs.get(str(schema["$ref"]).removeprefix("#/$defs/"))
        return _check_value(target, value, defs, where, depth + 1)
    if isinstance(value, dict):
        inner = [(schema.get("properties") or {}).get(key) for key in value]
        pairs = zip(inner, value.values(), (f"{where}.{key}".lstrip(".") for key in value), strict=True)
        return next(filter(None, (_check_value(one, v, defs, at, depth + 1) for one, v, at in pairs)), None)
    if isinstance(value, list):
        items = enumerate(value)
        found = (_check_value(schema.get("items"), v, defs, f"{where}[{n}]", depth + 1) for n, v in items)
        return next(filter(None, found), None)
    pattern = schema.get(NUMBER_PATTERN)
    if pattern is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    bare = strip_anchors(pattern)
    if not is_simple_pattern(bare) or any(re.fullmatch(bare, written) for written in iter_spellings(value)):
        return None
    return f"{where or 'value'}: {value} does not match the pattern {pattern}"
