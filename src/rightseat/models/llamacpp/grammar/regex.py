"""Parse JSON Schema patterns (ECMA-262) to expressions, as far as a grammar can express them."""

from __future__ import annotations

import re

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY, Ranges, complement, merge_ranges, ranges_of, subtract
from rightseat.models.llamacpp.grammar.expr import (
    EMPTY,
    Alt,
    Expr,
    Ref,
    Rep,
    Seq,
    alt,
    chars,
    list_children,
    map_children,
    rep,
    seq,
)

MAX_PATTERN = 4000
MAX_NESTING = 40
MAX_BRANCHES = 128
# Nested repetitions are ambiguous, and the engine would follow every parse.
MAX_INNER_REPEAT = 16
UNBOUNDED = 1 << 60

_START, _END = Ref("^"), Ref("$")
_DIGIT = merge_ranges([(48, 57)])
_WORD = merge_ranges([(48, 57), (65, 90), (95, 95), (97, 122)])
_SPACE = ranges_of(" \t\n\v\f\r")
_ALL_SPACES = merge_ranges([*_SPACE, *ranges_of("\xa0\ufeff\u1680\u2028\u2029\u202f\u205f\u3000"), (0x2000, 0x200A)])
_DOT = subtract(ANY, ranges_of("\n\r\u2028\u2029"))
_CLASSES = {
    "d": _DIGIT, "w": _WORD, "s": _SPACE,
    "D": complement(_DIGIT), "W": complement(_WORD), "S": complement(_ALL_SPACES),
}  # fmt: skip
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_QUANTIFIER = re.compile(r"([*+?]|\{(\d{1,6})(,(\d{1,6})?)?\})\??")
_GROUP = re.compile(r"\((\?:|\?<[A-Za-z_]\w*>|(?!\?))")
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_SIMPLE = {"*": (0, UNBOUNDED), "+": (1, UNBOUNDED), "?": (0, 1)}


class UnsupportedPattern(Exception):
    """The pattern uses a feature that a grammar cannot express, such as a look-around or back reference."""


