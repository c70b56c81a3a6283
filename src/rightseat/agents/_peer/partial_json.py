"""Parser of incomplete JSON: returns the value of the text so far."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_WHITESPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)("?)', re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
# An incomplete escape, or the first half of a surrogate pair.
_INCOMPLETE_ESCAPE = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?$")
_MAX_DEPTH = 64
_LITERALS = {"true": True, "false": False, "null": None}


class IncompleteJSON(Exception):
    """The value has not started, or is still ambiguous."""


def parse_partial_json(text: str) -> Any:
    """Parse `text`, the beginning of a JSON text; None if it has no value yet."""
    try:
        return PartialJSONParser(text).parse_value(0)
    except IncompleteJSON:
        return None


class PartialJSONParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> str:
        """Return the next non-blank character, or an empty text at the end."""
        match = _WHITESPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position : self.position + 1]

    def parse_value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise IncompleteJSON
        match self.peek():
            case "{":
                return self.parse_object(depth)
            case "[":
                return self.parse_array(depth)
            case '"':
                return self.parse_string()[0]
            case _:
                return self.parse_literal()

    def parse_object(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self.position += 1
        while self.peek() == '"':
            key, is_complete = self.parse_string()
            if not is_complete or self.peek() != ":":
                break
            self.position += 1
            try:
                result[key] = self.parse_value(depth + 1)
            except IncompleteJSON:
                break
            if self.peek() != ",":
                break
            self.position += 1
        self.position += self.peek() == "}"
        return result

    def parse_array(self, depth: int) -> list[Any]:
        result: list[Any] = []
        self.position += 1
        while self.peek() not in ("", "]"):
            try:
                result.append(self.parse_value(depth + 1))
            except IncompleteJSON:
                break
            if self.peek() != ",":
                break
            self.position += 1
        self.position += self.peek() == "]"
        return result

    def parse_string(self) -> tuple[str, bool]:
        """Return a string and whether it is complete."""
        match = _STRING.match(self.text, self.position)
        if match is None:
            raise IncompleteJSON
        self.position = match.end()
        inner, is_complete = match[1], bool(match[2])
        if not is_complete:
            # The pattern stops before a final lone backslash.
            inner = _INCOMPLETE_ESCAPE.sub("", inner)
            self.position = len(self.text)
        try:
            value: str = msgspec.json.decode(f'"{inner}"', type=str)
        except msgspec.DecodeError:
            raise IncompleteJSON from None
        return value, is_complete

    def parse_literal(self) -> Any:
        """Parse a literal or a number; a number at the end of the text may still grow and is incomplete."""
        for word, value in _LITERALS.items():
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        match = _NUMBER.match(self.text, self.position)
        if match is None or match.end() == len(self.text):
            raise IncompleteJSON
        self.position = match.end()
        return msgspec.json.decode(match[0])
