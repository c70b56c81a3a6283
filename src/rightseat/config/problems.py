"""ConfigProblems: all problems of a file, each with line, key and a fix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rightseat.config.lines import Key, find_line
from rightseat.types.nearest import closest_match

_TYPE_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table",
    "dict": "a table",
    "array": "a list",
    "list": "a list",
}


class ConfigProblems:
    def __init__(self, path: Path, lines: dict[Key, int]) -> None:
        self.path = path
        self.lines = lines
        self.items: list[tuple[int, str]] = []

    def add(self, key: Key, text: str) -> None:
        self.add_sentence(key, f"{'.'.join(key)}: {text}")

    def add_sentence(self, key: Key, text: str) -> None:
        """Add a problem whose text names the key itself."""
        line = find_line(self.lines, key) or 0
        place = f"{self.path}:{line}" if line else str(self.path)
        self.items.append((line, f"{place}: {text}"))

    def add_unknown_key(self, key: Key, known: Iterable[str]) -> None:
        near = closest_match(key[-1], known)
        hint = f"Did you mean {near}?" if near else f"Known here: {', '.join(known)}."
        self.add(key, f"unknown key. {hint}")

    def add_wrong_type(self, key: Key, expected: str, value: Any) -> None:
        # Never show the value: it may be a misplaced secret.
        kind = type(value).__name__
        self.add(key, f"expected {expected}, got {_TYPE_WORDS.get(kind, kind)}.")

    def add_invalid_value(self, key: Key, error: str) -> None:
        """Add msgspec's error, in the words of TOML."""
        text, _, place = error.partition(" - at ")
        text = re.sub(r"`([\w ]+?)(?: \| null)?`", lambda m: _TYPE_WORDS.get(m[1], m[0]), text)
        where = re.search(r"`\$?(.*)`", place)
        inside = f" (at {where[1]})" if where and where[1] else ""
        self.add(key, f"{text[:1].lower()}{text[1:]}{inside}.")

    def format_message(self) -> str:
        return "\n".join(text for _, text in sorted(self.items))
