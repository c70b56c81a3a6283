"""Parse plain YAML scalars by the rules of YAML 1.2, as OpenAPI requires.

In YAML 1.1 `NO` is false, `2024-10-09` a date and `1:20` eighty; here each stays text.
"""

from __future__ import annotations

import math
import re

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_HEX_OR_OCTAL = re.compile(r"0x[0-9a-fA-F]{1,15}|0o[0-7]{1,20}")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FIRST = frozenset("+-.0123456789")
_DIGITS = 18  # always fits 64 bits
MAX_NUMBER_LENGTH = 40


def parse_scalar(text: str) -> str | int | float | bool | None:
    if text in _NULLS:
        return None
    truth = _BOOLEANS.get(text)
    if truth is not None:
        return truth
    if text[0] not in _FIRST or len(text) > MAX_NUMBER_LENGTH:
        return text
    if _INTEGER.fullmatch(text):
        return parse_integer(text)
    if _HEX_OR_OCTAL.fullmatch(text):
        return int(text, 0)
    return parse_float(text) if _NUMBER.fullmatch(text) else text


def parse_integer(text: str) -> int | float | str:
    """Parse an integer; beyond 64 bits it becomes a float, because the JSON encoder cannot hold it."""
    return int(text) if len(text) <= _DIGITS else parse_float(text)


def parse_float(text: str) -> float | str:
    """Parse a float; text that overflows stays text."""
    value = float(text)
    return value if math.isfinite(value) else text
