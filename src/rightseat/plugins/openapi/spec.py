"""The spec as a whole: its root, references, schemas and problems; its credentials and servers."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from rightseat.plugins.openapi.node import Node, ProblemList, RefResolver
from rightseat.plugins.openapi.schemas import SchemaConverter
from rightseat.plugins.openapi.simplify import SchemaSimplifier
from rightseat.plugins.plugin import ApiServer, ParameterStyle, PluginAuth
from rightseat.plugins.plugin_file import PluginDocument

CredentialLocation = tuple[str, str]
"""Location and name; header names in lower case."""
STYLES_BY_LOCATION: dict[str, tuple[ParameterStyle, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
MAX_SERVERS = 20
SERVER_FIX = "Write the whole address, such as https://api.example.com/v1, or set `server` for this plugin."
_LOCATION_BY_AUTH = {"header": "header", "param": "query", "cookie": "cookie"}
_VARIABLE = re.compile(r"\{([^{}]*)\}")


class SpecContext:
    """State of reading one spec, shared by the modules that read its parts."""

    def __init__(self, folder: Path, spec: PluginDocument, auth: tuple[PluginAuth, ...], strict: bool) -> None:
        self.auth = auth
        self.problems = ProblemList(strict)
        self.root = Node(spec.value, spec)
        self.refs = RefResolver(folder, spec, self.problems)
        self.request_schemas = SchemaSimplifier(SchemaConverter(self.refs, self.problems, "readOnly"))
        self.response_schemas = SchemaSimplifier(SchemaConverter(self.refs, self.problems, "writeOnly"))
        self.operation_names: set[str] = set()

    @property
    def is_swagger(self) -> bool:
        """Whether the spec is Swagger 2.0."""
        return "swagger" in self.root.value and "openapi" not in self.root.value

    @cached_property
    def security_schemes(self) -> list[tuple[str, Node]]:
        homes = (self.root.child("components").child("securitySchemes"), self.root.child("securityDefinitions"))
        resolved = [(name, self.refs.resolve(node)) for home in homes for name, node in home.items()]
        return [(name, node) for name, node in resolved if isinstance(node.value, dict)]

    @cached_property
    def credential_locations(self) -> frozenset[CredentialLocation]:
        """Locations of credentials, from plugin.json's auth and the spec's security schemes. Parameters there are
        hidden from the model, which would invent values."""
        locations = {("header", "authorization"), ("header", "cookie")}
        for auth in self.auth:
            if place := _LOCATION_BY_AUTH.get(auth.kind):
                locations |= {credential_location(place, name) for name in auth.args}
            if auth.kind == "oidc":
                names = (auth.options.get("header") or "access-token", *auth.args)
                locations |= {credential_location("header", str(name)) for name in names}
        for _, node in self.security_schemes:
            if node.text("type").lower() == "apikey" and node.text("name"):
                locations.add(credential_location(node.text("in").lower(), node.text("name")))
        return frozenset(locations)

    def check_auth_configured(self) -> None:
        """Report a spec that requires credentials while plugin.json has no auth."""
        if not self.auth and self.root.value.get("security"):
            names = ", ".join(name for name, _ in self.security_schemes) or "one"
            what = f"The API asks for a credential ({names[:100]}), and plugin.json has no auth."
            fix = 'Add "auth" to plugin.json, with its value as "env:NAME".'
            self.problems.add(self.root.child("security"), what, fix)


def credential_location(place: str, name: str) -> CredentialLocation:
    return (place, name.lower() if place == "header" else name)


def find_servers(context: SpecContext, item: Node, operation: Node) -> tuple[ApiServer, ...]:
    """Return the servers of the operation, else of the path, else of the spec."""
    for owner in (operation, item, context.root):
        listed = owner.child("servers")
        if isinstance(listed.value, list) and listed.value:
            servers = [parse_server(context, node) for node in list(listed.children())[:MAX_SERVERS]]
        elif isinstance(listed.value, dict | str):
            context.problems.add(listed, "It is no list, and is read as one.", "Write a dash before its `url:`.")
            servers = [parse_server(context, listed)]
        else:
            continue
        return tuple(server for server in servers if server)
    if context.is_swagger or "host" in context.root.value:
        return swagger_servers(context)
    context.problems.add(context.root.child("servers"), "The document names no server.", SERVER_FIX, "error")
    return ()


def swagger_servers(context: SpecContext) -> tuple[ApiServer, ...]:
    """Build Swagger 2.0 servers from schemes, host and basePath."""
    root = context.root
    if not root.text("host"):
        context.problems.add(root.child("host"), "The document names no host.", SERVER_FIX, "error")
        return ()
    declared = root.value.get("schemes")
    schemes = [scheme for scheme in declared if scheme in ("https", "http")] if isinstance(declared, list) else []
    base = "/" + root.text("basePath").strip("/")
    urls = [f"{scheme}://{root.text('host')}{base}".rstrip("/") for scheme in schemes or ["https"]]
    return tuple(ApiServer(url=url) for url in urls if check_url(context, root.child("host"), url))


def parse_server(context: SpecContext, node: Node) -> ApiServer | None:
    template = node.value if isinstance(node.value, str) else node.text("url")
    url = _VARIABLE.sub(lambda match: resolve_variable(context, node, match[1]), template.strip())
    if not check_url(context, node.child("url"), url):
        return None
    return ApiServer(url=url.rstrip("/"), description=node.text("description"))


def resolve_variable(context: SpecContext, node: Node, name: str) -> str:
    place = node.child("variables").child(name)
    options = place.value.get("enum") if isinstance(place.value, dict) else None
    value = place.text("default")
    if not value and isinstance(options, list) and options:
        value = str(options[0])
    if not value:
        fix = f"Write `variables:`, `{name}:`, `default:` below it."
        context.problems.add(place, f"{{{name}}} of the address has no value.", fix, "error")
    return value


def check_url(context: SpecContext, place: Node, url: str) -> bool:
    problem = url_problem(url)
    if problem:
        context.problems.add(place, problem, SERVER_FIX, "error")
    return not problem


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
