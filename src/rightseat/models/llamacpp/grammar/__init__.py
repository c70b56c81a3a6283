"""JSON Schema → GBNF, the grammars of llama.cpp. Pure: no I/O, bounded work.

    grammar(schema)                 one grammar for one schema, cached
    rules = Rules()                 several schemas and own rules in one grammar:
    name = rules.add_schema(tool)
    rules.add("root", f'"<tool>" {name} "</tool>"')
    rules.text()

Text is compact (one space after a comma or colon at most), properties come in the schema's order, and what
the schema leaves unbounded is bounded by Limits. A property that the schema does not name is offered only
where `additionalProperties` says so, or where it names none at all.
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
    """A grammar whose texts satisfy the schema; CallerError if it is bad or nothing satisfies it."""
    try:
        key = (msgspec.json.encode(schema), root, limits)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError):
        sound(schema)  # says what is wrong with it
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
