"""SchemaWriter: one rule per set of pointers, shared by the object and array builders."""

from __future__ import annotations

from rightseat.models.llamacpp.grammar.document import Pointers, SchemaConjunction, SchemaDocument
from rightseat.models.llamacpp.grammar.expr import Expr, Lit, Ref, alt, rep, seq
from rightseat.models.llamacpp.grammar.numbers import build_any_number as any_number
from rightseat.models.llamacpp.grammar.rules import COLON, COMMA, GrammarRules, to_rule_name
from rightseat.models.llamacpp.grammar.strings import QUOTE, build_string


class SchemaWriter:
    def __init__(self, rules: GrammarRules, document: SchemaDocument) -> None:
        self.rules = rules
        self.document = document
        self.limits = rules.limits
        self.rule_names: dict[Pointers, str] = {}
        self.pending: list[Pointers] = []

    def add_node(self, pointers: Pointers, hint: str) -> Ref:
        """Return the rule for values that satisfy all pointers; its body comes later (schemas recurse)."""
        pointers = frozenset(map(self.document.follow_references, pointers))
        if not pointers:
            return self.add_any_value(self.limits.depth)
        if pointers not in self.rule_names:
            self.rule_names[pointers] = self.rules.reserve(
                f"{hint} rule" if to_rule_name(hint) == "root" else hint
            )
            self.pending.append(pointers)
        return Ref(self.rule_names[pointers])

    def add_any_value(self, depth: int) -> Ref:
        """Return the rule for any JSON value with at most `depth` nesting levels."""
        text = self.rules.add_shared("string", build_string(SchemaConjunction(()), self.document))
        value: Expr = alt(
            text,
            self.rules.add_shared("number", any_number(self.limits)),
            Lit("true"),
            Lit("false"),
            Lit("null"),
        )
        key = self.rules.add_shared("key", seq(QUOTE, rep(self.any_character(), 0, self.limits.key), QUOTE))
        for _ in range(depth):
            inner = self.rules.add_shared("any", value)
            items = rep(seq(inner, rep(seq(COMMA, inner), 0, self.limits.items - 1)), 0, 1)
            member = seq(key, COLON, inner)
            members = rep(seq(member, rep(seq(COMMA, member), 0, self.limits.properties - 1)), 0, 1)
            value = alt(
                seq(Lit("{"), members, Lit("}")),
                seq(Lit("["), items, Lit("]")),
                text,
                *_scalar_options(value),
            )
        return self.rules.add_shared("any", value)

    def any_character(self) -> Expr:
        return Ref("char")


def _scalar_options(expr: Expr) -> tuple[Expr, ...]:
    options = expr.options if hasattr(expr, "options") else ()
    return tuple(option for option in options if isinstance(option, Ref | Lit))
