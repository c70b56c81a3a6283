"""Lists of plugin tools, flow files and questions for clients that access them without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from rightseat.http.endpoint import ResourceFile
from rightseat.types.tools import Tool

if TYPE_CHECKING:
    from rightseat.plugins.catalog import PluginCatalog

YAML_MEDIA_TYPE = "application/yaml"


def list_tools(catalog: PluginCatalog) -> dict[str, Tool]:
    return {entry.tool.name: entry.tool for entry in catalog.entries}


def list_flow_documents(catalog: PluginCatalog) -> dict[str, ResourceFile]:
    """Return every flow's file by its URI, `flow://PLUGIN/FLOW`."""
    by_uri = {}
    for id, one in catalog.loaded.items():
        for flow in one.plugin.workflows:
            if flow.file:
                uri = f"flow://{quote(id, safe='')}/{quote(flow.name, safe='')}"
                path = one.plugin.folder / flow.file
                by_uri[uri] = ResourceFile(flow.id, flow.description, YAML_MEDIA_TYPE, path)
    return by_uri


def list_questions(catalog: PluginCatalog) -> dict[str, str]:
    """Return the suggested question of each plugin that has one."""
    asked = ((id, one.plugin.question.strip()) for id, one in catalog.loaded.items())
    return {id: question for id, question in asked if question}
