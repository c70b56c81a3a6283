"""GrammarRules: named rules of a grammar under construction, and their GBNF text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.charset import CHAR, quote_literal
from rightseat.models.llamacpp.grammar.expr import (
    NEVER,
    Alt,
    Expr,
    RawGbnf,
    Ref,
    Rep,
    Seq,
    alt,
    rep,
    seq,
)
from rightseat.models.llamacpp.grammar.limits import GrammarLimits
from rightseat.models.llamacpp.grammar.page import GbnfWriter

_UNSAFE_CHARS = re.compile(r"[^a-z0-9]+")
COMMA, COLON = Ref("comma"), Ref("colon")
_BUILTIN_RULES: dict[str, Expr] = {
    "char": RawGbnf(CHAR),
    "comma": RawGbnf('"," " "?'),
    "colon": RawGbnf('":" " "?'),
}


def to_rule_name(hint: str) -> str:
    """Convert a hint to a valid rule name."""
    return _UNSAFE_CHARS.sub("-", hint.lower()).strip("-")[:32].strip("-") or "rule"


class GrammarRules:
    """Named rules. Methods that add one return its name, made unique and valid."""

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
        """Set the body of a reserved rule."""
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
            raise CallerError(
                f"The JSON Schema needs more than {self.limits.rules} grammar rules: make it smaller."
            )
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
    match expr:
        case Ref(name):
            return {name}
        case Seq(parts):
            return set().union(*map(_list_references, parts))
        case Alt(options):
            return set().union(*map(_list_references, options))
        case Rep(body):
            return _list_references(body)
        case _:
            return set()


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
    match expr:
        case Ref(name):
            return NEVER if name in unsatisfiable else expr
        case Seq(parts):
            return seq(*(_prune(part, unsatisfiable) for part in parts))
        case Alt(options):
            return alt(*(_prune(option, unsatisfiable) for option in options))
        case Rep(body, low, high):
            return rep(_prune(body, unsatisfiable), low, high)
        case _:
            return expr
