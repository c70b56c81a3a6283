"""Detection of definitions that consist only of references to themselves.

A definition that contains itself in a property or an item is valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

POINTER = "#/$defs/"
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLES = ("not", "if", "then", "else")


def circular(defs: Mapping[str, dict[str, Any]]) -> set[str]:
    """Return the definitions whose references lead back to them for the same value."""
    edges = {name: {one for one in heads(schema) if one in defs} for name, schema in defs.items()}
    ahead = remaining(edges)
    back: dict[str, set[str]] = {name: set() for name in ahead}
    for name in ahead:
        for one in edges[name] & ahead:
            back[one].add(name)
    return remaining(back)


def remaining(edges: dict[str, set[str]]) -> set[str]:
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


def heads(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the definitions that the schema references for the same value."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if "$ref" in one:
            yield str(one["$ref"]).removeprefix(POINTER)
        for key in _LISTS:
            waiting += one.get(key, ())
        waiting += (one[key] for key in _SINGLES if isinstance(one.get(key), dict))
