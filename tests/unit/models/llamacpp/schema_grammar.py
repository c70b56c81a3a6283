"""The grammar of one schema, with what it leaves unsaid."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rightseat.models.llamacpp.grammar.build import normalize_schema
from rightseat.models.llamacpp.grammar.expr import Ref
from rightseat.models.llamacpp.grammar.rules import GrammarLimits, GrammarRules


class SchemaGrammar(Struct, frozen=True):
    text: str
    unenforced: tuple[str, ...]
    schema: dict[str, Any]
    """The schema upgraded to JSON Schema 2020-12, for validation."""

    @property
    def exact(self) -> bool:
        return not self.unenforced


def build_grammar(schema: dict[str, Any], *, root: str = "root", limits: GrammarLimits | None = None) -> SchemaGrammar:
    rules = GrammarRules(limits)
    name = rules.reserve(root)
    rules.define(name, Ref(rules.add_schema(schema)))
    return SchemaGrammar(rules.to_gbnf(name), tuple(dict.fromkeys(rules.unenforced)), normalize_schema(schema))
