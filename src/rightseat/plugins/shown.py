"""Lists of plugin tools, flow files and questions for clients that access them without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from rightseat.http.endpoint import Document
from rightseat.types.tools import Tool

if TYPE_CHECKING:
    from rightseat.plugins.shelf import Shelf

YAML = "application/yaml"


def tools(shelf: Shelf) -> dict[str, Tool]:
    return {entry.tool.name: entry.tool for entry in shelf.entries}


def documents(shelf: Shelf) -> dict[str, Document]:
    """Return every flow's file by its URI, `flow://PLUGIN/FLOW`."""
    found = {}
    for id, one in shelf.loaded.items():
        for flow in one.plugin.workflows:
            if flow.file:
                uri = f"flow://{quote(id, safe='')}/{quote(flow.name, safe='')}"
                path = one.plugin.folder / flow.file
                found[uri] = Document(flow.id, flow.description, YAML, path)
    return found


def questions(shelf: Shelf) -> dict[str, str]:
    """Return the suggested question of each plugin that has one."""
    asked = ((id, one.plugin.question.strip()) for id, one in shelf.loaded.items())
    return {id: question for id, question in asked if question}
