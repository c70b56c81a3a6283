"""What a plain word of YAML means: by the rules of YAML 1.2, as OpenAPI asks for them.

Under the older rules `NO` is false, `2024-10-09` a date and `1:20` eighty: here each is the text it was.
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
_DIGITS = 18  # what surely fits 64 bits, sign or not
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
    """Beyond 64 bits it is a float: no JSON that leaves here could hold it."""
    return int(text) if len(text) <= _DIGITS else number(text)


def number(text: str) -> float | str:
    """What is too large for a number stays the text it was."""
    found = float(text)
    return found if math.isfinite(found) else text
