"""Characters as symbols to compare by: without case, width or what nobody sees, and with the edges of words.

Every character is folded by itself, so that a text gives the same symbols however it is cut into pieces. An
edge stands where letters and digits begin or end. Scripts that are written without spaces have no edges: a
word of theirs is found anywhere.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

EDGE = "\x00"
"""Between a word and what is none. No text has it: control characters are folded away."""
SPACE = " "
UNSPACED = (
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
HIDDEN = ("Cf", "Cc", "Cn", "Co", "Cs")
"""Categories of characters that show nothing: a soft hyphen, a zero-width space."""


@lru_cache(maxsize=1 << 14)
def folded(char: str) -> str:
    """The symbols of one character: none of what nobody sees, one SPACE for any white space."""
    if char.isspace():
        return SPACE
    if unicodedata.category(char) in HIDDEN or is_selector(char):
        return ""
    # Twice: what case folding makes of a character may be compatible with something shorter.
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())


def is_selector(char: str) -> bool:
    """Chooses among the looks of the character before it, and shows nothing itself."""
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


@lru_cache(maxsize=1 << 14)
def lettered(symbol: str) -> bool:
    """Whether a symbol is of a word that has edges."""
    code = ord(symbol)
    if any(first <= code <= last for first, last in UNSPACED):
        return False
    return symbol == "_" or unicodedata.category(symbol)[0] in "LNM"


def letters(text: str) -> str:
    """Only the folded characters that show something, one after the other: quick for a long text."""
    return text.translate({ord(char): folded(char).replace(SPACE, "") for char in set(text)})


def symbols(text: str) -> str:
    """All symbols of a text that stands alone, runs of white space as one, without it at the ends."""
    found = []
    before = False
    for symbol in SPACE.join("".join(map(folded, text)).split()):
        inside = lettered(symbol)
        if inside != before:
            found.append(EDGE)
        found.append(symbol)
        before = inside
    return "".join(found) + (EDGE if before else "")
