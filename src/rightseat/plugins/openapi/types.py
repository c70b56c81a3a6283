"""Type words used in documents and their JSON Schema types."""

from __future__ import annotations

from typing import Any

JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
ANY_TYPE_WORDS = frozenset(("any", "*", "mixed", "unknown", "enum", "undefined", "variant", "anytype"))
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "integer": (
        "int",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint",
        "uint32",
        "uint64",
        "long",
        "short",
        "bigint",
    ),
    "number": ("float", "float32", "float64", "double", "decimal", "numeric", "real"),
    "string": ("str", "text", "char", "varchar", "character"),
    "boolean": ("bool",),
    "array": ("list", "tuple", "set"),
    "object": ("dict", "map", "hash", "json", "struct", "obj", "dictionary"),
    "null": ("none", "nil", "void"),
}
_TYPE_BY_WORD = {word: name for name, words in _SYNONYMS.items() for word in (name, *words)}
_FORMAT_BY_WORD = {
    "date": "date",
    "datetime": "date-time",
    "date-time": "date-time",
    "time": "time",
    "duration": "duration",
    "file": "binary",
    "binary": "binary",
    "byte": "byte",
    "bytes": "byte",
    "base64": "byte",
    "uuid": "uuid",
    "email": "email",
    "uri": "uri",
    "url": "uri",
    "password": "password",
    "ip": "ipv4",
    "ipv4": "ipv4",
    "ipv6": "ipv6",
}
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
