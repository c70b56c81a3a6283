"""Build agents.json (Workspace) and copilots.json (Terminal Pro 2024).

The client rejects a whole file for one empty image, and takes flags of 2024 in agents.json as a mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urljoin

from rightseat.http.endpoint import Host

ALL_PLUGINS = "auto"
MAX_PLUGINS = 50
FEATURES = {
    "streaming": True,
    "widget-dashboard-select": True,
    "widget-dashboard-search": True,
    "widget-global-search": False,
    "file-upload": True,
    "mcp-tools": True,
    "feedback": True,
}


def make_agents_json(host: Host, base: str) -> dict[str, Any]:
    """Build agents.json for Workspace."""
    entries: dict[str, Any] = {}
    for id, name, about in iter_agents(host, base):
        endpoints = {"query": base + get_query_path(name), "feedback": f"{base}/v1/feedback"}
        entries[id] = {
            **about,
            "endpoints": endpoints,
            "features": {**FEATURES, **make_plugin_select(name, host)},
        }
    return entries


def make_plugin_select(name: str, host: Host) -> dict[str, Any]:
    """Build the plugin select option; the chosen value comes back in `workspace_options`."""
    description = host.describe(name)
    groups = description.groups if description else {}
    if len(groups) < 2:
        return {}
    options = [{"label": title, "value": id} for id, title in list(groups.items())[:MAX_PLUGINS]]
    return {
        "plugins": {
            "label": "Plugin",
            "type": "select",
            "default": ALL_PLUGINS,
            "description": "The tools that an answer may use.",
            "options": [{"label": "All", "value": ALL_PLUGINS}, *options],
        }
    }


def make_copilots_json(host: Host, base: str) -> dict[str, Any]:
    """Build copilots.json for Terminal Pro of 2024."""
    flags = {"hasStreaming": True, "hasDocuments": False, "hasFunctionCalling": True}
    return {
        id.replace("-", "_"): {**about, **flags, "endpoints": {"query": base + get_query_path(name)}}
        for id, name, about in iter_agents(host, base)
    }


def iter_agents(host: Host, base: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield id, responder name and display fields of each agent. Workspace needs unique ids and names."""
    ids: set[str] = set()
    titles: set[str] = set()
    for name in host.responders:
        description = host.describe(name)
        title = (description and description.title) or ("Rightseat" if name == "default" else name)
        entry = {
            "name": make_distinct_name(title, titles, " "),
            "description": (description and description.description) or "An assistant on a rightseat server.",
        }
        if description and description.image:
            entry["image"] = urljoin(f"{base}/", description.image)
        slug = re.sub(r"[^a-z0-9]+", "-", f"rightseat-{name}".lower()).strip("-")
        yield make_distinct_name(slug, ids, "-"), name, entry


def make_distinct_name(name: str, taken: set[str], separator: str) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}{separator}{number}"
    taken.add(candidate)
    return candidate


def get_query_path(name: str) -> str:
    return "/v1/query" if name == "default" else f"/v1/query/{quote(name)}"
