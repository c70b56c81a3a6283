"""Parameters that carry credentials; they are hidden from the model, which would invent values."""

from __future__ import annotations

from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import Reading

Carrier = tuple[str, str]
"""Location and name; header names in lower case."""
ALWAYS: frozenset[Carrier] = frozenset({("header", "authorization"), ("header", "cookie")})
_PLACES = {"header": "header", "param": "query", "cookie": "cookie"}


def carrier(place: str, name: str) -> Carrier:
    return (place, name.lower() if place == "header" else name)


def carriers(reading: Reading) -> frozenset[Carrier]:
    """Collect credential locations from plugin.json's auth and the document's security schemes."""
    found = set(ALWAYS)
    for auth in reading.auth:
        place = _PLACES.get(auth.kind)
        found |= {carrier(place, name) for name in auth.args} if place else set()
        if auth.kind == "oidc":
            names = (auth.options.get("header") or "access-token", *auth.args)
            found |= {carrier("header", str(name)) for name in names}
    for _, node in schemes(reading):
        if node.text("type").lower() == "apikey" and node.text("name"):
            found.add(carrier(node.text("in").lower(), node.text("name")))
    return frozenset(found)


def schemes(reading: Reading) -> list[tuple[str, Node]]:
    homes = (reading.root.at("components").at("securitySchemes"), reading.root.at("securityDefinitions"))
    found = [(name, reading.refs.follow(node)) for home in homes for name, node in home.items()]
    return [(name, node) for name, node in found if isinstance(node.value, dict)]


def unmet(reading: Reading) -> None:
    """Report a document that requires credentials while plugin.json has no auth."""
    if reading.auth or not reading.root.value.get("security"):
        return
    names = ", ".join(name for name, _ in schemes(reading)) or "one"
    reading.notes.add(
        reading.root.at("security"),
        f"The API asks for a credential ({names[:100]}), and plugin.json has no auth.",
        'Add "auth" to plugin.json, with its value as "env:NAME".',
    )
