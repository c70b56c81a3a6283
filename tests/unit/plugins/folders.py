"""Plugin folders for tests: written in a line, read with everything that is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Operation, Plugin, Problem

Files = Mapping[str, str]
NONE: Files = {}
MANIFEST = {"name": "hosts", "description": "Looks up hosts by name, and gives their ids."}


def folder(where: Path, api: Any = None, manifest: Any = MANIFEST, name: str = "hosts", files: Files = NONE) -> Path:
    """`api` and `manifest` are text, or a value to be written."""
    made = where / name
    made.mkdir(parents=True)
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest, ensure_ascii=False)
        (made / "plugin.json").write_text(text, "utf-8")
    if api is not None:
        text = api if isinstance(api, str) else json.dumps(api, ensure_ascii=False)
        (made / "openapi.yaml").write_text(text, "utf-8")
    for file, text in files.items():
        path = made / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return made


def flow(name: str) -> str:
    """One that does nothing."""
    return f"name: {name}\ndescription: Says that nothing is done.\nsteps: [{{name: start, call_type: none}}]\n"


def api(operation: Any = None, *, path: str = "/hosts", method: str = "get", **more: Any) -> dict[str, Any]:
    """A document with one operation."""
    described = {"description": "Lists hosts by their names.", "responses": {"200": {"description": "Hosts"}}}
    return {
        "openapi": "3.0.0",
        "info": {"title": "hosts", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {path: {method: {**described, **(operation or {})}}},
        **more,
    }


def plugin(
    where: Path, document: Any = None, manifest: Any = MANIFEST, name: str = "hosts", files: Files = NONE
) -> Plugin:
    return read_plugin(folder(where, document, manifest, name, files), strict=True)


def only(where: Path, document: Any, manifest: Any = MANIFEST, files: Files = NONE) -> Operation:
    """The one operation of a document that has no errors."""
    found = plugin(where, document, manifest, files=files)
    assert [one for one in found.problems if one.gravity == "error"] == []
    [operation] = found.operations
    return operation


def problem(found: Plugin, words: str) -> Problem:
    """The one problem with these words in it."""
    told = [one for one in found.problems if words in str(one)]
    assert len(told) == 1, [str(one) for one in found.problems]
    return told[0]


def schema_of(where: Path, schema: Any, **components: Any) -> dict[str, Any]:
    """What becomes of the schema of a body's field `value`."""
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"value": schema}}}}}
    found = only(where, api({"requestBody": body}, method="post", components={"schemas": components}))
    value = found.arguments["properties"]["value"]
    assert isinstance(value, dict)
    return value | ({"$defs": found.arguments["$defs"]} if "$defs" in found.arguments else {})
