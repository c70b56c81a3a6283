"""Regex patterns on numbers, lists and objects, which the plugin guide allows and JSON Schema does not.

A schema holds such a pattern as `x-pattern`; `check_value_patterns` checks arguments against it: the text of a
number, the JSON of a list or an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rightseat.errors import CallerError
from rightseat.types.schema import get_validator

VALUE_PATTERN = "x-pattern"
MAX_DEPTH = 40
MAX_DECIMALS = 9
_ATOMS = re.compile(r"(?:-|\\-|\\d|\\\.|\[(?:[-.0-9]|\\d)+\]|[0-9]|\(\?:|[()|])(?:[?*+]|\{\d{1,2}(?:,\d{0,2})?\})?")
_QUANTIFIED_GROUP = re.compile(r"\)[*+{]")


def strip_anchors(pattern: str) -> str:
    """Return the pattern without ^ and $: it applies to the whole value anyway."""
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


def check_value_patterns(schema: dict[str, Any], value: Any) -> str | None:
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
    pattern = schema.get(VALUE_PATTERN)
    if isinstance(pattern, str) and not matches_pattern(pattern, value):
        shown = value if isinstance(value, int | float) else "its JSON"
        return f"{where or 'value'}: {shown} does not match the pattern {pattern}"
    if isinstance(value, dict):
        inner = [(schema.get("properties") or {}).get(key) for key in value]
        pairs = zip(inner, value.values(), (f"{where}.{key}".lstrip(".") for key in value), strict=True)
        return next(filter(None, (_check_value(one, v, defs, at, depth + 1) for one, v, at in pairs)), None)
    if isinstance(value, list):
        items = enumerate(value)
        found = (_check_value(schema.get("items"), v, defs, f"{where}[{n}]", depth + 1) for n, v in items)
        return next(filter(None, found), None)
    return None


def matches_pattern(pattern: str, value: Any) -> bool:
    """Whether a number's text or a container's JSON matches the whole pattern; other values are not its subject."""
    if isinstance(value, dict | list):
        spaced = json.dumps(value, ensure_ascii=False)
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return any(matches_text(pattern, text) for text in (compact, spaced))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    bare = strip_anchors(pattern)
    return not is_simple_pattern(bare) or any(re.fullmatch(bare, written) for written in iter_spellings(value))


def matches_text(pattern: str, text: str) -> bool:
    """Whether the whole text matches, with a regex engine that bounds its time."""
    try:
        return get_validator({"pattern": f"^(?:{strip_anchors(pattern)})$"}).find_problem(text) is None
    except CallerError:
        return True
