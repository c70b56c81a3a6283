"""An interpreter of GBNF for tests: it reads, recognises and makes texts, without the engine."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union

Node = Union["Literal", "CharClass", "Sequence", "Choice", "Repeat", "RuleRef"]
UNBOUNDED = 1 << 30


@dataclass(eq=False)
class Literal:
    text: str


@dataclass(eq=False)
class CharClass:
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
class RuleRef:
    name: str


class InvalidGrammar(Exception):
    """Not GBNF, or beyond what llama.cpp takes."""


_BRACES = re.compile(r"\{(\d+)(,(\d*))?\}")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_SPACE = re.compile(r"[ \t]*")
_ESCAPES = {"x": 2, "u": 4, "U": 8}


class RuleParser:
    def __init__(self, line: str) -> None:
        self.line, self.position = line, 0

    def skip_space(self) -> None:
        found = _SPACE.match(self.line, self.position)
        self.position = found.end() if found else self.position

    def peek(self) -> str:
        return self.line[self.position : self.position + 1]

    def read_char(self) -> int:
        if self.peek() == "":
            raise InvalidGrammar("ends too early")
        if self.peek() != "\\":
            self.position += 1
            return ord(self.line[self.position - 1])
        kind = self.line[self.position + 1]
        self.position += 2
        if kind in _ESCAPES:
            digits = self.line[self.position : self.position + _ESCAPES[kind]]
            self.position += _ESCAPES[kind]
            return int(digits, 16)
        simple = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]"}
        if kind not in simple:
            raise InvalidGrammar(f"unknown escape \\{kind}")
        return ord(simple[kind])

    def parse_choice(self) -> Node:
        options = [self.parse_sequence()]
        while self.peek() == "|":
            self.position += 1
            self.skip_space()
            options.append(self.parse_sequence())
        return options[0] if len(options) == 1 else Choice(options)

    def parse_sequence(self) -> Node:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            if self.peek() in "*+?{":
                if not parts:
                    raise InvalidGrammar("a repetition of nothing")
                parts.append(self.parse_repeat(parts.pop()))
            else:
                parts.append(self.parse_atom())
            self.skip_space()
        return Sequence(parts)

    def parse_repeat(self, body: Node) -> Node:
        sign = self.peek()
        if sign in "*+?":
            self.position += 1
            return Repeat(body, sign == "+", 1 if sign == "?" else UNBOUNDED)
        found = _BRACES.match(self.line, self.position)
        if not found:
            raise InvalidGrammar("a brace that is no repetition")
        self.position = found.end()
        low = int(found[1])
        high = low if found[2] is None else int(found[3]) if found[3] else UNBOUNDED
        if max(low, high) >= 2000 and high != UNBOUNDED:
            raise InvalidGrammar("llama.cpp takes fewer than 2000 repetitions")
        if not isinstance(body, RuleRef | CharClass):
            raise InvalidGrammar("llama.cpp multiplies what stands in a repeated group")
        return Repeat(body, low, high)

    def parse_atom(self) -> Node:
        sign = self.peek()
        if sign == '"':
            return self.parse_literal()
        if sign == "[":
            return self.parse_char_class()
        if sign == "(":
            self.position += 1
            self.skip_space()
            inside = self.parse_choice()
            if self.peek() != ")":
                raise InvalidGrammar("a group without an end")
            self.position += 1
            return inside
        found = _NAME.match(self.line, self.position)
        if not found:
            raise InvalidGrammar(f"unexpected {sign!r} at {self.position}")
        self.position = found.end()
        return RuleRef(found[0])

    def parse_literal(self) -> Node:
        self.position += 1
        chars = []
        while self.peek() != '"':
            chars.append(chr(self.read_char()))
        self.position += 1
        return Literal("".join(chars))

    def parse_char_class(self) -> Node:
        self.position += 1
        negated = self.peek() == "^"
        self.position += negated
        ranges = []
        while self.peek() != "]":
            low = high = self.read_char()
            if self.peek() == "-" and self.line[self.position + 1] != "]":
                self.position += 1
                high = self.read_char()
            if high < low:
                raise InvalidGrammar("a range that runs backwards")
            ranges.append((low, high))
        self.position += 1
        return CharClass(ranges, negated)


@dataclass
class Grammar:
    rules: dict[str, Node]
    depths: dict[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Grammar:
        rules: dict[str, Node] = {}
        for line in text.rstrip("\n").split("\n"):
            name, mark, body = line.partition(" ::= ")
            if not mark or not _NAME.fullmatch(name) or name in rules:
                raise InvalidGrammar(f"no rule, or one twice: {line[:80]}")
            reader = RuleParser(body)
            rules[name] = reader.parse_choice()
            if reader.peek():
                raise InvalidGrammar(f"{reader.peek()!r} too many in {line[:80]}")
        made = cls(rules)
        missing = {n.name for body in rules.values() for n in walk_nodes(body) if isinstance(n, RuleRef)} - set(rules)
        if missing:
            raise InvalidGrammar(f"rules that do not exist: {missing}")
        made.compute_depths()
        return made

    def accepts(self, text: str, root: str = "root") -> bool:
        return any(end == len(text) for end in Recogniser(self).list_match_lengths(text, root))

    def list_match_lengths(self, text: str, root: str = "root") -> list[int]:
        """The lengths of all beginnings of the text that are accepted."""
        return list(Recogniser(self).list_match_lengths(text, root))

    def compute_depths(self) -> None:
        """How deep each rule must go at least, to steer random texts to an end."""
        changed = True
        while changed:
            changed = False
            for name, body in self.rules.items():
                depth = self.get_min_depth(body) + 1
                if depth < self.depths.get(name, UNBOUNDED):
                    self.depths[name], changed = depth, True
        endless = set(self.rules) - set(self.depths)
        if endless:
            raise InvalidGrammar(f"rules that never end: {endless}")

    def get_min_depth(self, node: Node) -> int:
        match node:
            case RuleRef(name):
                return self.depths.get(name, UNBOUNDED)
            case Sequence(parts):
                return max(map(self.get_min_depth, parts), default=0)
            case Choice(options):
                return min(map(self.get_min_depth, options))
            case Repeat(body, low):
                return self.get_min_depth(body) if low else 0
            case _:
                return 0

    def generate(self, rng: random.Random, root: str = "root", size: int = 400) -> str:
        """A random text; after so many pieces it takes the shortest way to an end."""
        found: list[str] = []
        todo: list[Node] = [self.rules[root]]
        while todo:
            node = todo.pop()
            if isinstance(node, Literal | CharClass):
                found.append(node.text if isinstance(node, Literal) else pick_char(node, rng))
            else:
                todo += reversed(self.expand(node, rng, len(found) > size))
        return "".join(found)

    def expand(self, node: Node, rng: random.Random, shortest: bool) -> list[Node]:
        match node:
            case RuleRef(name):
                return [self.rules[name]]
            case Sequence(parts):
                return parts
            case Choice(options):
                return [min(options, key=self.get_min_depth) if shortest else rng.choice(options)]
            case Repeat(body, low, high):
                return [body] * (low if shortest else pick_repeat_count(low, high, rng))
            case _:
                return []


def pick_repeat_count(low: int, high: int, rng: random.Random) -> int:
    if rng.random() < 0.15 and high - low < 40:
        return high
    return min(high, low + int(rng.expovariate(0.4)))


def pick_char(node: CharClass, rng: random.Random) -> str:
    if node.negated:
        raise InvalidGrammar("negated classes reject the first bytes of some characters")
    low, high = rng.choice(node.ranges)
    if rng.random() < 0.3:
        return chr(rng.choice((low, high)))
    return chr(rng.randint(low, min(high, 0x7E) if low < 0x7E and rng.random() < 0.8 else high))


def walk_nodes(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Sequence(parts):
            for part in parts:
                yield from walk_nodes(part)
        case Choice(options):
            for option in options:
                yield from walk_nodes(option)
        case Repeat(body):
            yield from walk_nodes(body)


class MatchState:
    """What is still to be read: a node, from some point in it, and what comes after."""

    __slots__ = ("high", "low", "next_state", "node", "position")

    def __init__(self, node: Node, at: int, low: int, high: int, then: MatchState | None) -> None:
        self.node, self.position, self.low, self.high, self.next_state = node, at, low, high, then


class Recogniser:
    """Follows all readings at the same time; equal ones are one object."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.states: dict[tuple[int, int, int, int, int], MatchState] = {}

    def get_state(self, node: Node, then: MatchState | None, at: int = 0, low: int = 0, high: int = 0) -> MatchState:
        key = (id(node), at, low, high, id(then))
        if key not in self.states:
            self.states[key] = MatchState(node, at, low, high, then)
        return self.states[key]

    def list_match_lengths(self, text: str, root: str) -> Iterator[int]:
        """After how many characters the text may end."""
        states, done = self.expand_states([self.get_state(self.grammar.rules[root], None)])
        if done:
            yield 0
        for count, char in enumerate(text, 1):
            moved = [after for state in states for after in self.read_char(state, char)]
            states, done = self.expand_states([m for m in moved if m is not None])
            if done or None in moved:
                yield count
            if not states:
                return

    def read_char(self, state: MatchState, char: str) -> list[MatchState | None]:
        node = state.node
        if isinstance(node, Literal):
            if node.text[state.position] != char:
                return []
            last = state.position + 1 == len(node.text)
            return [state.next_state if last else self.get_state(node, state.next_state, state.position + 1)]
        assert isinstance(node, CharClass)
        inside = any(low <= ord(char) <= high for low, high in node.ranges)
        return [state.next_state] if inside is not node.negated else []

    def expand_states(self, todo: list[MatchState]) -> tuple[list[MatchState], bool]:
        """Up to the next character; and whether the text may end here."""
        found, seen, done = [], set(), False
        while todo:
            state = todo.pop()
            if id(state) in seen:
                continue
            seen.add(id(state))
            if isinstance(state.node, CharClass) or (isinstance(state.node, Literal) and state.node.text):
                found.append(state)
                continue
            for after in self.expand_state(state):
                if after is None:
                    done = True
                else:
                    todo.append(after)
        return found, done

    def expand_state(self, state: MatchState) -> list[MatchState | None]:
        node, then = state.node, state.next_state
        match node:
            case RuleRef(name):
                return [self.get_state(self.grammar.rules[name], then)]
            case Choice(options):
                return [self.get_state(option, then) for option in options]
            case Sequence(parts):
                for part in reversed(parts[state.position :]):
                    then = self.get_state(part, then)
                return [then]
            case Repeat(body, low, high):
                return self.expand_repeat(state, body, low, high)
            case _:
                return [then]

    def expand_repeat(self, state: MatchState, body: Node, low: int, high: int) -> list[MatchState | None]:
        count = state.position
        ways: list[MatchState | None] = [state.next_state] if count >= low else []
        if count < high:
            # Past an open end counting no longer matters.
            after = self.get_state(
                state.node, state.next_state, min(count + 1, low) if high == UNBOUNDED else count + 1
            )
            ways.append(self.get_state(body, after))
        return ways
