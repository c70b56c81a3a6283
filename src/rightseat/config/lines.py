"""Line numbers of the keys of a TOML text, which tomllib does not provide."""

from __future__ import annotations

import re

Key = tuple[str, ...]

_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=")
_MULTILINE = re.compile(r"\"\"\"|'''")


def _split_dotted(dotted: str) -> Key:
    return tuple(name.strip("\"'") for name in re.findall(_NAME, dotted))


def array_key(name: str, number: int) -> str:
    """Return the key of an array's table by its index; the first has the array's own name."""
    return f"{name}[{number}]" if number else name


def find_key_lines(text: str) -> dict[Key, int]:
    lines: dict[Key, int] = {}
    arrays: dict[str, int] = {}
    table: Key = ()
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quote:
            if match := _TABLE.match(line):
                first, *rest = _split_dotted(match[2])
                if match[1] == "[[" and not rest:
                    arrays[first] = arrays.get(first, -1) + 1
                table = (array_key(first, arrays.get(first, 0)), *rest)
                lines.setdefault(table, number)
            elif match := _ASSIGNMENT.match(line):
                lines.setdefault(table + _split_dotted(match[1]), number)
        for mark in _MULTILINE.findall(line):
            # The other kind of quotes inside an open string is text.
            quote = mark if not quote else ("" if mark == quote else quote)
    return lines


def find_line(lines: dict[Key, int], key: Key) -> int | None:
    """Return the line of a key, or of the nearest table around it (keys of inline tables have none)."""
    for length in range(len(key), 0, -1):
        if number := lines.get(key[:length]):
            return number
    return None
