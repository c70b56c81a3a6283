"""Documented responses of an operation, by status."""

from __future__ import annotations

from rightseat.plugins.openapi.bodies import kind_of, proper
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import Reading
from rightseat.plugins.operation import Response

MAX_RESPONSES = 40


def responses(reading: Reading, operation: Node) -> tuple[Response, ...]:
    found = []
    for status, one in operation.at("responses").items():
        node = reading.refs.follow(one)
        if isinstance(node.value, dict) and not status.startswith("x-"):
            found.append(response(reading, operation, status, node))
    return tuple(found[:MAX_RESPONSES])


def response(reading: Reading, operation: Node, status: str, node: Node) -> Response:
    content = node.at("content")
    media, place = "", node
    if isinstance(content.value, dict) and content.value:
        name = min(content.value, key=lambda one: kind_of(proper(one)))
        media, place = proper(name), content.at(name)
    elif "schema" in node.value:
        media = produced(reading, operation)
    inner = place.at("schema")
    schema = None
    if isinstance(inner.value, dict | list) and inner.value:
        schema = reading.answered.closed(reading.answered.open(inner)) or None
    return Response(
        status=status.upper().replace("DEFAULT", "default"),
        description=node.text("description"),
        media=media,
        schema=schema,
    )


def produced(reading: Reading, operation: Node) -> str:
    given = operation.value.get("produces") or reading.root.value.get("produces")
    medias = [proper(one) for one in given if isinstance(one, str)] if isinstance(given, list) else []
    return min(medias or ["application/json"], key=kind_of)


def good(found: tuple[Response, ...]) -> Response | None:
    """Return the response of a successful call, preferably with a schema; else `default` or None."""
    fine = sorted((one for one in found if one.status.startswith("2")), key=lambda one: one.schema is None)
    return fine[0] if fine else next((one for one in found if one.status == "default"), None)
