"""Schema keywords without subschemas: valid values are kept, obvious mistakes corrected, type words translated."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from rightseat.plugins.openapi.node import Node, ProblemList

JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
ANY_TYPE_WORDS = frozenset(("any", "*", "mixed", "unknown", "enum", "undefined", "variant", "anytype"))

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "integer": ("int", "int8", "int16", "int32", "int64", "uint", "uint32", "uint64", "long", "short", "bigint"),
    "number": ("float", "float32", "float64", "double", "decimal", "numeric", "real"),
    "string": ("str", "text", "char", "varchar", "character"),
    "boolean": ("bool",),
    "array": ("list", "tuple", "set"),
    "object": ("dict", "map", "hash", "json", "struct", "obj", "dictionary"),
    "null": ("none", "nil", "void"),
}

_TYPE_BY_WORD = {word: name for name, words in _SYNONYMS.items() for word in (name, *words)}

_FORMAT_SYNONYMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("date", "time", "duration", "uuid", "email", "password", "ipv6"), ()),
    "date-time": ("datetime",),
    "binary": ("file",),
    "byte": ("bytes", "base64"),
    "uri": ("url",),
    "ipv4": ("ip",),
}
_FORMAT_BY_WORD = {word: name for name, words in _FORMAT_SYNONYMS.items() for word in (name, *words)}
INVALID = object()
"""Result of a keyword's parser for a value that cannot be used."""
COUNT_KEYWORDS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains")
BOUND_KEYWORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
MAX_TEXT = 2_000
MAX_EXAMPLES = 3
MAX_EXAMPLE_LENGTH = 500
TIMESTAMP_SCHEMA: dict[str, Any] = {"type": ["string", "integer"], "format": "timestamp"}
"""A number of seconds or a date as text."""


def schema_for_type_word(word: str) -> dict[str, Any] | None:
    """Return the schema for a type word, `{}` for any value, None for an unknown word."""
    name = word.strip().lower()
    if name in ANY_TYPE_WORDS or not name:
        return {}
    if name in _TYPE_BY_WORD:
        return {"type": _TYPE_BY_WORD[name]}
    if name in _FORMAT_BY_WORD:
        return {"type": "string", "format": _FORMAT_BY_WORD[name]}
    if name == "timestamp":
        return TIMESTAMP_SCHEMA
    if name.endswith("[]") and (inner := schema_for_type_word(name[:-2])) is not None:
        return {"type": "array", "items": inner}
    return None


def coerce_value(value: Any, types: tuple[str, ...]) -> Any:
    """Convert a value to one of the types if only its quotes are wrong ("10" for an integer)."""
    if not types or json_type(value) in types or (json_type(value) == "integer" and "number" in types):
        return value
    if isinstance(value, str):
        return unquote_value(value, types)
    if "string" in types and isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else f"{value}"
    return int(value) if "integer" in types and isinstance(value, float) and value.is_integer() else value


def unquote_value(value: str, types: tuple[str, ...]) -> Any:
    word = value.strip()
    if "boolean" in types and word.lower() in ("true", "false"):
        return word.lower() == "true"
    if {"integer", "number"} & set(types):
        digits = word.removeprefix("-")
        if digits.isascii() and digits.isdecimal() and len(digits) < 19:
            return int(word)
        whole, dot, part = digits.partition(".")
        if dot and "number" in types and (whole + part).isascii() and (whole + part).isdecimal():
            return float(word)
    return value


def json_type(value: Any) -> str:
    """Return the JSON type of a value."""
    for name, python in (("boolean", bool), ("integer", int), ("number", float), ("string", str)):
        if isinstance(value, python):
            return name
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "null"


def parse_count(value: Any) -> Any:
    value = unquote_value(value, ("integer",)) if isinstance(value, str) else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else INVALID


def parse_bound(value: Any) -> Any:
    value = unquote_value(value, ("number",)) if isinstance(value, str) else value
    return value if isinstance(value, int | float) and not isinstance(value, bool) else INVALID


def parse_positive(value: Any) -> Any:
    bound = parse_bound(value)
    return bound if bound is not INVALID and bound > 0 else INVALID


def parse_text(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return value.strip()[:MAX_TEXT] if isinstance(value, str) and value.strip() else INVALID


def parse_enum(value: Any) -> Any:
    if isinstance(value, list):
        return value or INVALID
    return INVALID if value is None or isinstance(value, dict) else [value]


def parse_bool(value: Any) -> Any:
    return value if isinstance(value, bool) else INVALID


def parse_any(value: Any) -> Any:
    return value


KEYWORD_PARSERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(COUNT_KEYWORDS, parse_count),
    **dict.fromkeys(BOUND_KEYWORDS, parse_bound),
    **dict.fromkeys(("description", "format", "contentEncoding", "contentMediaType"), parse_text),
    **dict.fromkeys(("default", "const"), parse_any),
    "multipleOf": parse_positive,
    "enum": parse_enum,
    "uniqueItems": parse_bool,
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
        parsed = parser(value)
        if parsed is not INVALID:
            keywords[key] = parsed
        elif value is not None and value != "":
            what = "It has a value that cannot be used, and is passed over."
            problems.add(node.child(key), what, "Correct it, or leave it out.")
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
        examples += [named["value"] for named in several.values() if isinstance(named, dict) and "value" in named]
    usable = (example for example in examples if example not in (None, "") and len(str(example)) <= MAX_EXAMPLE_LENGTH)
    return list(islice(usable, MAX_EXAMPLES))
