"""`$ref` resolution within the document and other files of the plugin's folder. Nothing is fetched."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rightseat.plugins.document import PluginDocument, UnreadableFile, read_document
from rightseat.plugins.openapi.node import Node, ProblemList
from rightseat.plugins.place import PathKey

MAX_FILES = 100
MAX_HOPS = 50
_DEFINITION_PATHS = (("components", "schemas"), ("definitions",), ("components", "parameters"), ("$defs",))


class RefResolver:
    def __init__(self, folder: Path, root: PluginDocument, problems: ProblemList) -> None:
        self.folder, self.root, self.problems = folder, root, problems
        self.files: dict[str, PluginDocument | None] = {root.name: root}

    def resolve(self, node: Node) -> Node:
        """Follow `$ref`s to the node meant; a broken one gives a node with value None and a problem."""
        hops = 0
        while isinstance(node.value, dict) and "$ref" in node.value:
            hops += 1
            target = self.resolve_once(node)
            if target is None or hops > MAX_HOPS:
                if target is not None:
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
            self.add_ref_problem(
                node, "leads to another server, and nothing is fetched", "Copy what it means in here."
            )
            return None
        document = node.document if not name else self.load_file(node, unquote(name))
        if document is None:
            return None
        target = self.resolve_pointer(document, unquote(pointer)) or self.find_by_name(
            node, document, pointer
        )
        if target is None:
            self.add_ref_problem(
                node, f"leads nowhere: {ref[:100]}", "Mend it, or write what it should lead to."
            )
        return target

    def load_file(self, node: Node, name: str) -> PluginDocument | None:
        beside = posixpath.dirname(node.document.name)
        path = posixpath.normpath(posixpath.join(beside, name.replace("\\", "/")))
        if path in self.files:
            return self.files[path]
        if len(self.files) >= MAX_FILES:
            self.add_ref_problem(node, f"leads to one more file, after {MAX_FILES}", "Put them together.")
            return None
        self.files[path] = None
        try:
            document = read_document(self.folder, path)
        except UnreadableFile as error:
            what = error.problem.what
            self.add_ref_problem(node, f"leads to {path[:100]}. {what.removesuffix('.')}", error.problem.fix)
            return None
        self.files[path] = document
        return document

    def resolve_pointer(self, document: PluginDocument, pointer: str) -> Node | None:
        node = Node(document.value, document)
        for part in pointer.split("/")[1:] if pointer.startswith("/") else ():
            step: PathKey = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node.value, list) and str(step).isdecimal():
                step = int(step)
            if not has_key(node.value, step):
                return None
            node = node.child(step)
        return node if pointer in ("", "/") or pointer.startswith("/") else None

    def find_by_name(self, node: Node, document: PluginDocument, pointer: str) -> Node | None:
        """Find a misplaced target by its last name, such as `#/definitions/Host` or `#Host`."""
        name = unquote(pointer).rsplit("/", 1)[-1]
        for home in _DEFINITION_PATHS:
            parent = Node(document.value, document)
            for step in home:
                parent = parent.child(step)
            if has_key(parent.value, name):
                fix = f"Write it as '#/{'/'.join(home)}/{name}'."
                self.problems.add(
                    node.child("$ref"), f"leads nowhere, and {name} of the same name is taken.", fix
                )
                return parent.child(name)
        return None

    def add_ref_problem(self, node: Node, what: str, fix: str) -> None:
        self.problems.add(node.child("$ref"), f"The $ref {what}.", fix, "error")


def has_key(value: Any, step: PathKey) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)
