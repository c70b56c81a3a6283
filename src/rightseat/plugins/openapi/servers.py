"""Server URLs of an API: absolute, with variables filled in."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from rightseat.plugins.openapi.context import DocumentContext
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.plugin import ApiServer

MAX_SERVERS = 20
_VARIABLE = re.compile(r"\{([^{}]*)\}")
SERVER_FIX = "Write the whole address, such as https://api.example.com/v1, or set `server` for this plugin."


def find_servers(context: DocumentContext, item: Node, operation: Node) -> tuple[ApiServer, ...]:
    """Return the servers of the operation, else of the path, else of the document."""
    for owner in (operation, item, context.root):
        listed = owner.child("servers")
        if isinstance(listed.value, list) and listed.value:
            return tuple(
                found for one in list(listed.children())[:MAX_SERVERS] if (found := parse_server(context, one))
            )
        if isinstance(listed.value, dict | str):
            fix = "Write a dash before its `url:`."
            context.problems.add(listed, "It is no list, and is read as one.", fix)
            found = parse_server(context, listed)
            return (found,) if found else ()
    return swagger_servers(context) if context.is_swagger or "host" in context.root.value else report_no_server(context)


def report_no_server(context: DocumentContext) -> tuple[ApiServer, ...]:
    context.problems.add(context.root.child("servers"), "The document names no server.", SERVER_FIX, "error")
    return ()


def swagger_servers(context: DocumentContext) -> tuple[ApiServer, ...]:
    """Build Swagger 2.0 servers from schemes, host and basePath."""
    root = context.root
    if not root.text("host"):
        context.problems.add(root.child("host"), "The document names no host.", SERVER_FIX, "error")
        return ()
    declared = root.value.get("schemes")
    schemes = [one for one in declared if one in ("https", "http")] if isinstance(declared, list) else []
    base = "/" + root.text("basePath").strip("/")
    urls = [f"{scheme}://{root.text('host')}{base}".rstrip("/") for scheme in schemes or ["https"]]
    return tuple(ApiServer(url=url) for url in urls if check_url(context, root.child("host"), url))


def parse_server(context: DocumentContext, node: Node) -> ApiServer | None:
    template = node.value if isinstance(node.value, str) else node.text("url")
    place = node.child("url")
    url = _VARIABLE.sub(lambda match: resolve_variable(context, node, match[1]), template.strip())
    if not check_url(context, place, url):
        return None
    return ApiServer(url=url.rstrip("/"), description=node.text("description"))


def resolve_variable(context: DocumentContext, node: Node, name: str) -> str:
    place = node.child("variables").child(name)
    options = place.value.get("enum") if isinstance(place.value, dict) else None
    value = place.text("default")
    if not value and isinstance(options, list) and options:
        value = str(options[0])
    if not value:
        fix = f"Write `variables:`, `{name}:`, `default:` below it."
        context.problems.add(place, f"{{{name}}} of the address has no value.", fix, "error")
    return value


def check_url(context: DocumentContext, place: Node, url: str) -> bool:
    what = url_problem(url)
    if what:
        context.problems.add(place, what, SERVER_FIX, "error")
    return not what


def url_problem(url: str) -> str:
    """Return what is wrong with the URL; empty if it is valid."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "The address has no valid host and port."
    if parts.scheme.lower() not in ("http", "https"):
        return "The address is relative: nobody knows to where." if not parts.scheme else "It is no http address."
    if not host or re.search(r"[\s\\]", url):
        return "The address names no host."
    if parts.username is not None or parts.password is not None:
        return "The address holds a name or a password; those belong into plugin.json's auth."
    return "The address has a query or a fragment." if parts.query or parts.fragment else ""
