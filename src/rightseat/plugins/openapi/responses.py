"""Documented responses of an operation, by status."""

from __future__ import annotations

from rightseat.plugins.openapi.bodies import media_rank, normalize_media
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.reading import DocumentContext
from rightseat.plugins.operation import OperationResponse

MAX_RESPONSES = 40


def parse_responses(context: DocumentContext, operation: Node) -> tuple[OperationResponse, ...]:
    responses = []
    for status, one in operation.child("responses").items():
        node = context.refs.resolve(one)
        if isinstance(node.value, dict) and not status.startswith("x-"):
            responses.append(parse_response(context, operation, status, node))
    return tuple(responses[:MAX_RESPONSES])


def parse_response(context: DocumentContext, operation: Node, status: str, node: Node) -> OperationResponse:
    content = node.child("content")
    media, place = "", node
    if isinstance(content.value, dict) and content.value:
        name = min(content.value, key=lambda one: media_rank(normalize_media(one)))
        media, place = normalize_media(name), content.child(name)
    elif "schema" in node.value:
        media = swagger_media(context, operation)
    inner = place.child("schema")
    schema = None
    if isinstance(inner.value, dict | list) and inner.value:
        schema = context.response_schemas.with_defs(context.response_schemas.read(inner)) or None
    return OperationResponse(
        status=status.upper().replace("DEFAULT", "default"),
        description=node.text("description"),
        media=media,
        schema=schema,
    )


def swagger_media(context: DocumentContext, operation: Node) -> str:
    given = operation.value.get("produces") or context.root.value.get("produces")
    medias = (
        [normalize_media(one) for one in given if isinstance(one, str)] if isinstance(given, list) else []
    )
    return min(medias or ["application/json"], key=media_rank)


def success_response(responses: tuple[OperationResponse, ...]) -> OperationResponse | None:
    """Return the response of a successful call, preferably with a schema; else `default` or None."""
    successes = sorted(
        (one for one in responses if one.status.startswith("2")), key=lambda one: one.schema is None
    )
    return successes[0] if successes else next((one for one in responses if one.status == "default"), None)
