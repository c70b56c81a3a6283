"""Character sets as sorted ranges of code points, and their spelling in JSON and GBNF."""

from __future__ import annotations

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

# Lone surrogates are excluded: neither JSON parsers nor UTF-8 accept them.
ANY: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
SHORT = {0x22: '"', 0x5C: "\\", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
CONTROLS: Ranges = ((0, 0x1F),)
ESCAPED: Ranges = ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))


def ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def of(text: str) -> Ranges:
    return ranges((ord(c), ord(c)) for c in text)


def meet(left: Ranges, right: Ranges) -> Ranges:
    found = []
    for low, high in left:
        found += [(max(low, a), min(high, b)) for a, b in right if max(low, a) <= min(high, b)]
    return ranges(found)


def complement(given: Ranges) -> Ranges:
    gaps, at = [], 0
    for low, high in given:
        if low > at:
            gaps.append((at, low - 1))
        at = high + 1
    return meet(ranges([*gaps, (at, 0x10FFFF)]) if at <= 0x10FFFF else ranges(gaps), ANY)


def less(left: Ranges, right: Ranges) -> Ranges:
    return meet(left, complement(right))


def has(given: Ranges, point: int) -> bool:
    return any(low <= point <= high for low, high in given)


def single(given: Ranges) -> str | None:
    return chr(given[0][0]) if len(given) == 1 and given[0][0] == given[0][1] else None


def point(code: int) -> str:
    """Escape a character for a GBNF class. Only letters and digits are safe unescaped in every version."""
    char = chr(code)
    if char.isascii():
        return char if char.isalnum() else f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def bracket(given: Ranges) -> str:
    """Return a GBNF class. It is never negated: llama.cpp would then reject nearby multi-byte characters."""
    return "[" + "".join(point(a) if a == b else f"{point(a)}-{point(b)}" for a, b in given) + "]"


def quoted(text: str) -> str:
    """Return a GBNF literal for the text."""
    return (
        '"'
        + "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else point(ord(c)) for c in text)
        + '"'
    )


def spellings(given: Ranges) -> list[str]:
    """Return GBNF alternatives for one character of the set inside a JSON string."""
    found = []
    plain = less(given, ESCAPED)
    if plain:
        found.append(bracket(plain))
    short = "".join(letter for code, letter in SHORT.items() if has(given, code))
    if short:
        found.append('"\\\\" ' + bracket(of(short)))
    rest = less(meet(given, CONTROLS), ranges((code, code) for code in SHORT))
    for high, digits in enumerate(("0123456789abcdef", "0123456789abcdef")):
        lows = [digits[code & 15] for a, b in rest for code in range(a, b + 1) if code >> 4 == high]
        if lows:
            found.append(f'"\\\\u00{high}" ' + bracket(of("".join(lows))))
    return found


HEX = "[0-9A-Fa-f]"
# Any character with all JSON escapes; a surrogate pair is one character.
CHAR = (
    f"{bracket(less(ANY, ESCAPED))} | "
    + r'"\\" ([\x22\x5C\x2Fbfnrt] | "u" ('
    + f"[0-9A-CEFa-cef] {HEX} {HEX} {HEX} | "
    f"[Dd] [0-7] {HEX} {HEX} | " + rf'[Dd] [89ABab] {HEX} {HEX} "\\u" [Dd] [C-Fc-f] {HEX} {HEX}))'
)
