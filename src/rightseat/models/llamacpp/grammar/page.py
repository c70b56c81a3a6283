"""Write rules as GBNF text."""

from __future__ import annotations

import re

from rightseat.models.llamacpp.grammar.charset import (
    ANY,
    list_json_spellings,
    quote_literal,
    single_character,
)
from rightseat.models.llamacpp.grammar.expr import Alt, Chars, Expr, Lit, RawGbnf, Ref, Rep, Seq
from rightseat.models.llamacpp.grammar.limits import MAX_REPEAT

_RULE_NAME = re.compile(r"[A-Za-z0-9-]+")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]')


class GbnfWriter:
    def __init__(self, bodies: dict[str, Expr], taken: set[str]) -> None:
        self.bodies = bodies
        self.reserved_names = taken
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
            fresh = [
                used for used in dict.fromkeys(self.used_names) if used not in seen and used in self.bodies
            ]
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
                return self.write_character(expr, ranges == ANY)
            case RawGbnf(text):
                self.used_names += _RULE_NAME.findall(_QUOTED.sub(" ", text))
                return text
            case Rep(body, low, high):
                return self.write_repetition(body, low, high)
            case _:
                return f"({self.write_alternatives(expr)})"

    def write_character(self, expr: Chars, any_char: bool) -> str:
        if any_char:
            return self.use_rule("char")
        ways = list_json_spellings(expr.ranges)
        if len(ways) == 1:
            return ways[0] if ways[0].startswith("[") else f"({ways[0]})"
        return self.use_rule(self.add_hoisted_rule("char", RawGbnf(" | ".join(ways))))

    def write_repetition(self, body: Expr, low: int, high: int) -> str:
        if (low, high) == (0, 1):
            return (
                f"({self.write_alternatives(body)})?"
                if not isinstance(body, Ref)
                else f"{self.write_item(body)}?"
            )
        # llama.cpp copies a group for each repetition; a rule reference counts as one element.
        plain = isinstance(body, Ref | Chars)
        atom = self.write_item(body) if plain else self.use_rule(self.add_hoisted_rule("part", body))
        if atom.startswith("("):
            atom = self.use_rule(self.add_hoisted_rule("part", RawGbnf(atom)))
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

    def add_hoisted_rule(self, hint: str, body: Expr) -> str:
        if body not in self.hoisted_rules:
            name = hint
            while name in self.bodies or name in self.reserved_names:
                name = f"{hint}-{len(self.hoisted_rules)}-{len(self.bodies)}"
            self.bodies[name] = body
            self.hoisted_rules[body] = name
        return self.hoisted_rules[body]


def _literal_text(expr: Expr) -> str | None:
    if isinstance(expr, Lit):
        return expr.text
    if isinstance(expr, Chars):
        char = single_character(expr.ranges)
        return char if char and char >= " " and char not in '"\\' else None
    return None
