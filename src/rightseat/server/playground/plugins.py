"""Plugins for the playground: their tools and problems."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.shelf import Entry, Loaded
from rightseat.wiring.library import Runtime


async def listed(runtime: Runtime) -> list[dict[str, Any]]:
    if runtime.plugins is None:
        return []
    shelf = runtime.plugins
    return [plugin(one, shelf.by_plugin[id]) for id, one in shelf.loaded.items()]


def plugin(one: Loaded, entries: list[Entry]) -> dict[str, Any]:
    about = one.plugin
    return {
        "id": about.id,
        "name": about.name,
        "description": about.description,
        "question": about.question,
        "problems": [
            {"gravity": found.gravity, "text": str(found), "file": found.file, "line": found.line}
            for found in about.problems
        ],
        "tools": [
            {
                "name": entry.tool.name,
                "description": entry.tool.description,
                "parameters": entry.tool.parameters,
                "confirm": entry.tool.confirm,
            }
            for entry in entries
        ],
    }
