"""Schema keywords without subschemas: valid values are kept, obvious mistakes corrected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightseat.plugins.openapi.node import Node, ProblemList
from rightseat.plugins.openapi.types import unquote_value

COUNT_KEYWORDS = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
)
BOUND_KEYWORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
MAX_TEXT = 2_000
MAX_EXAMPLES = 3
MAX_EXAMPLE_LENGTH = 500
KeywordValue = tuple[bool, Any]
INVALID: KeywordValue = (False, None)


def parse_count(value: Any) -> KeywordValue:
    value = unquote_value(value, ("integer",)) if isinstance(value, str) else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return (True, value) if good else INVALID


def parse_bound(value: Any) -> KeywordValue:
    value = unquote_value(value, ("number",)) if isinstance(value, str) else value
    return (True, value) if isinstance(value, int | float) and not isinstance(value, bool) else INVALID


def parse_positive(value: Any) -> KeywordValue:
    is_valid, bound = parse_bound(value)
    return (True, bound) if is_valid and bound > 0 else INVALID


def parse_text(value: Any) -> KeywordValue:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return (True, value.strip()[:MAX_TEXT]) if isinstance(value, str) and value.strip() else INVALID


def parse_enum(value: Any) -> KeywordValue:
    if isinstance(value, list):
        return (True, value) if value else INVALID
    return INVALID if value is None or isinstance(value, dict) else (True, [value])


def parse_bool(value: Any) -> KeywordValue:
    return (True, value) if isinstance(value, bool) else INVALID


def parse_any(value: Any) -> KeywordValue:
    return True, value


KEYWORD_PARSERS: dict[str, Callable[[Any], KeywordValue]] = {
    **dict.fromkeys(COUNT_KEYWORDS, parse_count),
    **dict.fromkeys(BOUND_KEYWORDS, parse_bound),
    "multipleOf": parse_positive,
    "description": parse_text,
    "format": parse_text,
    "contentEncoding": parse_text,
    "contentMediaType": parse_text,
    "enum": parse_enum,
    "uniqueItems": parse_bool,
    "default": parse_any,
    "const": parse_any,
}
# In 3.0 these are booleans beside `minimum` and `maximum`.
_EXCLUSIVE_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def convert_plain_keywords(node: Node, problems: ProblemList) -> dict[str, Any]:
    """Convert the keywords without subschemas: bounds, enum, texts."""
    keywords: dict[str, Any] = {}
    for key, value in node.value.items():
        parser = KEYWORD_PARSERS.get(key)
        if parser is None or (key in _EXCLUSIVE_BOUNDS and isinstance(value, bool)):
            continue
        is_valid, parsed = parser(value)
        if is_valid:
            keywords[key] = parsed
        elif value is not None and value != "":
            problems.add(
                node.child(key),
                "It has a value that cannot be used, and is passed over.",
                "Correct it, or leave it out.",
            )
    for key, limited in _EXCLUSIVE_BOUNDS.items():
        if node.value.get(key) is True and limited in keywords:
            keywords[key] = keywords.pop(limited)
    return keywords


def collect_examples(node: Node) -> list[Any]:
    """Collect `example` and `examples`: a list in 3.1 schemas, named objects elsewhere."""
    value = node.value
    examples = [value["example"]] if value.get("example") is not None else []
    several = value.get("examples")
    if isinstance(several, list):
        examples += several
    elif isinstance(several, dict):
        examples += [one["value"] for one in several.values() if isinstance(one, dict) and "value" in one]
    return [one for one in examples if one not in (None, "") and len(str(one)) <= MAX_EXAMPLE_LENGTH][
        :MAX_EXAMPLES
    ]
