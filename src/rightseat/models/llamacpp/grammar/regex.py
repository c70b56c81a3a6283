"""Parse JSON Schema patterns (ECMA-262) to expressions, as far as a grammar can express them."""

from __future__ import annotations

import re

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY, Ranges, complement, less, of, ranges
from rightseat.models.llamacpp.grammar.expr import EMPTY, Alt, Expr, Ref, Rep, Seq, alt, chars, rep, seq

MAX_PATTERN = 4000
MAX_NESTING = 40
MAX_BRANCHES = 128
# Nested repetitions are ambiguous, and the engine would follow every parse.
INNER_REPEAT = 16
FOREVER = 1 << 60

_START, _END = Ref("^"), Ref("$")
_DIGIT = ranges([(48, 57)])
_WORD = ranges([(48, 57), (65, 90), (95, 95), (97, 122)])
_SPACE = of(" \t\n\v\f\r")
_ALL_SPACES = ranges([*_SPACE, *of("\xa0\ufeff\u1680\u2028\u2029\u202f\u205f\u3000"), (0x2000, 0x200A)])
_DOT = less(ANY, of("\n\r\u2028\u2029"))
_CLASSES = {
    "d": _DIGIT, "w": _WORD, "s": _SPACE,
    "D": complement(_DIGIT), "W": complement(_WORD), "S": complement(_ALL_SPACES),
}  # fmt: skip
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_QUANTIFIER = re.compile(r"([*+?]|\{(\d{1,6})(,(\d{1,6})?)?\})\??")
_GROUP = re.compile(r"\((\?:|\?<[A-Za-z_]\w*>|(?!\?))")
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_SIMPLE = {"*": (0, FOREVER), "+": (1, FOREVER), "?": (0, 1)}


