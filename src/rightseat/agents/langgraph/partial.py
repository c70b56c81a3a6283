"""JSON that is still being written: the value of what is there already."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)("?)', re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
# An escape that has begun, or the first half of a character that takes two.
_HALF = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?$")
_DEEPEST = 64
_WORDS = {"true": True, "false": False, "null": None}


class Unwritten(Exception):
    """Nothing of the value is there yet, or it cannot be told what it will be."""


def partial(text: str) -> Any:
    """What `text`, the beginning of a JSON text, says so far; None where that is nothing."""
    try:
        return Reading(text).value(0)
    except Unwritten:
        return None


class Reading:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def next(self) -> str:
        """The next character that is not blank; the end is an empty one."""
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
        """And whether it is whole."""
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise Unwritten
        self.at = found.end()
        inner, whole = found[1], bool(found[2])
        if not whole:
            # The pattern stops before a last backslash that nothing follows.
            inner = _HALF.sub("", inner)
            self.at = len(self.text)
        try:
            made: str = msgspec.json.decode(f'"{inner}"', type=str)
        except msgspec.DecodeError:
            raise Unwritten from None
        return made, whole

    def plain(self) -> Any:
        """A number or a word, once something follows it: before, it may still grow."""
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        found = _NUMBER.match(self.text, self.at)
        if found is None or found.end() == len(self.text):
            raise Unwritten
        self.at = found.end()
        return msgspec.json.decode(found[0])