class _PatternParser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.level = 0

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise UnsupportedPattern("it ends too early")
        self.at += 1
        return char

    def make_repeat_error(self) -> CallerError:
        return CallerError(f"The pattern {self.pattern[:80]!r} is not valid: it repeats what is not there.")

    def parse_alternatives(self) -> Expr:
        self.level += 1
        if self.level > MAX_NESTING:
            raise UnsupportedPattern("too many groups within groups")
        options = [self.parse_sequence()]
        while self.peek() == "|":
            self.at += 1
            options.append(self.parse_sequence())
        self.level -= 1
        return alt(*options)

    def parse_sequence(self) -> Expr:
        parts: list[Expr] = []
        while self.peek() not in ("", "|", ")"):
            atom = self.parse_atom()
            quantifier = _QUANTIFIER.match(self.pattern, self.at)
            if quantifier:
                if atom in (_START, _END):
                    raise self.make_repeat_error()
                self.at = quantifier.end()
                atom = _apply_quantifier(atom, quantifier)
            parts.append(atom)
        return seq(*parts)

    def parse_atom(self) -> Expr:
        char = self.take()
        if char == "(":
            return self.parse_group()
        if char == "[":
            return chars(self.parse_class())
        if char == "\\":
            return chars(self.parse_escape())
        if char in "*+?":
            raise self.make_repeat_error()
        special = {"^": _START, "$": _END, ".": chars(_DOT)}
        return special[char] if char in special else chars(ranges_of(char))

    def parse_group(self) -> Expr:
        match = _GROUP.match(self.pattern, self.at - 1)
        if not match:
            raise UnsupportedPattern("a look-around or a flag")
        self.at = match.end()
        inside = self.parse_alternatives()
        if self.take() != ")":
            raise UnsupportedPattern("a group without an end")
        return inside

    def parse_class(self) -> Ranges:
        negated = self.peek() == "^"
        self.at += negated
        pairs: list[tuple[int, int]] = []
        while self.peek() != "]":
            low = self.parse_class_member()
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.parse_class_member()
                if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1]:
                    raise UnsupportedPattern("a range between classes")
                pairs.append((low[0][0], high[0][0]))
            else:
                pairs += low
        self.at += 1
        if any(low > high for low, high in pairs):
            raise UnsupportedPattern("a range that runs backwards")
        members = merge_ranges(pairs)
        return complement(members) if negated else subtract(members, complement(ANY))

    def parse_class_member(self) -> Ranges:
        char = self.take()
        if char == "[" or (char in "&-~" and self.peek() == char):
            # Engines differ: some read nested sets and set operations.
            raise UnsupportedPattern("a class within a class")
        if char != "\\":
            return ranges_of(char)
        if self.peek() == "b":
            self.at += 1
            return ranges_of("\b")
        return self.parse_escape()

    def parse_escape(self) -> Ranges:
        code = _CODE.match(self.pattern, self.at)
        if code:
            self.at = code.end()
            point = int(next(filter(None, code.groups())), 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise UnsupportedPattern("half a character")
            return merge_ranges([(point, point)])
        char = self.take()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _CONTROL:
            return ranges_of(_CONTROL[char])
        if char.isalnum():
            raise UnsupportedPattern(f"\\{char}")
        return ranges_of(char)


def _apply_quantifier(atom: Expr, quantifier: re.Match[str]) -> Expr:
    sign, low, comma, high = quantifier.groups()
    if sign in _SIMPLE:
        least, most = _SIMPLE[sign]
    else:
        least = int(low)
        most = int(high) if high else UNBOUNDED if comma else least
    if isinstance(atom, Rep) and atom.high == UNBOUNDED and most == UNBOUNDED and atom.low <= 1:
        return Rep(atom.body, min(atom.low, least), UNBOUNDED)
    return rep(atom, least, most)


def parse_pattern(pattern: str, limit: int, padding: int, anchored: bool = False) -> Expr:
    """Return the strings that contain a match of the pattern, or match it as a whole where anchored."""
    if len(pattern) > MAX_PATTERN:
        raise UnsupportedPattern("it is too long")
    reader = _PatternParser(pattern)
    expression = reader.parse_alternatives()
    if reader.peek():
        raise UnsupportedPattern("a bracket too many")
    before, after = rep(chars(ANY), 0, padding), rep(chars(ANY), 0, limit)
    options = []
    for parts in _expand_branches(expression):
        first, last = _count_leading(parts, _START), _count_leading(parts[::-1], _END)
        middle = parts[first : len(parts) - last] if first < len(parts) else []
        if any(_has_anchor(part) for part in middle):
            raise UnsupportedPattern("an anchor in the middle")
        body = _bound_repetitions(seq(*middle), limit)
        options.append(seq(EMPTY if first or anchored else before, body, EMPTY if last or anchored else after))
    return alt(*options)


def _count_leading(parts: list[Expr], mark: Ref) -> int:
    return next((at for at, part in enumerate(parts) if part != mark), len(parts))


def _expand_branches(expr: Expr) -> list[list[Expr]]:
    """Expand alternatives as far as needed to bring anchors to the edges."""
    branches: list[list[Expr]] = []
    pending = [[expr]]
    while pending:
        parts = pending.pop()
        at = next((at for at, part in enumerate(parts) if isinstance(part, Alt | Seq) and _has_anchor(part)), None)
        if at is None:
            branches.append(parts)
            continue
        part = parts[at]
        options = part.options if isinstance(part, Alt) else (part,)
        opened = (option.parts if isinstance(option, Seq) else (option,) for option in reversed(options))
        pending += [[*parts[:at], *inside, *parts[at + 1 :]] for inside in opened]
        if len(pending) + len(branches) > MAX_BRANCHES:
            raise UnsupportedPattern("too many alternatives with anchors")
    return branches


def _has_anchor(expr: Expr) -> bool:
    return isinstance(expr, Ref) or any(map(_has_anchor, list_children(expr)))


def _bound_repetitions(expr: Expr, limit: int) -> Expr:
    if not isinstance(expr, Rep):
        return map_children(expr, lambda child: _bound_repetitions(child, limit))
    most = max(expr.low, limit) if expr.high == UNBOUNDED else expr.high
    if most > 8000:
        raise UnsupportedPattern("too many repetitions")
    return rep(_bound_repetitions(expr.body, min(limit, MAX_INNER_REPEAT)), expr.low, most)
