"""Folding of characters to comparable symbols: without case, width or invisible characters, with word edges.

Each character is folded alone, so that a text gives the same symbols however it is chunked. A word edge is
where letters and digits begin or end. Scripts written without spaces have no edges: their words match
anywhere.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

WORD_EDGE = "\x00"
"""Symbol between word and non-word characters. No text contains it: control characters are removed."""
SPACE = " "
UNSPACED_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Korean, whose words take endings
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
INVISIBLE_CATEGORIES = ("Cf", "Cc", "Cn", "Co", "Cs")
"""Unicode categories of invisible characters, such as soft hyphen and zero-width space."""


@lru_cache(maxsize=1 << 14)
def fold_char(char: str) -> str:
    """Return the symbols of one character: none if it is invisible, SPACE for white space."""
    if char.isspace():
        return SPACE
    if unicodedata.category(char) in INVISIBLE_CATEGORIES or is_variation_selector(char):
        return ""
    # Normalize twice: case folding may produce compatibility characters.
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())


def is_variation_selector(char: str) -> bool:
    """Whether the character is an (invisible) variation selector."""
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


@lru_cache(maxsize=1 << 14)
def is_word_symbol(symbol: str) -> bool:
    """Whether a symbol belongs to a word with edges."""
    code = ord(symbol)
    if any(first <= code <= last for first, last in UNSPACED_RANGES):
        return False
    return symbol == "_" or unicodedata.category(symbol)[0] in "LNM"


def fold_letters(text: str) -> str:
    """Return the folded visible characters without white space; fast for long texts."""
    return text.translate({ord(char): fold_char(char).replace(SPACE, "") for char in set(text)})


def fold_text(text: str) -> str:
    """Return all symbols of a complete text with word edges, white space collapsed and trimmed."""
    parts = []
    before = False
    for symbol in SPACE.join("".join(map(fold_char, text)).split()):
        inside = is_word_symbol(symbol)
        if inside != before:
            parts.append(WORD_EDGE)
        parts.append(symbol)
        before = inside
    return "".join(parts) + (WORD_EDGE if before else "")