class Unsayable(Exception):
    """The pattern uses a feature that a grammar cannot express, such as a look-around or back reference."""


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.level = 0

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise Unsayable("it ends too early")
        self.at += 1
        return char

    def repeats_nothing(self) -> CallerError:
        return CallerError(f"The pattern {self.pattern[:80]!r} is not valid: it repeats what is not there.")

    def alternatives(self) -> Expr:
        self.level += 1
        if self.level > MAX_NESTING:
            raise Unsayable("too many groups within groups")
        options = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            options.append(self.sequence())
        self.level -= 1
        return alt(*options)

    def sequence(self) -> Expr:
        parts: list[Expr] = []
        while self.peek() not in ("", "|", ")"):
            atom = self.atom()
            found = _QUANTIFIER.match(self.pattern, self.at)
            if found:
                if atom in (_START, _END):
                    raise self.repeats_nothing()
                self.at = found.end()
                atom = _repeated(atom, found)
            parts.append(atom)
        return seq(*parts)

    def atom(self) -> Expr:
        char = self.take()
        if char == "(":
            return self.group()
        if char == "[":
            return chars(self.brackets())
        if char == "\\":
            return chars(self.escape())
        if char in "*+?":
            raise self.repeats_nothing()
        special = {"^": _START, "$": _END, ".": chars(_DOT)}
        return special[char] if char in special else chars(of(char))

    def group(self) -> Expr:
        found = _GROUP.match(self.pattern, self.at - 1)
        if not found:
            raise Unsayable("a look-around or a flag")
        self.at = found.end()
        inside = self.alternatives()
        if self.take() != ")":
            raise Unsayable("a group without an end")
        return inside

    def brackets(self) -> Ranges:
        negated = self.peek() == "^"
        self.at += negated
        found: list[tuple[int, int]] = []
        while self.peek() != "]":
            low = self.member()
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.member()
                if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or high[0][0] != high[0][1]:
                    raise Unsayable("a range between classes")
                found.append((low[0][0], high[0][0]))
            else:
                found += low
        self.at += 1
        if any(low > high for low, high in found):
            raise Unsayable("a range that runs backwards")
        given = ranges(found)
        return complement(given) if negated else less(given, complement(ANY))

    def member(self) -> Ranges:
        char = self.take()
        if char == "[" or (char in "&-~" and self.peek() == char):
            # Engines differ: some read nested sets and set operations.
            raise Unsayable("a class within a class")
        if char != "\\":
            return of(char)
        if self.peek() == "b":
            self.at += 1
            return of("\b")
        return self.escape()

    def escape(self) -> Ranges:
        code = _CODE.match(self.pattern, self.at)
        if code:
            self.at = code.end()
            point = int(next(filter(None, code.groups())), 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise Unsayable("half a character")
            return ranges([(point, point)])
        char = self.take()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _CONTROL:
            return of(_CONTROL[char])
        if char.isalnum():
            raise Unsayable(f"\\{char}")
        return of(char)


def _repeated(atom: Expr, found: re.Match[str]) -> Expr:
    sign, low, comma, high = found.groups()
    if sign in _SIMPLE:
        least, most = _SIMPLE[sign]
    else:
        least = int(low)
        most = int(high) if high else FOREVER if comma else least
    if isinstance(atom, Rep) and atom.high == FOREVER and most == FOREVER and atom.low <= 1:
        return Rep(atom.body, min(atom.low, least), FOREVER)
    return rep(atom, least, most)


def parse(pattern: str, limit: int, around: int, whole: bool = False) -> Expr:
    """Return the strings that contain a match of the pattern, or match it as a whole where anchored."""
    if len(pattern) > MAX_PATTERN:
        raise Unsayable("it is too long")
    reader = _Reader(pattern)
    read = reader.alternatives()
    if reader.peek():
        raise Unsayable("a bracket too many")
    before, after = rep(chars(ANY), 0, around), rep(chars(ANY), 0, limit)
    found = []
    for parts in _branches(read):
        first, last = _count(parts, _START), _count(parts[::-1], _END)
        middle = parts[first : len(parts) - last] if first < len(parts) else []
        if any(_marked(part) for part in middle):
            raise Unsayable("an anchor in the middle")
        body = _bounded(seq(*middle), limit)
        found.append(seq(EMPTY if first or whole else before, body, EMPTY if last or whole else after))
    return alt(*found)


def _count(parts: list[Expr], mark: Ref) -> int:
    return next((at for at, part in enumerate(parts) if part != mark), len(parts))


def _branches(expr: Expr) -> list[list[Expr]]:
    """Expand alternatives as far as needed to bring anchors to the edges."""
    found: list[list[Expr]] = []
    todo = [[expr]]
    while todo:
        parts = todo.pop()
        at = next(
            (at for at, part in enumerate(parts) if isinstance(part, Alt | Seq) and _marked(part)), None
        )
        if at is None:
            found.append(parts)
            continue
        part = parts[at]
        options = part.options if isinstance(part, Alt) else (part,)
        opened = (option.parts if isinstance(option, Seq) else (option,) for option in reversed(options))
        todo += [[*parts[:at], *inside, *parts[at + 1 :]] for inside in opened]
        if len(todo) + len(found) > MAX_BRANCHES:
            raise Unsayable("too many alternatives with anchors")
    return found


def _marked(expr: Expr) -> bool:
    match expr:
        case Ref():
            return True
        case Seq(parts):
            return any(map(_marked, parts))
        case Alt(options):
            return any(map(_marked, options))
        case Rep(body):
            return _marked(body)
        case _:
            return False


def _bounded(expr: Expr, limit: int) -> Expr:
    """Limit unbounded repetitions."""
    match expr:
        case Seq(parts):
            return seq(*(_bounded(part, limit) for part in parts))
        case Alt(options):
            return alt(*(_bounded(option, limit) for option in options))
        case Rep(body, low, high):
            most = max(low, limit) if high == FOREVER else high
            if most > 8000:
                raise Unsayable("too many repetitions")
            return rep(_bounded(body, min(limit, INNER_REPEAT)), low, most)
        case _:
            return expr
