"""A grammar under construction: named rules, and the text that llama.cpp reads."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import ANY, CHAR, quoted, single, spellings
from rightseat.models.llamacpp.grammar.expr import (
    NEVER, Alt, Chars, Expr, Lit, Raw, Ref, Rep, Seq, alt, rep, seq,
)
from rightseat.models.llamacpp.grammar.limits import MAX_REPEAT, Limits

_UNSAFE = re.compile(r"[^a-z0-9]+")
_WORD = re.compile(r"[A-Za-z0-9-]+")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]')
COMMA, COLON = Ref("comma"), Ref("colon")
_FIXED: dict[str, Expr] = {"char": Raw(CHAR), "comma": Raw('"," " "?'), "colon": Raw('":" " "?')}


class Rules:
    """Rules are added by name; a name is made unique and safe, and is given back."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.bodies: dict[str, Expr] = dict(_FIXED)
        self.unsaid: list[str] = []
        self._known: dict[Expr, str] = {}
        self._counts: dict[str, int] = defaultdict(int)

    def add(self, name: str, body: Expr | str) -> str:
        """The body is GBNF, or an expression. The name comes back changed if it is taken or unsafe."""
        name = self.reserve(name)
        self.bodies[name] = Raw(body) if isinstance(body, str) else body
        return name

    def reserve(self, hint: str) -> str:
        """A free name, to be given its body later."""
        stem = _UNSAFE.sub("-", hint.lower()).strip("-")[:32].strip("-") or "rule"
        name = stem
        while name in self.bodies:
            self._counts[stem] += 1
            name = f"{stem}-{self._counts[stem]}"
        if len(self.bodies) >= self.limits.rules:
            raise CallerError(f"The JSON Schema needs more than {self.limits.rules} grammar rules: make it smaller.")
        self.bodies[name] = NEVER
        return name

    def share(self, hint: str, body: Expr) -> Ref:
        """A rule for the body, the same one for the same body."""
        if isinstance(body, Ref):
            return body
        if body not in self._known:
            self._known[body] = self.add(hint, body)
        return Ref(self._known[body])

    def add_schema(self, schema: dict[str, Any], hint: str = "value") -> str:
        """Rules for JSON text that satisfies the schema; what cannot be said is appended to `unsaid`."""
        # Imported here because schemas are written with rules.
        from rightseat.models.llamacpp.grammar.build import add_schema

        return add_schema(self, schema, hint)

    def dead(self) -> set[str]:
        """Rules that no finite text satisfies."""
        users: dict[str, set[str]] = defaultdict(set)
        for name, body in self.bodies.items():
            for used in _refs(body):
                users[used].add(name)
        live: set[str] = set()
        todo = list(reversed(self.bodies))
        while todo:
            name = todo.pop()
            if name not in live and _lives(self.bodies[name], live):
                live.add(name)
                todo += users[name] - live
        return set(self.bodies) - live

    def text(self, root: str = "root") -> str:
        """The grammar, from the rules that the root reaches."""
        dead = self.dead()
        writer = _Writer({n: _without(b, dead) for n, b in self.bodies.items() if n not in dead}, self)
        return writer.text(root)


class _Writer:
    def __init__(self, bodies: dict[str, Expr], rules: Rules) -> None:
        self.bodies = bodies
        self.taken = rules
        self.hoisted: dict[Expr, str] = {}

    def text(self, root: str) -> str:
        lines: list[str] = []
        todo, seen = [root], {root}
        while todo:
            name = todo.pop()
            body = self.bodies[name]
            self.used: list[str] = []
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
        # llama.cpp multiplies what stands in a group by its repetitions; a rule's name counts as one.
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
        """Past rules that only name another one."""
        for _ in range(64):
            body = self.bodies.get(name)
            if not isinstance(body, Ref):
                break
            name = body.name
        return name

    def hoist(self, hint: str, body: Expr) -> str:
        if body not in self.hoisted:
            name = hint
            while name in self.bodies or name in self.taken.bodies:
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


def _refs(expr: Expr) -> set[str]:
    match expr:
        case Ref(name):
            return {name}
        case Seq(parts):
            return set().union(*map(_refs, parts))
        case Alt(options):
            return set().union(*map(_refs, options))
        case Rep(body):
            return _refs(body)
        case _:
            return set()


def _lives(expr: Expr, live: set[str]) -> bool:
    match expr:
        case Ref(name):
            return name in live
        case Seq(parts):
            return all(_lives(part, live) for part in parts)
        case Alt(options):
            return any(_lives(option, live) for option in options)
        case Rep(body, low):
            return low == 0 or _lives(body, live)
        case _:
            return True


def _without(expr: Expr, dead: set[str]) -> Expr:
    match expr:
        case Ref(name):
            return NEVER if name in dead else expr
        case Seq(parts):
            return seq(*(_without(part, dead) for part in parts))
        case Alt(options):
            return alt(*(_without(option, dead) for option in options))
        case Rep(body, low, high):
            return rep(_without(body, dead), low, high)
        case _:
            return expr
