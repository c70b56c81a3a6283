"""Helpers for text: suggestions for misspelled names, plurals, token estimates without a tokenizer, lenient JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import msgspec


def closest_match(word: str, known: Iterable[str]) -> str | None:
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return matches[0] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the closest name, or lists all names if none is close."""
    names = list(known)
    match = closest_match(word, names)
    return f"Did you mean {match!r}?" if match else f"Known: {', '.join(names)}."


def pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too many: one per 4 characters, one per CJK character."""
    wide = sum(char > "\u2e7f" for char in text) if not text.isascii() else 0
    return wide + (len(text) - wide + 3) // 4


def decode_or_none(text: str | bytes) -> Any:
    """Decode JSON; return None if it cannot be read."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
