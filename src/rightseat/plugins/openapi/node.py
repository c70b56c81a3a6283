"""Node of a document (a value with its path) and the list of problems found while reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rightseat.plugins.document import PluginDocument
from rightseat.plugins.place import KeyPath, PathKey
from rightseat.plugins.problem import Gravity, Problem

MAX_PROBLEMS = 300


@dataclass(frozen=True, slots=True)
class Node:
    value: Any
    document: PluginDocument
    path: KeyPath = ()

    def child(self, step: PathKey) -> Node:
        """Return the node below a key or index; its value is None if there is none."""
        try:
            return Node(self.value[step], self.document, (*self.path, step))
        except (KeyError, IndexError, TypeError):
            return Node(None, self.document, (*self.path, step))

    def with_value(self, value: Any) -> Node:
        """Return a node at the same path with another value."""
        return Node(value, self.document, self.path)

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield keys and child nodes of a mapping; nothing for other values."""
        if isinstance(self.value, dict):
            for key in self.value:
                yield key, self.child(key)

    def children(self) -> Iterator[Node]:
        """Yield the item nodes of a list; nothing for other values."""
        if isinstance(self.value, list):
            for number in range(len(self.value)):
                yield self.child(number)

    def text(self, key: str) -> str:
        """Return the text below a key; empty if there is none."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        if isinstance(value, str):
            return value.strip()
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""

    def is_true(self, *keys: str) -> bool:
        """Tell whether one of the keys is true, or the text "true"."""
        return isinstance(self.value, dict) and any(is_truthy(self.value.get(key)) for key in keys)


def is_truthy(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "1"))


class ProblemList:
    """Problems in the order found, without duplicates, at most MAX_PROBLEMS of each gravity."""

    def __init__(self, strict: bool = True) -> None:
        self.strict = strict
        """Whether style problems are recorded: finding their lines takes time."""
        self._problems: dict[Problem, None] = {}
        self._count: Counter[Gravity] = Counter()
        self.omitted: Counter[Gravity] = Counter()

    def add(self, node: Node, what: str, fix: str, gravity: Gravity = "warning") -> None:
        if gravity == "style" and not self.strict:
            return
        if self._count[gravity] >= MAX_PROBLEMS:
            self.omitted[gravity] += 1
            return
        problem = node.document.make_problem(node.path, what, fix, gravity)
        if problem not in self._problems:
            self._count[gravity] += 1
            self._problems[problem] = None

    def to_tuple(self) -> tuple[Problem, ...]:
        return tuple(self._problems)
