"""Who can be asked here, as each era's file of agents tells it.

The client refuses a whole file for one empty image, and takes 2024's flags in today's file for a mistake.
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
    """agents.json, as Workspace reads it today."""
    found: dict[str, Any] = {}
    for id, name, about in described(host, base):
        endpoints = {"query": base + query_path(name), "feedback": f"{base}/v1/feedback"}
        found[id] = {**about, "endpoints": endpoints, "features": {**FEATURES, **choice(name, host)}}
    return found


def choice(name: str, host: Host) -> dict[str, Any]:
    """The plugins to choose from: what is chosen comes back in `workspace_options`."""
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
    """copilots.json, as Terminal Pro read it in 2024."""
    flags = {"hasStreaming": True, "hasDocuments": False, "hasFunctionCalling": True}
    return {
        id.replace("-", "_"): {**about, **flags, "endpoints": {"query": base + query_path(name)}}
        for id, name, about in described(host, base)
    }


def described(host: Host, base: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Id, name and what people see of each. Workspace wants ids and names of its own for every agent."""
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
