"""Character sets as sorted ranges of code points, and their spelling in JSON and GBNF."""

from __future__ import annotations

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

# Lone surrogates are excluded: neither JSON parsers nor UTF-8 accept them.
ANY: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
SHORT_ESCAPES = {0x22: '"', 0x5C: "\\", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
CONTROLS: Ranges = ((0, 0x1F),)
MUST_ESCAPE: Ranges = ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))


def merge_ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def ranges_of(text: str) -> Ranges:
    return merge_ranges((ord(c), ord(c)) for c in text)


def intersect(left: Ranges, right: Ranges) -> Ranges:
    shared = []
    for low, high in left:
        shared += [(max(low, a), min(high, b)) for a, b in right if max(low, a) <= min(high, b)]
    return merge_ranges(shared)


def complement(ranges: Ranges) -> Ranges:
    starts, ends = [0, *(high + 1 for _, high in ranges)], [*(low - 1 for low, _ in ranges), 0x10FFFF]
    return intersect(tuple((start, end) for start, end in zip(starts, ends, strict=True) if start <= end), ANY)


def subtract(left: Ranges, right: Ranges) -> Ranges:
    return intersect(left, complement(right))


def contains(ranges: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in ranges)


def escape_code_point(code: int) -> str:
    """Escape a character for a GBNF class. Only letters and digits are safe unescaped in every version."""
    char = chr(code)
    if char.isascii():
        return char if char.isalnum() else f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def format_character_class(ranges: Ranges) -> str:
    """Return a GBNF class. It is never negated: llama.cpp would then reject nearby multi-byte characters."""
    spans = ("-".join(map(escape_code_point, (low, high) if low < high else (low,))) for low, high in ranges)
    return f"[{''.join(spans)}]"


def quote_literal(text: str) -> str:
    chars = (c if c.isascii() and c.isprintable() and c not in '"\\' else escape_code_point(ord(c)) for c in text)
    return f'"{"".join(chars)}"'


def list_json_spellings(ranges: Ranges) -> list[str]:
    """Return GBNF alternatives for one character of the set inside a JSON string."""
    alternatives = []
    plain = subtract(ranges, MUST_ESCAPE)
    if plain:
        alternatives.append(format_character_class(plain))
    short = "".join(letter for code, letter in SHORT_ESCAPES.items() if contains(ranges, code))
    if short:
        alternatives.append('"\\\\" ' + format_character_class(ranges_of(short)))
    other_controls = subtract(intersect(ranges, CONTROLS), merge_ranges((code, code) for code in SHORT_ESCAPES))
    for high in (0, 1):
        lows = "".join(f"{code & 15:x}" for a, b in other_controls for code in range(a, b + 1) if code >> 4 == high)
        if lows:
            alternatives.append(f'"\\\\u00{high}" ' + format_character_class(ranges_of(lows)))
    return alternatives


HEX = "[0-9A-Fa-f]"
# Any character with all JSON escapes; a surrogate pair is one character.
CHAR = (
    f"{format_character_class(subtract(ANY, MUST_ESCAPE))} | "
    + r'"\\" ([\x22\x5C\x2Fbfnrt] | "u" ('
    + f"[0-9A-CEFa-cef] {HEX} {HEX} {HEX} | "
    f"[Dd] [0-7] {HEX} {HEX} | " + rf'[Dd] [89ABab] {HEX} {HEX} "\\u" [Dd] [C-Fc-f] {HEX} {HEX}))'
)
