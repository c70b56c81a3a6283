"""Build agents.json (Workspace) and copilots.json (Terminal Pro 2024).

The client rejects a whole file for one empty image, and takes flags of 2024 in agents.json as a mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urljoin

from rightseat.http.endpoint import Host

ANY = "auto"
MOST_PLUGINS = 50
FEATURES = {
    "streaming": True,
    "widget-dashboard-select": True,
    "widget-dashboard-search": True,
    "widget-global-search": False,
    "file-upload": True,
    "mcp-tools": True,
    "feedback": True,
}


def agents(host: Host, base: str) -> dict[str, Any]:
    """Build agents.json for Workspace."""
    found: dict[str, Any] = {}
    for id, name, about in described(host, base):
        endpoints = {"query": base + query_path(name), "feedback": f"{base}/v1/feedback"}
        found[id] = {**about, "endpoints": endpoints, "features": {**FEATURES, **choice(name, host)}}
    return found


def choice(name: str, host: Host) -> dict[str, Any]:
    """Build the plugin select option; the chosen value comes back in `workspace_options`."""
    about = host.described(name)
    groups = about.groups if about else {}
    if len(groups) < 2:
        return {}
    options = [{"label": title, "value": id} for id, title in list(groups.items())[:MOST_PLUGINS]]
    return {
        "plugins": {
            "label": "Plugin",
            "type": "select",
            "default": ANY,
            "description": "The tools that an answer may use.",
            "options": [{"label": "All", "value": ANY}, *options],
        }
    }


def copilots(host: Host, base: str) -> dict[str, Any]:
    """Build copilots.json for Terminal Pro of 2024."""
    flags = {"hasStreaming": True, "hasDocuments": False, "hasFunctionCalling": True}
    return {
        id.replace("-", "_"): {**about, **flags, "endpoints": {"query": base + query_path(name)}}
        for id, name, about in described(host, base)
    }


def described(host: Host, base: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield id, responder name and display fields of each agent. Workspace needs unique ids and names."""
    ids: set[str] = set()
    titles: set[str] = set()
    for name in host.responders:
        about = host.described(name)
        title = (about and about.title) or ("Rightseat" if name == "default" else name)
        entry = {
            "name": distinct(title, titles, " "),
            "description": (about and about.description) or "An assistant on a rightseat server.",
        }
        if about and about.image:
            entry["image"] = urljoin(f"{base}/", about.image)
        slug = re.sub(r"[^a-z0-9]+", "-", f"rightseat-{name}".lower()).strip("-")
        yield distinct(slug, ids, "-"), name, entry


def distinct(name: str, taken: set[str], between: str) -> str:
    made, number = name, 1
    while made in taken:
        number += 1
        made = f"{name}{between}{number}"
    taken.add(made)
    return made


def query_path(name: str) -> str:
    return "/v1/query" if name == "default" else f"/v1/query/{quote(name)}"
