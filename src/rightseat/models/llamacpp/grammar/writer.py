"""SchemaWriter: one rule per set of pointers, shared by the object and array builders."""

from __future__ import annotations

from rightseat.models.llamacpp.grammar.document import Document, Places, Way
from rightseat.models.llamacpp.grammar.expr import Expr, Lit, Ref, alt, rep, seq
from rightseat.models.llamacpp.grammar.numbers import free as any_number
from rightseat.models.llamacpp.grammar.rules import COLON, COMMA, Rules, safe
from rightseat.models.llamacpp.grammar.strings import QUOTE, string


class Writer:
    def __init__(self, rules: Rules, document: Document) -> None:
        self.rules = rules
        self.document = document
        self.limits = rules.limits
        self.names: dict[Places, str] = {}
        self.todo: list[Places] = []

    def node(self, places: Places, hint: str) -> Ref:
        """Return the rule for values that satisfy all pointers; its body comes later (schemas recurse)."""
        places = frozenset(map(self.document.resolved, places))
        if not places:
            return self.anything(self.limits.depth)
        if places not in self.names:
            self.names[places] = self.rules.reserve(f"{hint} rule" if safe(hint) == "root" else hint)
            self.todo.append(places)
        return Ref(self.names[places])

    def anything(self, depth: int) -> Ref:
        """Return the rule for any JSON value with at most `depth` nesting levels."""
        text = self.rules.share("string", string(Way(()), self.document))
        found: Expr = alt(
            text, self.rules.share("number", any_number(self.limits)), Lit("true"), Lit("false"), Lit("null")
        )
        key = self.rules.share("key", seq(QUOTE, rep(self.character(), 0, self.limits.key), QUOTE))
        for _ in range(depth):
            inner = self.rules.share("any", found)
            items = rep(seq(inner, rep(seq(COMMA, inner), 0, self.limits.items - 1)), 0, 1)
            member = seq(key, COLON, inner)
            members = rep(seq(member, rep(seq(COMMA, member), 0, self.limits.properties - 1)), 0, 1)
            found = alt(
                seq(Lit("{"), members, Lit("}")), seq(Lit("["), items, Lit("]")), text, *_scalars(found)
            )
        return self.rules.share("any", found)

    def character(self) -> Expr:
        return Ref("char")


def _scalars(expr: Expr) -> tuple[Expr, ...]:
    options = expr.options if hasattr(expr, "options") else ()
    return tuple(option for option in options if isinstance(option, Ref | Lit))
