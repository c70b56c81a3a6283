"""Parser of incomplete JSON: returns the value of the text so far."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)("?)', re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
# An incomplete escape, or the first half of a surrogate pair.
_HALF = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?$")
_DEEPEST = 64
_WORDS = {"true": True, "false": False, "null": None}


class Unwritten(Exception):
    """The value has not started, or is still ambiguous."""


def partial(text: str) -> Any:
    """Parse `text`, the beginning of a JSON text; None if it has no value yet."""
    try:
        return Reading(text).value(0)
    except Unwritten:
        return None


class Reading:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def next(self) -> str:
        """Return the next non-blank character, or an empty text at the end."""
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise Unwritten
        match self.next():
            case "{":
                return self.object(depth)
            case "[":
                return self.array(depth)
            case '"':
                return self.string()[0]
            case _:
                return self.plain()

    def object(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self.at += 1
        while self.next() == '"':
            key, whole = self.string()
            if not whole or self.next() != ":":
                break
            self.at += 1
            try:
                made[key] = self.value(depth + 1)
            except Unwritten:
                break
            if self.next() != ",":
                break
            self.at += 1
        self.at += self.next() == "}"
        return made

    def array(self, depth: int) -> list[Any]:
        made: list[Any] = []
        self.at += 1
        while self.next() not in ("", "]"):
            try:
                made.append(self.value(depth + 1))
            except Unwritten:
                break
            if self.next() != ",":
                break
            self.at += 1
        self.at += self.next() == "]"
        return made

    def string(self) -> tuple[str, bool]:
        """Return a string and whether it is complete."""
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise Unwritten
        self.at = found.end()
        inner, whole = found[1], bool(found[2])
        if not whole:
            # The pattern stops before a final lone backslash.
            inner = _HALF.sub("", inner)
            self.at = len(self.text)
        try:
            made: str = msgspec.json.decode(f'"{inner}"', type=str)
        except msgspec.DecodeError:
            raise Unwritten from None
        return made, whole

    def plain(self) -> Any:
        """Parse a literal or a number; a number at the end of the text may still grow and is incomplete."""
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        found = _NUMBER.match(self.text, self.at)
        if found is None or found.end() == len(self.text):
            raise Unwritten
        self.at = found.end()
        return msgspec.json.decode(found[0])
