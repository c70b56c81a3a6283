"""Server URLs of an API: absolute, with variables filled in."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import Reading
from rightseat.plugins.operation import Server

MAX_SERVERS = 20
_VARIABLE = re.compile(r"\{([^{}]*)\}")
NOWHERE = "Write the whole address, such as https://api.example.com/v1, or set `server` for this plugin."


def servers(reading: Reading, item: Node, operation: Node) -> tuple[Server, ...]:
    """Return the servers of the operation, else of the path, else of the document."""
    for owner in (operation, item, reading.root):
        given = owner.at("servers")
        if isinstance(given.value, list) and given.value:
            return tuple(found for one in list(given.each())[:MAX_SERVERS] if (found := server(reading, one)))
        if isinstance(given.value, dict | str):
            fix = "Write a dash before its `url:`."
            reading.notes.add(given, "It is no list, and is read as one.", fix)
            found = server(reading, given)
            return (found,) if found else ()
    return older(reading) if reading.swagger or "host" in reading.root.value else nowhere(reading)


def nowhere(reading: Reading) -> tuple[Server, ...]:
    reading.notes.add(reading.root.at("servers"), "The document names no server.", NOWHERE, "error")
    return ()


def older(reading: Reading) -> tuple[Server, ...]:
    """Build Swagger 2.0 servers from schemes, host and basePath."""
    root = reading.root
    if not root.text("host"):
        reading.notes.add(root.at("host"), "The document names no host.", NOWHERE, "error")
        return ()
    given = root.value.get("schemes")
    schemes = [one for one in given if one in ("https", "http")] if isinstance(given, list) else []
    base = "/" + root.text("basePath").strip("/")
    urls = [f"{scheme}://{root.text('host')}{base}".rstrip("/") for scheme in schemes or ["https"]]
    return tuple(Server(url=url) for url in urls if right(reading, root.at("host"), url))


def server(reading: Reading, node: Node) -> Server | None:
    given = node.value if isinstance(node.value, str) else node.text("url")
    place = node.at("url")
    url = _VARIABLE.sub(lambda match: variable(reading, node, match[1]), given.strip())
    if not right(reading, place, url):
        return None
    return Server(url=url.rstrip("/"), description=node.text("description"))


def variable(reading: Reading, node: Node, name: str) -> str:
    place = node.at("variables").at(name)
    options = place.value.get("enum") if isinstance(place.value, dict) else None
    value = place.text("default")
    if not value and isinstance(options, list) and options:
        value = str(options[0])
    if not value:
        fix = f"Write `variables:`, `{name}:`, `default:` below it."
        reading.notes.add(place, f"{{{name}}} of the address has no value.", fix, "error")
    return value


def right(reading: Reading, place: Node, url: str) -> bool:
    what = fault(url)
    if what:
        reading.notes.add(place, what, NOWHERE, "error")
    return not what


def fault(url: str) -> str:
    """Return what is wrong with the URL; empty if it is valid."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "The address has no valid host and port."
    if parts.scheme.lower() not in ("http", "https"):
        return (
            "The address is relative: nobody knows to where."
            if not parts.scheme
            else "It is no http address."
        )
    if not host or re.search(r"[\s\\]", url):
        return "The address names no host."
    if parts.username is not None or parts.password is not None:
        return "The address holds a name or a password; those belong into plugin.json's auth."
    return "The address has a query or a fragment." if parts.query or parts.fragment else ""
