"""An interpreter of GBNF for tests: it reads, recognises and makes texts, without the engine."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union

Node = Union["Text", "Class", "Sequence", "Choice", "Repeat", "Name"]
ENDLESS = 1 << 30


@dataclass(eq=False)
class Text:
    text: str


@dataclass(eq=False)
class Class:
    ranges: list[tuple[int, int]]
    negated: bool


@dataclass(eq=False)
class Sequence:
    parts: list[Node]


@dataclass(eq=False)
class Choice:
    options: list[Node]


@dataclass(eq=False)
class Repeat:
    body: Node
    low: int
    high: int


@dataclass(eq=False)
class Name:
    name: str


class Broken(Exception):
    """Not GBNF, or beyond what llama.cpp takes."""


_BRACES = re.compile(r"\{(\d+)(,(\d*))?\}")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_SPACE = re.compile(r"[ \t]*")
_ESCAPES = {"x": 2, "u": 4, "U": 8}


class Reader:
    def __init__(self, line: str) -> None:
        self.line, self.at = line, 0

    def space(self) -> None:
        found = _SPACE.match(self.line, self.at)
        self.at = found.end() if found else self.at

    def peek(self) -> str:
        return self.line[self.at : self.at + 1]

    def char(self) -> int:
        if self.peek() == "":
            raise Broken("ends too early")
        if self.peek() != "\\":
            self.at += 1
            return ord(self.line[self.at - 1])
        kind = self.line[self.at + 1]
        self.at += 2
        if kind in _ESCAPES:
            digits = self.line[self.at : self.at + _ESCAPES[kind]]
            self.at += _ESCAPES[kind]
            return int(digits, 16)
        simple = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]"}
        if kind not in simple:
            raise Broken(f"unknown escape \\{kind}")
        return ord(simple[kind])

    def choice(self) -> Node:
        options = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            self.space()
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Choice(options)

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            if self.peek() in "*+?{":
                if not parts:
                    raise Broken("a repetition of nothing")
                parts.append(self.repeat(parts.pop()))
            else:
                parts.append(self.atom())
            self.space()
        return Sequence(parts)

    def repeat(self, body: Node) -> Node:
        sign = self.peek()
        if sign in "*+?":
            self.at += 1
            return Repeat(body, sign == "+", 1 if sign == "?" else ENDLESS)
        found = _BRACES.match(self.line, self.at)
        if not found:
            raise Broken("a brace that is no repetition")
        self.at = found.end()
        low = int(found[1])
        high = low if found[2] is None else int(found[3]) if found[3] else ENDLESS
        if max(low, high) >= 2000 and high != ENDLESS:
            raise Broken("llama.cpp takes fewer than 2000 repetitions")
        if not isinstance(body, Name | Class):
            raise Broken("llama.cpp multiplies what stands in a repeated group")
        return Repeat(body, low, high)

    def atom(self) -> Node:
        sign = self.peek()
        if sign == '"':
            return self.text()
        if sign == "[":
            return self.bracket()
        if sign == "(":
            self.at += 1
            self.space()
            inside = self.choice()
            if self.peek() != ")":
                raise Broken("a group without an end")
            self.at += 1
            return inside
        found = _NAME.match(self.line, self.at)
        if not found:
            raise Broken(f"unexpected {sign!r} at {self.at}")
        self.at = found.end()
        return Name(found[0])

    def text(self) -> Node:
        self.at += 1
        chars = []
        while self.peek() != '"':
            chars.append(chr(self.char()))
        self.at += 1
        return Text("".join(chars))

    def bracket(self) -> Node:
        self.at += 1
        negated = self.peek() == "^"
        self.at += negated
        ranges = []
        while self.peek() != "]":
            low = high = self.char()
            if self.peek() == "-" and self.line[self.at + 1] != "]":
                self.at += 1
                high = self.char()
            if high < low:
                raise Broken("a range that runs backwards")
            ranges.append((low, high))
        self.at += 1
        return Class(ranges, negated)


@dataclass
class Grammar:
    rules: dict[str, Node]
    depths: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Grammar:
        rules: dict[str, Node] = {}
        for line in text.rstrip("\n").split("\n"):
            name, mark, body = line.partition(" ::= ")
            if not mark or not _NAME.fullmatch(name) or name in rules:
                raise Broken(f"no rule, or one twice: {line[:80]}")
            reader = Reader(body)
            rules[name] = reader.choice()
            if reader.peek():
                raise Broken(f"{reader.peek()!r} too many in {line[:80]}")
        made = cls(rules)
        missing = {n.name for body in rules.values() for n in walk(body) if isinstance(n, Name)} - set(rules)
        if missing:
            raise Broken(f"rules that do not exist: {missing}")
        made.measure()
        return made

    def accepts(self, text: str, root: str = "root") -> bool:
        return any(end == len(text) for end in Recogniser(self).ends(text, root))

    def ends(self, text: str, root: str = "root") -> list[int]:
        """The lengths of all beginnings of the text that are accepted."""
        return list(Recogniser(self).ends(text, root))

    def measure(self) -> None:
        """How deep each rule must go at least, to steer random texts to an end."""
        changed = True
        while changed:
            changed = False
            for name, body in self.rules.items():
                depth = self.depth(body) + 1
                if depth < self.depths.get(name, ENDLESS):
                    self.depths[name], changed = depth, True
        endless = set(self.rules) - set(self.depths)
        if endless:
            raise Broken(f"rules that never end: {endless}")

    def depth(self, node: Node) -> int:
        match node:
            case Name(name):
                return self.depths.get(name, ENDLESS)
            case Sequence(parts):
                return max(map(self.depth, parts), default=0)
            case Choice(options):
                return min(map(self.depth, options))
            case Repeat(body, low):
                return self.depth(body) if low else 0
            case _:
                return 0

    def make(self, rng: random.Random, root: str = "root", size: int = 400) -> str:
        """A random text; after so many pieces it takes the shortest way to an end."""
        found: list[str] = []
        todo: list[Node] = [self.rules[root]]
        while todo:
            node = todo.pop()
            if isinstance(node, Text | Class):
                found.append(node.text if isinstance(node, Text) else pick(node, rng))
            else:
                todo += reversed(self.opened(node, rng, len(found) > size))
        return "".join(found)

    def opened(self, node: Node, rng: random.Random, hurry: bool) -> list[Node]:
        match node:
            case Name(name):
                return [self.rules[name]]
            case Sequence(parts):
                return parts
            case Choice(options):
                return [min(options, key=self.depth) if hurry else rng.choice(options)]
            case Repeat(body, low, high):
                return [body] * (low if hurry else times(low, high, rng))
            case _:
                return []


def times(low: int, high: int, rng: random.Random) -> int:
    if rng.random() < 0.15 and high - low < 40:
        return high
    return min(high, low + int(rng.expovariate(0.4)))


def pick(node: Class, rng: random.Random) -> str:
    if node.negated:
        raise Broken("negated classes reject the first bytes of some characters")
    low, high = rng.choice(node.ranges)
    if rng.random() < 0.3:
        return chr(rng.choice((low, high)))
    return chr(rng.randint(low, min(high, 0x7E) if low < 0x7E and rng.random() < 0.8 else high))


def walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Sequence(parts):
            for part in parts:
                yield from walk(part)
        case Choice(options):
            for option in options:
                yield from walk(option)
        case Repeat(body):
            yield from walk(body)


class Frame:
    """What is still to be read: a node, from some point in it, and what comes after."""

    __slots__ = ("at", "high", "low", "node", "then")

    def __init__(self, node: Node, at: int, low: int, high: int, then: Frame | None) -> None:
        self.node, self.at, self.low, self.high, self.then = node, at, low, high, then


class Recogniser:
    """Follows all readings at the same time; equal ones are one object."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.frames: dict[tuple[int, int, int, int, int], Frame] = {}

    def frame(self, node: Node, then: Frame | None, at: int = 0, low: int = 0, high: int = 0) -> Frame:
        key = (id(node), at, low, high, id(then))
        if key not in self.frames:
            self.frames[key] = Frame(node, at, low, high, then)
        return self.frames[key]

    def ends(self, text: str, root: str) -> Iterator[int]:
        """After how many characters the text may end."""
        states, done = self.opened([self.frame(self.grammar.rules[root], None)])
        if done:
            yield 0
        for count, char in enumerate(text, 1):
            moved = [after for state in states for after in self.read(state, char)]
            states, done = self.opened([m for m in moved if m is not None])
            if done or None in moved:
                yield count
            if not states:
                return

    def read(self, state: Frame, char: str) -> list[Frame | None]:
        node = state.node
        if isinstance(node, Text):
            if node.text[state.at] != char:
                return []
            last = state.at + 1 == len(node.text)
            return [state.then if last else self.frame(node, state.then, state.at + 1)]
        assert isinstance(node, Class)
        inside = any(low <= ord(char) <= high for low, high in node.ranges)
        return [state.then] if inside is not node.negated else []

    def opened(self, todo: list[Frame]) -> tuple[list[Frame], bool]:
        """Up to the next character; and whether the text may end here."""
        found, seen, done = [], set(), False
        while todo:
            state = todo.pop()
            if id(state) in seen:
                continue
            seen.add(id(state))
            if isinstance(state.node, Class) or (isinstance(state.node, Text) and state.node.text):
                found.append(state)
                continue
            for after in self.step(state):
                if after is None:
                    done = True
                else:
                    todo.append(after)
        return found, done

    def step(self, state: Frame) -> list[Frame | None]:
        node, then = state.node, state.then
        match node:
            case Name(name):
                return [self.frame(self.grammar.rules[name], then)]
            case Choice(options):
                return [self.frame(option, then) for option in options]
            case Sequence(parts):
                for part in reversed(parts[state.at :]):
                    then = self.frame(part, then)
                return [then]
            case Repeat(body, low, high):
                return self.again(state, body, low, high)
            case _:
                return [then]

    def again(self, state: Frame, body: Node, low: int, high: int) -> list[Frame | None]:
        count = state.at
        ways: list[Frame | None] = [state.then] if count >= low else []
        if count < high:
            # Past an open end counting no longer matters.
            after = self.frame(state.node, state.then, min(count + 1, low) if high == ENDLESS else count + 1)
            ways.append(self.frame(body, after))
        return ways
