"""Plugins for the playground: their tools and problems."""

from __future__ import annotations

from typing import Any

from rightseat.plugins.shelf import CatalogEntry, LoadedPlugin
from rightseat.wiring.library import Runtime


async def list_plugins(runtime: Runtime) -> list[dict[str, Any]]:
    if runtime.plugins is None:
        return []
    shelf = runtime.plugins
    return [format_plugin(one, shelf.by_plugin[id]) for id, one in shelf.loaded.items()]


def format_plugin(loaded: LoadedPlugin, entries: list[CatalogEntry]) -> dict[str, Any]:
    manifest = loaded.plugin
    return {
        "id": manifest.id,
        "name": manifest.name,
        "description": manifest.description,
        "question": manifest.question,
        "problems": [
            {"gravity": found.gravity, "text": str(found), "file": found.file, "line": found.line}
            for found in manifest.problems
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
