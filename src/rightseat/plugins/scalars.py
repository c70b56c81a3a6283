"""Parse plain YAML scalars by the rules of YAML 1.2, as OpenAPI requires.

In YAML 1.1 `NO` is false, `2024-10-09` a date and `1:20` eighty; here each stays text.
"""

from __future__ import annotations

import math
import re

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_CODED = re.compile(r"0x[0-9a-fA-F]{1,15}|0o[0-7]{1,20}")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FIRST = frozenset("+-.0123456789")
_DIGITS = 18  # always fits 64 bits
LONGEST = 40


def meant(text: str) -> str | int | float | bool | None:
    if text in _NULLS:
        return None
    truth = _TRUTHS.get(text)
    if truth is not None:
        return truth
    if text[0] not in _FIRST or len(text) > LONGEST:
        return text
    if _INTEGER.fullmatch(text):
        return integer(text)
    if _CODED.fullmatch(text):
        return int(text, 0)
    return number(text) if _NUMBER.fullmatch(text) else text


def integer(text: str) -> int | float | str:
    """Parse an integer; beyond 64 bits it becomes a float, because the JSON encoder cannot hold it."""
    return int(text) if len(text) <= _DIGITS else number(text)


def number(text: str) -> float | str:
    """Parse a float; text that overflows stays text."""
    found = float(text)
    return found if math.isfinite(found) else text
