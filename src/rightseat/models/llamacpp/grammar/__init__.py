"""Compile JSON Schema to GBNF, the grammars of llama.cpp. No I/O, bounded work.

    build_grammar(schema)           one grammar for one schema, cached
    rules = GrammarRules()          several schemas and custom rules in one grammar:
    name = rules.add_schema(tool)
    rules.add("root", f'"<tool>" {name} "</tool>"')
    rules.to_gbnf()

JSON is compact (at most one space after a comma or colon), properties keep the schema's order, and
GrammarLimits bounds what the schema leaves unbounded. Unnamed properties are allowed only if
`additionalProperties` allows them, or if the schema names no property.

`document` resolves a schema, `schema_analysis` finds types and enumerated values, `strings`, `regex`,
`numbers` and `containers` build expressions (`expr`, `charset`), `build` joins them into `rules`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import msgspec

from rightseat.models.llamacpp.grammar.build import normalize_schema
from rightseat.models.llamacpp.grammar.expr import Ref
from rightseat.models.llamacpp.grammar.rules import Grammar, GrammarLimits, GrammarRules

__all__ = ["Grammar", "GrammarLimits", "GrammarRules", "build_grammar"]

MAX_CACHED = 128
_cache: OrderedDict[tuple[bytes, str, GrammarLimits], Grammar] = OrderedDict()
_LIMITS = GrammarLimits()


def build_grammar(schema: dict[str, Any], *, root: str = "root", limits: GrammarLimits = _LIMITS) -> Grammar:
    """Compile a schema; raises CallerError if it is invalid or unsatisfiable."""
    try:
        key = (msgspec.json.encode(schema), root, limits)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError):
        normalize_schema(schema)  # raises an error that explains the problem
        raise
    cached = _cache.get(key)
    if cached is None:
        cached = _cache[key] = _build_uncached(schema, root, limits)
        if len(_cache) > MAX_CACHED:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return cached


def _build_uncached(schema: dict[str, Any], root: str, limits: GrammarLimits) -> Grammar:
    rules = GrammarRules(limits)
    name = rules.reserve(root)
    rules.define(name, Ref(rules.add_schema(schema)))
    unsaid = tuple(dict.fromkeys(rules.unenforced))
    return Grammar(rules.to_gbnf(name), not unsaid, unsaid, normalize_schema(schema))
