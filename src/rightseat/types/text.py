"""Helpers for text: suggestions for misspelled names, plurals, invisible characters, lenient JSON, and token
estimates without a tokenizer."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import msgspec

SAMPLE_CHARS = 4000
_WIDE_LEADS = bytes(range(0xE3, 0xF5))
"""First bytes of characters from U+3000 on in UTF-8; no other byte of a character has these values."""


def closest_match(word: str, known: Iterable[str], *, cutoff: float = 0.5) -> str | None:
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the closest name, or lists all names if none is close."""
    names = list(known)
    match = closest_match(word, names)
    return f"Did you mean {match!r}?" if match else f"Known: {', '.join(names)}."


def pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def escape_invisible(text: str, keep: str = "") -> str:
    """Escape the characters that a screen hides or reorders, except those of `keep`."""
    return "".join(char if char.isprintable() or char in keep else f"\\u{ord(char):04x}" for char in text)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too many: one per 4 characters, one per CJK character."""
    wide = 0 if text.isascii() else count_wide(text)
    return wide + (len(text) - wide + 3) // 4


def sample_text(text: str) -> str:
    """Return the start and the end of a long text, for what depends on its words and not on all of them."""
    return text if len(text) <= 2 * SAMPLE_CHARS else f"{text[:SAMPLE_CHARS]}\n{text[-SAMPLE_CHARS:]}"


def count_wide(text: str) -> int:
    """Count the characters from U+2E80 on, which are CJK and what follows; by their first bytes, which is fast."""
    encoded = text.encode(errors="surrogatepass")
    first_rows = sum(encoded.count(bytes((0xE2, second))) for second in range(0xBA, 0xC0))
    return first_rows + len(encoded) - len(encoded.translate(None, _WIDE_LEADS))


def decode_or_none(text: str | bytes) -> Any:
    """Decode JSON; return None if it cannot be read."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
