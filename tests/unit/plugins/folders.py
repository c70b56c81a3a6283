"""Plugin folders for tests: written in a line, read with everything that is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Operation, Plugin, Problem

Files = Mapping[str, str]
NO_FILES: Files = {}
MANIFEST = {"name": "hosts", "description": "Looks up hosts by name, and gives their ids."}


def write_plugin(
    parent: Path, api: Any = None, manifest: Any = MANIFEST, name: str = "hosts", files: Files = NO_FILES
) -> Path:
    """`api` and `manifest` are text, or a value to be written."""
    plugin_folder = parent / name
    plugin_folder.mkdir(parents=True)
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest, ensure_ascii=False)
        (plugin_folder / "plugin.json").write_text(text, "utf-8")
    if api is not None:
        text = api if isinstance(api, str) else json.dumps(api, ensure_ascii=False)
        (plugin_folder / "openapi.yaml").write_text(text, "utf-8")
    for file, text in files.items():
        path = plugin_folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return plugin_folder


def write_empty_flow(name: str) -> str:
    """One that does nothing."""
    return f"name: {name}\ndescription: Says that nothing is done.\nsteps: [{{name: start, call_type: none}}]\n"


def make_api_document(
    operation: Any = None, *, path: str = "/hosts", method: str = "get", **more: Any
) -> dict[str, Any]:
    """A document with one operation."""
    defaults = {"description": "Lists hosts by their names.", "responses": {"200": {"description": "Hosts"}}}
    return {
        "openapi": "3.0.0",
        "info": {"title": "hosts", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {path: {method: {**defaults, **(operation or {})}}},
        **more,
    }


def load_plugin(
    parent: Path, document: Any = None, manifest: Any = MANIFEST, name: str = "hosts", files: Files = NO_FILES
) -> Plugin:
    return read_plugin(write_plugin(parent, document, manifest, name, files), strict=True)


def load_operation(parent: Path, document: Any, manifest: Any = MANIFEST, files: Files = NO_FILES) -> Operation:
    """The one operation of a document that has no errors."""
    loaded = load_plugin(parent, document, manifest, files=files)
    assert [one for one in loaded.problems if one.gravity == "error"] == []
    [operation] = loaded.operations
    return operation


def find_problem(loaded: Plugin, text: str) -> Problem:
    """The one problem with these words in it."""
    matching = [one for one in loaded.problems if text in str(one)]
    assert len(matching) == 1, [str(one) for one in loaded.problems]
    return matching[0]


def load_schema(parent: Path, schema: Any, **components: Any) -> dict[str, Any]:
    """What becomes of the schema of a body's field `value`."""
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"value": schema}}}}}
    found = load_operation(
        parent, make_api_document({"requestBody": body}, method="post", components={"schemas": components})
    )
    value = found.arguments["properties"]["value"]
    assert isinstance(value, dict)
    return value | ({"$defs": found.arguments["$defs"]} if "$defs" in found.arguments else {})
