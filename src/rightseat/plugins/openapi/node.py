"""Node of a spec (a value with its path), the list of problems found while reading, and `$ref` resolution within the
spec and other files of the plugin's folder."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rightseat.plugins.plugin import Gravity, KeyPath, PathKey, Problem
from rightseat.plugins.plugin_file import PluginDocument, UnreadableFile, read_document

MAX_PROBLEMS = 300
MAX_FILES = 100
MAX_HOPS = 50
_DEFINITION_PATHS = (("components", "schemas"), ("definitions",), ("components", "parameters"), ("$defs",))


@dataclass(frozen=True, slots=True)
class Node:
    value: Any
    spec: PluginDocument
    path: KeyPath = ()

    def child(self, step: PathKey) -> Node:
        """Return the node below a key or index; its value is None if there is none."""
        try:
            return Node(self.value[step], self.spec, (*self.path, step))
        except (KeyError, IndexError, TypeError):
            return Node(None, self.spec, (*self.path, step))

    def with_value(self, value: Any) -> Node:
        """Return a node at the same path with another value."""
        return Node(value, self.spec, self.path)

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
        problem = node.spec.make_problem(node.path, what, fix, gravity)
        if problem not in self._problems:
            self._count[gravity] += 1
            self._problems[problem] = None

    def to_tuple(self) -> tuple[Problem, ...]:
        return tuple(self._problems)


class RefResolver:
    def __init__(self, folder: Path, root: PluginDocument, problems: ProblemList) -> None:
        self.folder, self.problems = folder, problems
        self.files: dict[str, PluginDocument | None] = {root.name: root}

    def resolve(self, node: Node) -> Node:
        """Follow `$ref`s to the node meant; a broken one gives a node with value None and a problem."""
        hops = 0
        while isinstance(node.value, dict) and "$ref" in node.value:
            hops += 1
            target = self.resolve_once(node)
            if target is None:
                return node.with_value(None)
            if hops > MAX_HOPS:
                self.problems.add(node, "Its $ref leads in a circle.", "Say what is meant.", "error")
                return node.with_value(None)
            node = target
        return node

    def resolve_once(self, node: Node) -> Node | None:
        """Follow one `$ref`; None and a problem if it is broken."""
        ref = node.value["$ref"]
        if not isinstance(ref, str) or not ref.strip():
            self.add_ref_problem(node, "is no text", "Write it as '#/components/schemas/NAME'.")
            return None
        name, _, pointer = ref.strip().partition("#")
        if "://" in name or name.startswith("//"):
            self.add_ref_problem(node, "leads to another server, and nothing is fetched", "Copy what it means in here.")
            return None
        spec = node.spec if not name else self.load_file(node, unquote(name))
        if spec is None:
            return None
        target = self.resolve_pointer(spec, unquote(pointer)) or self.find_by_name(node, spec, pointer)
        if target is None:
            self.add_ref_problem(node, f"leads nowhere: {ref[:100]}", "Mend it, or write what it should lead to.")
        return target

    def load_file(self, node: Node, name: str) -> PluginDocument | None:
        beside = posixpath.dirname(node.spec.name)
        path = posixpath.normpath(posixpath.join(beside, name.replace("\\", "/")))
        if path in self.files:
            return self.files[path]
        if len(self.files) >= MAX_FILES:
            self.add_ref_problem(node, f"leads to one more file, after {MAX_FILES}", "Put them together.")
            return None
        self.files[path] = None
        try:
            self.files[path] = read_document(self.folder, path)
        except UnreadableFile as error:
            what = error.problem.what
            self.add_ref_problem(node, f"leads to {path[:100]}. {what.removesuffix('.')}", error.problem.fix)
        return self.files[path]

    def resolve_pointer(self, spec: PluginDocument, pointer: str) -> Node | None:
        node = Node(spec.value, spec)
        for part in pointer.split("/")[1:] if pointer.startswith("/") else ():
            step: PathKey = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node.value, list) and str(step).isdecimal():
                step = int(step)
            if not has_key(node.value, step):
                return None
            node = node.child(step)
        return node if pointer in ("", "/") or pointer.startswith("/") else None

    def find_by_name(self, node: Node, spec: PluginDocument, pointer: str) -> Node | None:
        """Find a misplaced target by its last name, such as `#/definitions/Host` or `#Host`."""
        name = unquote(pointer).rsplit("/", 1)[-1]
        for home in _DEFINITION_PATHS:
            parent = Node(spec.value, spec)
            for step in home:
                parent = parent.child(step)
            if has_key(parent.value, name):
                fix = f"Write it as '#/{'/'.join(home)}/{name}'."
                self.problems.add(node.child("$ref"), f"leads nowhere, and {name} of the same name is taken.", fix)
                return parent.child(name)
        return None

    def add_ref_problem(self, node: Node, what: str, fix: str) -> None:
        self.problems.add(node.child("$ref"), f"The $ref {what}.", fix, "error")


def has_key(value: Any, step: PathKey) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)
