"""Detection of definitions that consist only of references to themselves.

A definition that contains itself in a property or an item is valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

DEFS_PREFIX = "#/$defs/"
_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_VALUE_SINGLES = ("not", "if", "then", "else")


def find_circular(defs: Mapping[str, dict[str, Any]]) -> set[str]:
    """Return the definitions whose references lead back to them for the same value."""
    edges = {name: {one for one in same_value_refs(schema) if one in defs} for name, schema in defs.items()}
    ahead = strip_leaves(edges)
    back: dict[str, set[str]] = {name: set() for name in ahead}
    for name in ahead:
        for one in edges[name] & ahead:
            back[one].add(name)
    return strip_leaves(back)


def strip_leaves(edges: dict[str, set[str]]) -> set[str]:
    """Remove nodes without outgoing edges repeatedly; returns the names that are left."""
    left = {name: len(targets) for name, targets in edges.items()}
    sources: dict[str, list[str]] = {}
    for name, targets in edges.items():
        for one in targets:
            sources.setdefault(one, []).append(name)
    done = [name for name, count in left.items() if not count]
    while done:
        name = done.pop()
        del left[name]
        for source in sources.get(name, ()):
            left[source] -= 1
            if not left[source]:
                done.append(source)
    return set(left)


def same_value_refs(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the definitions that the schema references for the same value."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if "$ref" in one:
            yield str(one["$ref"]).removeprefix(DEFS_PREFIX)
        for key in _SAME_VALUE_LISTS:
            waiting += one.get(key, ())
        waiting += (one[key] for key in _SAME_VALUE_SINGLES if isinstance(one.get(key), dict))
