"""Write rules as GBNF text."""

from __future__ import annotations

import re

from rightseat.models.llamacpp.grammar.charset import ANY, quoted, single, spellings
from rightseat.models.llamacpp.grammar.expr import Alt, Chars, Expr, Lit, Raw, Ref, Rep, Seq
from rightseat.models.llamacpp.grammar.limits import MAX_REPEAT

_WORD = re.compile(r"[A-Za-z0-9-]+")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]')


class Page:
    def __init__(self, bodies: dict[str, Expr], taken: set[str]) -> None:
        self.bodies = bodies
        self.taken = taken
        self.used: list[str] = []
        self.hoisted: dict[Expr, str] = {}

    def text(self, root: str) -> str:
        lines: list[str] = []
        todo, seen = [root], {root}
        while todo:
            name = todo.pop()
            body = self.bodies[name]
            self.used = []
            lines.append(f"{name} ::= {self.alternatives(body)}")
            fresh = [used for used in dict.fromkeys(self.used) if used not in seen and used in self.bodies]
            seen.update(fresh)
            todo += reversed(fresh)
        return "\n".join(lines) + "\n"

    def alternatives(self, expr: Expr) -> str:
        if isinstance(expr, Alt):
            return " | ".join(self.sequence(option) for option in expr.options)
        return self.sequence(expr)

    def sequence(self, expr: Expr) -> str:
        if not isinstance(expr, Seq):
            return self.item(expr)
        words, literal = [], ""
        for part in expr.parts:
            text = _literal(part)
            literal += text or ""
            if text is None:
                words += [quoted(literal)] * bool(literal) + [self.item(part)]
                literal = ""
        if literal or not words:
            words.append(quoted(literal))
        return " ".join(words)

    def item(self, expr: Expr) -> str:
        match expr:
            case Lit(text):
                return quoted(text)
            case Ref(name):
                return self.name(self.target(name))
            case Chars(ranges):
                return self.character(expr, ranges == ANY)
            case Raw(text):
                self.used += _WORD.findall(_STRING.sub(" ", text))
                return text
            case Rep(body, low, high):
                return self.repeated(body, low, high)
            case _:
                return f"({self.alternatives(expr)})"

    def character(self, expr: Chars, any_char: bool) -> str:
        if any_char:
            return self.name("char")
        ways = spellings(expr.ranges)
        if len(ways) == 1:
            return ways[0] if ways[0].startswith("[") else f"({ways[0]})"
        return self.name(self.hoist("char", Raw(" | ".join(ways))))

    def repeated(self, body: Expr, low: int, high: int) -> str:
        if (low, high) == (0, 1):
            return f"({self.alternatives(body)})?" if not isinstance(body, Ref) else f"{self.item(body)}?"
        # llama.cpp copies a group for each repetition; a rule reference counts as one element.
        plain = isinstance(body, Ref | Chars)
        atom = self.item(body) if plain else self.name(self.hoist("part", body))
        if atom.startswith("("):
            atom = self.name(self.hoist("part", Raw(atom)))
        words = []
        while low > MAX_REPEAT:
            words.append(f"{atom}{{{MAX_REPEAT}}}")
            low, high = low - MAX_REPEAT, high - MAX_REPEAT
        high = min(high, max(low, MAX_REPEAT))
        words.append(f"{atom}{{{low}}}" if low == high else f"{atom}{{{low},{high}}}")
        return " ".join(words)

    def name(self, name: str) -> str:
        self.used.append(name)
        return name

    def target(self, name: str) -> str:
        """Follow rules that only refer to another rule; returns the final name."""
        for _ in range(64):
            body = self.bodies.get(name)
            if not isinstance(body, Ref):
                break
            name = body.name
        return name

    def hoist(self, hint: str, body: Expr) -> str:
        if body not in self.hoisted:
            name = hint
            while name in self.bodies or name in self.taken:
                name = f"{hint}-{len(self.hoisted)}-{len(self.bodies)}"
            self.bodies[name] = body
            self.hoisted[body] = name
        return self.hoisted[body]


def _literal(expr: Expr) -> str | None:
    if isinstance(expr, Lit):
        return expr.text
    if isinstance(expr, Chars):
        char = single(expr.ranges)
        return char if char and char >= " " and char not in '"\\' else None
    return None
