"""Parameters that carry credentials; they are hidden from the model, which would invent values."""

from __future__ import annotations

from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import DocumentContext

CredentialLocation = tuple[str, str]
"""Location and name; header names in lower case."""
STANDARD_LOCATIONS: frozenset[CredentialLocation] = frozenset(
    {("header", "authorization"), ("header", "cookie")}
)
_LOCATION_BY_AUTH = {"header": "header", "param": "query", "cookie": "cookie"}


def credential_location(place: str, name: str) -> CredentialLocation:
    return (place, name.lower() if place == "header" else name)


def credential_locations(context: DocumentContext) -> frozenset[CredentialLocation]:
    """Collect credential locations from plugin.json's auth and the document's security schemes."""
    locations = set(STANDARD_LOCATIONS)
    for auth in context.auth:
        place = _LOCATION_BY_AUTH.get(auth.kind)
        locations |= {credential_location(place, name) for name in auth.args} if place else set()
        if auth.kind == "oidc":
            names = (auth.options.get("header") or "access-token", *auth.args)
            locations |= {credential_location("header", str(name)) for name in names}
    for _, node in security_schemes(context):
        if node.text("type").lower() == "apikey" and node.text("name"):
            locations.add(credential_location(node.text("in").lower(), node.text("name")))
    return frozenset(locations)


def security_schemes(context: DocumentContext) -> list[tuple[str, Node]]:
    homes = (
        context.root.child("components").child("securitySchemes"),
        context.root.child("securityDefinitions"),
    )
    resolved = [(name, context.refs.resolve(node)) for home in homes for name, node in home.items()]
    return [(name, node) for name, node in resolved if isinstance(node.value, dict)]


def check_auth_configured(context: DocumentContext) -> None:
    """Report a document that requires credentials while plugin.json has no auth."""
    if context.auth or not context.root.value.get("security"):
        return
    names = ", ".join(name for name, _ in security_schemes(context)) or "one"
    context.problems.add(
        context.root.child("security"),
        f"The API asks for a credential ({names[:100]}), and plugin.json has no auth.",
        'Add "auth" to plugin.json, with its value as "env:NAME".',
    )
