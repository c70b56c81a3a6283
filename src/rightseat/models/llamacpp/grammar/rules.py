"""GrammarRules: named rules of a grammar under construction, and their GBNF text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import CHAR, quoted
from rightseat.models.llamacpp.grammar.expr import (
    NEVER,
    Alt,
    Expr,
    Raw,
    Ref,
    Rep,
    Seq,
    alt,
    rep,
    seq,
)
from rightseat.models.llamacpp.grammar.limits import Limits
from rightseat.models.llamacpp.grammar.page import Page

_UNSAFE = re.compile(r"[^a-z0-9]+")
COMMA, COLON = Ref("comma"), Ref("colon")
_FIXED: dict[str, Expr] = {"char": Raw(CHAR), "comma": Raw('"," " "?'), "colon": Raw('":" " "?')}


def safe(hint: str) -> str:
    """Convert a hint to a valid rule name."""
    return _UNSAFE.sub("-", hint.lower()).strip("-")[:32].strip("-") or "rule"


class Rules:
    """Named rules. Methods that add one return its name, made unique and valid."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.bodies: dict[str, Expr] = dict(_FIXED)
        self.unsaid: list[str] = []
        self._known: dict[Expr, str] = {}
        self._counts: dict[str, int] = defaultdict(int)
        self._dead: set[str] = set()
        self._judged = 0

    def add(self, name: str, body: Expr | str) -> str:
        """Add a rule with a GBNF text or expression as its body; returns its actual name."""
        name = self.reserve(name)
        self.define(name, body)
        return name

    def define(self, name: str, body: Expr | str) -> None:
        """Set the body of a reserved rule."""
        self.bodies[name] = Raw(body) if isinstance(body, str) else body
        self._dead.discard(name)

    @staticmethod
    def quote(text: str) -> str:
        """Return a GBNF literal for exactly this text."""
        return quoted(text)

    def reserve(self, hint: str) -> str:
        """Reserve a free rule name; `define` sets its body later."""
        name = stem = safe(hint)
        while name in self.bodies:
            self._counts[stem] += 1
            name = f"{stem}-{self._counts[stem]}"
        if len(self.bodies) >= self.limits.rules:
            raise CallerError(
                f"The JSON Schema needs more than {self.limits.rules} grammar rules: make it smaller."
            )
        self.bodies[name] = NEVER
        return name

    def share(self, hint: str, body: Expr) -> Ref:
        """Return a reference to the rule with this body; equal bodies share one rule."""
        if isinstance(body, Ref):
            return body
        if body not in self._known:
            self._known[body] = self.add(hint, body)
        return Ref(self._known[body])

    def add_schema(self, schema: dict[str, Any], hint: str = "value") -> str:
        """Add rules for a schema; returns the rule name. Inexpressible keywords go to `unenforced`."""
        # Imported here because `build` imports this module.
        from rightseat.models.llamacpp.grammar.build import add_schema

        return add_schema(self, schema, hint)

    def bury(self) -> set[str]:
        """Return the rules that no finite text satisfies; checks only rules added since the last call."""
        fresh = list(self.bodies)[self._judged :]
        self._judged = len(self.bodies)
        live = set(self.bodies) - set(fresh) - self._dead
        users: dict[str, set[str]] = defaultdict(set)
        for name in fresh:
            for used in _refs(self.bodies[name]):
                users[used].add(name)
        todo = fresh
        while todo:
            name = todo.pop()
            if name not in live and _lives(self.bodies[name], live):
                live.add(name)
                todo += users[name] - live
        self._dead = set(self.bodies) - live
        return self._dead

    def text(self, root: str = "root") -> str:
        """Return the GBNF text of all rules reachable from the root."""
        dead = self.bury()
        bodies = {name: _without(body, dead) for name, body in self.bodies.items() if name not in dead}
        return Page(bodies, set(self.bodies)).text(root)


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
