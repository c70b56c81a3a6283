"""`$ref` resolution within the document and other files of the plugin's folder. Nothing is fetched."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rightseat.plugins.document import Document, Unreadable, read
from rightseat.plugins.openapi.node import Node, Notes
from rightseat.plugins.place import Step

MAX_FILES = 100
MAX_HOPS = 50
_HOMES = (("components", "schemas"), ("definitions",), ("components", "parameters"), ("$defs",))


class Refs:
    def __init__(self, folder: Path, root: Document, notes: Notes) -> None:
        self.folder, self.root, self.notes = folder, root, notes
        self.files: dict[str, Document | None] = {root.name: root}

    def follow(self, node: Node) -> Node:
        """Follow `$ref`s to the node meant; a broken one gives a node with value None and a problem."""
        hops = 0
        while isinstance(node.value, dict) and "$ref" in node.value:
            hops += 1
            found = self.target(node)
            if found is None or hops > MAX_HOPS:
                if found is not None:
                    self.notes.add(node, "Its $ref leads in a circle.", "Say what is meant.", "error")
                return node.put(None)
            node = found
        return node

    def target(self, node: Node) -> Node | None:
        """Follow one `$ref`; None and a problem if it is broken."""
        ref = node.value["$ref"]
        if not isinstance(ref, str) or not ref.strip():
            self.wrong(node, "is no text", "Write it as '#/components/schemas/NAME'.")
            return None
        name, _, pointer = ref.strip().partition("#")
        if "://" in name or name.startswith("//"):
            self.wrong(node, "leads to another server, and nothing is fetched", "Copy what it means in here.")
            return None
        document = node.document if not name else self.file(node, unquote(name))
        if document is None:
            return None
        found = self.point(document, unquote(pointer)) or self.by_name(node, document, pointer)
        if found is None:
            self.wrong(node, f"leads nowhere: {ref[:100]}", "Mend it, or write what it should lead to.")
        return found

    def file(self, node: Node, name: str) -> Document | None:
        beside = posixpath.dirname(node.document.name)
        path = posixpath.normpath(posixpath.join(beside, name.replace("\\", "/")))
        if path in self.files:
            return self.files[path]
        if len(self.files) >= MAX_FILES:
            self.wrong(node, f"leads to one more file, after {MAX_FILES}", "Put them together.")
            return None
        self.files[path] = None
        try:
            found = read(self.folder, path)
        except Unreadable as error:
            what = error.problem.what
            self.wrong(node, f"leads to {path[:100]}. {what.removesuffix('.')}", error.problem.fix)
            return None
        self.files[path] = found
        return found

    def point(self, document: Document, pointer: str) -> Node | None:
        node = Node(document.value, document)
        for part in pointer.split("/")[1:] if pointer.startswith("/") else ():
            step: Step = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node.value, list) and str(step).isdecimal():
                step = int(step)
            if not has(node.value, step):
                return None
            node = node.at(step)
        return node if pointer in ("", "/") or pointer.startswith("/") else None

    def by_name(self, node: Node, document: Document, pointer: str) -> Node | None:
        """Find a misplaced target by its last name, such as `#/definitions/Host` or `#Host`."""
        name = unquote(pointer).rsplit("/", 1)[-1]
        for home in _HOMES:
            place = Node(document.value, document)
            for step in home:
                place = place.at(step)
            if has(place.value, name):
                fix = f"Write it as '#/{'/'.join(home)}/{name}'."
                self.notes.add(node.at("$ref"), f"leads nowhere, and {name} of the same name is taken.", fix)
                return place.at(name)
        return None

    def wrong(self, node: Node, what: str, fix: str) -> None:
        self.notes.add(node.at("$ref"), f"The $ref {what}.", fix, "error")


def has(value: Any, step: Step) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)
