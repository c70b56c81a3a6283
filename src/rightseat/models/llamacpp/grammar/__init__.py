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

from rightseat.models.llamacpp.grammar.build import sound
from rightseat.models.llamacpp.grammar.expr import Ref
from rightseat.models.llamacpp.grammar.limits import Grammar, Limits
from rightseat.models.llamacpp.grammar.rules import Rules

__all__ = ["Grammar", "Limits", "Rules", "grammar"]

MAX_CACHED = 128
_cache: OrderedDict[tuple[bytes, str, Limits], Grammar] = OrderedDict()
_LIMITS = Limits()


def grammar(schema: dict[str, Any], *, root: str = "root", limits: Limits = _LIMITS) -> Grammar:
    """Compile a schema; raises CallerError if it is invalid or unsatisfiable."""
    try:
        key = (msgspec.json.encode(schema), root, limits)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError):
        sound(schema)  # raises an error that explains the problem
        raise
    found = _cache.get(key)
    if found is None:
        found = _cache[key] = _write(schema, root, limits)
        if len(_cache) > MAX_CACHED:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return found


def _write(schema: dict[str, Any], root: str, limits: Limits) -> Grammar:
    rules = Rules(limits)
    name = rules.reserve(root)
    rules.define(name, Ref(rules.add_schema(schema)))
    unsaid = tuple(dict.fromkeys(rules.unsaid))
    return Grammar(rules.text(name), not unsaid, unsaid, sound(schema))
