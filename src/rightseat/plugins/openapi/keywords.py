"""Schema keywords without subschemas: valid values are kept, obvious mistakes corrected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightseat.plugins.openapi.node import Node, Notes
from rightseat.plugins.openapi.types import unquoted

COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains")
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
MAX_WORDS = 2_000
MAX_SAMPLES = 3
MAX_SAMPLE = 500
Mended = tuple[bool, Any]
NOTHING: Mended = (False, None)


def count(value: Any) -> Mended:
    value = unquoted(value, ("integer",)) if isinstance(value, str) else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return (True, value) if good else NOTHING


def limit(value: Any) -> Mended:
    value = unquoted(value, ("number",)) if isinstance(value, str) else value
    return (True, value) if isinstance(value, int | float) and not isinstance(value, bool) else NOTHING


def step(value: Any) -> Mended:
    right, found = limit(value)
    return (True, found) if right and found > 0 else NOTHING


def words(value: Any) -> Mended:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return (True, value.strip()[:MAX_WORDS]) if isinstance(value, str) and value.strip() else NOTHING


def choice(value: Any) -> Mended:
    if isinstance(value, list):
        return (True, value) if value else NOTHING
    return NOTHING if value is None or isinstance(value, dict) else (True, [value])


def truth(value: Any) -> Mended:
    return (True, value) if isinstance(value, bool) else NOTHING


def anything(value: Any) -> Mended:
    return True, value


READERS: dict[str, Callable[[Any], Mended]] = {
    **dict.fromkeys(COUNTS, count),
    **dict.fromkeys(LIMITS, limit),
    "multipleOf": step,
    "description": words,
    "format": words,
    "contentEncoding": words,
    "contentMediaType": words,
    "enum": choice,
    "uniqueItems": truth,
    "default": anything,
    "const": anything,
}
# In 3.0 these are booleans beside `minimum` and `maximum`.
_SHARPENED = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def plain_keywords(node: Node, notes: Notes) -> dict[str, Any]:
    """Convert the keywords without subschemas: bounds, enum, texts."""
    made: dict[str, Any] = {}
    for key, value in node.value.items():
        reader = READERS.get(key)
        if reader is None or (key in _SHARPENED and isinstance(value, bool)):
            continue
        right, found = reader(value)
        if right:
            made[key] = found
        elif value is not None and value != "":
            notes.add(
                node.at(key),
                "It has a value that cannot be used, and is passed over.",
                "Correct it, or leave it out.",
            )
    for key, limited in _SHARPENED.items():
        if node.value.get(key) is True and limited in made:
            made[key] = made.pop(limited)
    return made


def samples(node: Node) -> list[Any]:
    """Collect `example` and `examples`: a list in 3.1 schemas, named objects elsewhere."""
    value = node.value
    found = [value["example"]] if value.get("example") is not None else []
    several = value.get("examples")
    if isinstance(several, list):
        found += several
    elif isinstance(several, dict):
        found += [one["value"] for one in several.values() if isinstance(one, dict) and "value" in one]
    return [one for one in found if one not in (None, "") and len(str(one)) <= MAX_SAMPLE][:MAX_SAMPLES]
