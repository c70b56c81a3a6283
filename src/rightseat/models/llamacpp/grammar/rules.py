"""GrammarRules: named rules of a grammar under construction, and their GBNF text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY, CHAR, Ranges, list_json_spellings, quote_literal
from rightseat.models.llamacpp.grammar.expr import (
    NEVER,
    Alt,
    Chars,
    Expr,
    Lit,
    RawGbnf,
    Ref,
    Rep,
    Seq,
    list_children,
    map_children,
)

# llama.cpp rejects repetitions of 2000 and more.
MAX_REPEAT = 1900

# The engine expands required repetitions, so they are limited too.
MAX_REQUIRED = 8000


class GrammarLimits(Struct, frozen=True, kw_only=True):
    """Limits where a schema sets no bound: a small model does not stop by itself."""

    string: int = 1000  # characters of a string without maxLength
    key: int = 64  # characters of a property name that the schema leaves open
    items: int = 64  # items of an array without maxItems
    properties: int = 16  # properties beyond the named ones, where the schema allows any
    digits: int = 15  # digits before the decimal point; 15 are exact in a double
    decimals: int = 6  # digits after the decimal point
    depth: int = 3  # nesting levels where any value is allowed
    pattern_padding: int = 32  # characters before the match of an unanchored pattern
    alternatives: int = 1000  # combinations of anyOf and oneOf branches
    rules: int = 20_000  # rules of one grammar


_RULE_NAME = re.compile(r"[A-Za-z0-9-]+")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]')


class GbnfWriter:
    def __init__(self, bodies: dict[str, Expr], reserved_names: set[str]) -> None:
        self.bodies = bodies
        self.reserved_names = reserved_names
        self.used_names: list[str] = []
        self.hoisted_rules: dict[Expr, str] = {}

    def write(self, root: str) -> str:
        lines: list[str] = []
        todo, seen = [root], {root}
        while todo:
            name = todo.pop()
            body = self.bodies[name]
            self.used_names = []
            lines.append(f"{name} ::= {self.write_alternatives(body)}")
            fresh = [used for used in dict.fromkeys(self.used_names) if used not in seen and used in self.bodies]
            seen.update(fresh)
            todo += reversed(fresh)
        return "\n".join(lines) + "\n"

    def write_alternatives(self, expr: Expr) -> str:
        if isinstance(expr, Alt):
            return " | ".join(self.write_sequence(option) for option in expr.options)
        return self.write_sequence(expr)

    def write_sequence(self, expr: Expr) -> str:
        if not isinstance(expr, Seq):
            return self.write_item(expr)
        words, literal = [], ""
        for part in expr.parts:
            text = _literal_text(part)
            literal += text or ""
            if text is None:
                words += [quote_literal(literal)] * bool(literal) + [self.write_item(part)]
                literal = ""
        if literal or not words:
            words.append(quote_literal(literal))
        return " ".join(words)

    def write_item(self, expr: Expr) -> str:
        match expr:
            case Lit(text):
                return quote_literal(text)
            case Ref(name):
                return self.use_rule(self.resolve_rule(name))
            case Chars(ranges):
                return self.write_character(ranges)
            case RawGbnf(text):
                self.used_names += _RULE_NAME.findall(_QUOTED.sub(" ", text))
                return text
            case Rep(body, low, high):
                return self.write_repetition(body, low, high)
            case _:
                return f"({self.write_alternatives(expr)})"

    def write_character(self, ranges: Ranges) -> str:
        if ranges == ANY:
            return self.use_rule("char")
        spellings = list_json_spellings(ranges)
        if len(spellings) == 1:
            return spellings[0] if spellings[0].startswith("[") else f"({spellings[0]})"
        return self.use_hoisted_rule("char", RawGbnf(" | ".join(spellings)))

    def write_repetition(self, body: Expr, low: int, high: int) -> str:
        if (low, high) == (0, 1):
            return f"({self.write_alternatives(body)})?" if not isinstance(body, Ref) else f"{self.write_item(body)}?"
        # llama.cpp copies a group for each repetition; a rule reference counts as one element.
        atom = self.write_item(body) if isinstance(body, Ref | Chars) else self.use_hoisted_rule("part", body)
        if atom.startswith("("):
            atom = self.use_hoisted_rule("part", RawGbnf(atom))
        words = []
        while low > MAX_REPEAT:
            words.append(f"{atom}{{{MAX_REPEAT}}}")
            low, high = low - MAX_REPEAT, high - MAX_REPEAT
        high = min(high, max(low, MAX_REPEAT))
        words.append(f"{atom}{{{low}}}" if low == high else f"{atom}{{{low},{high}}}")
        return " ".join(words)

    def use_rule(self, name: str) -> str:
        self.used_names.append(name)
        return name

    def resolve_rule(self, name: str) -> str:
        """Follow rules that only refer to another rule; returns the final name."""
        for _ in range(64):
            body = self.bodies.get(name)
            if not isinstance(body, Ref):
                break
            name = body.name
        return name

    def use_hoisted_rule(self, hint: str, body: Expr) -> str:
        if body not in self.hoisted_rules:
            name = hint
            while name in self.bodies or name in self.reserved_names:
                name = f"{hint}-{len(self.hoisted_rules)}-{len(self.bodies)}"
            self.bodies[name] = body
            self.hoisted_rules[body] = name
        return self.use_rule(self.hoisted_rules[body])


def _literal_text(expr: Expr) -> str | None:
    match expr:
        case Chars(((low, high),)) if low == high and low >= 0x20 and chr(low) not in '"\\':
            return chr(low)
        case Lit(text):
            return text
        case _:
            return None


_UNSAFE_CHARS = re.compile(r"[^a-z0-9]+")
COMMA, COLON = Ref("comma"), Ref("colon")

_BUILTIN_RULES: dict[str, Expr] = {"char": RawGbnf(CHAR), "comma": RawGbnf('"," " "?'), "colon": RawGbnf('":" " "?')}


def to_rule_name(hint: str) -> str:
    return _UNSAFE_CHARS.sub("-", hint.lower()).strip("-")[:32].strip("-") or "rule"


class GrammarRules:
    """Named rules. Methods that add one return its name, made unique and valid.

    `unenforced`: keywords of schemas that the grammar does not enforce, as "path: keyword".
    """

    def __init__(self, limits: GrammarLimits | None = None) -> None:
        self.limits = limits or GrammarLimits()
        self.bodies: dict[str, Expr] = dict(_BUILTIN_RULES)
        self.unenforced: list[str] = []
        self._shared_names: dict[Expr, str] = {}
        self._counts: dict[str, int] = defaultdict(int)
        self._unsatisfiable: set[str] = set()
        self._checked = 0

    def add(self, name: str, body: Expr | str) -> str:
        """Add a rule with a GBNF text or expression as its body; returns its actual name."""
        name = self.reserve(name)
        self.define(name, body)
        return name

    def define(self, name: str, body: Expr | str) -> None:
        self.bodies[name] = RawGbnf(body) if isinstance(body, str) else body
        self._unsatisfiable.discard(name)

    @staticmethod
    def quote(text: str) -> str:
        """Return a GBNF literal for exactly this text."""
        return quote_literal(text)

    def reserve(self, hint: str) -> str:
        """Reserve a free rule name; `define` sets its body later."""
        name = stem = to_rule_name(hint)
        while name in self.bodies:
            self._counts[stem] += 1
            name = f"{stem}-{self._counts[stem]}"
        if len(self.bodies) >= self.limits.rules:
            raise CallerError(f"The JSON Schema needs more than {self.limits.rules} grammar rules: make it smaller.")
        self.bodies[name] = NEVER
        return name

    def add_shared(self, hint: str, body: Expr) -> Ref:
        """Return a reference to the rule with this body; equal bodies share one rule."""
        if isinstance(body, Ref):
            return body
        if body not in self._shared_names:
            self._shared_names[body] = self.add(hint, body)
        return Ref(self._shared_names[body])

    def add_schema(self, schema: dict[str, Any], hint: str = "value") -> str:
        """Add rules for a schema; returns the rule name. Inexpressible keywords go to `unenforced`."""
        # Imported here because `build` imports this module.
        from rightseat.models.llamacpp.grammar.build import add_schema

        return add_schema(self, schema, hint)

    def find_unsatisfiable(self) -> set[str]:
        """Return the rules that no finite text satisfies; checks only rules added since the last call."""
        added = list(self.bodies)[self._checked :]
        self._checked = len(self.bodies)
        satisfiable = set(self.bodies) - set(added) - self._unsatisfiable
        users: dict[str, set[str]] = defaultdict(set)
        for name in added:
            for used in _list_references(self.bodies[name]):
                users[used].add(name)
        pending = added
        while pending:
            name = pending.pop()
            if name not in satisfiable and _is_satisfiable(self.bodies[name], satisfiable):
                satisfiable.add(name)
                pending += users[name] - satisfiable
        self._unsatisfiable = set(self.bodies) - satisfiable
        return self._unsatisfiable

    def to_gbnf(self, root: str = "root") -> str:
        """Return the GBNF text of all rules reachable from the root."""
        dead = self.find_unsatisfiable()
        bodies = {name: _prune(body, dead) for name, body in self.bodies.items() if name not in dead}
        return GbnfWriter(bodies, set(self.bodies)).write(root)


def _list_references(expr: Expr) -> set[str]:
    return {expr.name} if isinstance(expr, Ref) else set().union(*map(_list_references, list_children(expr)))


def _is_satisfiable(expr: Expr, satisfiable: set[str]) -> bool:
    match expr:
        case Ref(name):
            return name in satisfiable
        case Seq(parts):
            return all(_is_satisfiable(part, satisfiable) for part in parts)
        case Alt(options):
            return any(_is_satisfiable(option, satisfiable) for option in options)
        case Rep(body, low):
            return low == 0 or _is_satisfiable(body, satisfiable)
        case _:
            return True


def _prune(expr: Expr, unsatisfiable: set[str]) -> Expr:
    if isinstance(expr, Ref):
        return NEVER if expr.name in unsatisfiable else expr
    return map_children(expr, lambda child: _prune(child, unsatisfiable))
