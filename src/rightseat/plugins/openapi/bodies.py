"""Request bodies (choice of the media type, schema, encodings) and documented responses of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from rightseat.plugins.openapi.node import Node, is_truthy
from rightseat.plugins.openapi.schemas import Schema, schema_types
from rightseat.plugins.openapi.spec import STYLES_BY_LOCATION, SpecContext
from rightseat.plugins.plugin import BINARY_FORMAT, Encoding, OperationResponse

FORM_MEDIA = "application/x-www-form-urlencoded"
MULTIPART_MEDIA = "multipart/form-data"
JSON_MEDIA = "application/json"
FILE_SCHEMA: Schema = {"type": "string", "format": BINARY_FORMAT}
MAX_RESPONSES = 40

_MEDIA_ALIASES = {
    "x-www-form-urlencoded": FORM_MEDIA,
    "form-data": MULTIPART_MEDIA,
    "form": FORM_MEDIA,
    "multipart": MULTIPART_MEDIA,
    "json": JSON_MEDIA,
    "*/*": JSON_MEDIA,
    "text": "text/plain",
}


class ParsedBody(Struct, frozen=True, kw_only=True):
    """Parsed body. `is_flat`: an object whose properties can be separate arguments."""

    media: str
    schema: Schema
    required: bool
    is_flat: bool
    encodings: dict[str, Encoding] = {}
    description: str = ""


def media_rank(media: str) -> int:
    """Rank a media type, lowest preferred: JSON, form, multipart, text, binary."""
    if media == JSON_MEDIA or media.endswith(("+json", "/json")):
        return 0
    if media == FORM_MEDIA:
        return 1
    if media.startswith("multipart/"):
        return 2
    return 3 if media.startswith("text/") or media.endswith(("/xml", "+xml", "/yaml", "javascript")) else 4


def normalize_media(media: str) -> str:
    media_type = media.partition(";")[0].strip().lower()
    return _MEDIA_ALIASES.get(media_type, media_type)


def preferred_media(content: Node) -> tuple[str, str]:
    """Return the key of the preferred media type of `content` and its normalized name."""
    name = min(content.value, key=lambda media: media_rank(normalize_media(media)))
    return name, normalize_media(name)


def swagger_medias(context: SpecContext, operation: Node, key: str) -> list[str]:
    """Return Swagger 2.0's `consumes` or `produces` of the operation, else of the spec."""
    declared = operation.value.get(key) or context.root.value.get(key)
    listed = declared if isinstance(declared, list) else []
    return [normalize_media(media) for media in listed if isinstance(media, str)]


def parse_body(context: SpecContext, operation: Node, body_parameters: Sequence[Node]) -> ParsedBody | None:
    """Parse the requestBody, or Swagger 2.0 body parameters; None if there is no body."""
    request_body = context.refs.resolve(operation.child("requestBody"))
    if isinstance(request_body.value, dict):
        return parse_request_body(context, request_body)
    if request_body.value is not None:
        fix = "Write `content:` below it."
        context.problems.add(request_body, "It is no mapping, and is passed over.", fix, "error")
    return parse_swagger_body(context, operation, body_parameters) if body_parameters else None


def parse_request_body(context: SpecContext, node: Node) -> ParsedBody | None:
    content = node.child("content")
    if not isinstance(content.value, dict) or not content.value:
        if not isinstance(node.value.get("schema"), dict | list):
            fix = "Write `content:`, below it `application/json:`, below that `schema:`."
            context.problems.add(node, "says nothing of what is sent.", fix)
            return None
        fix = "Write `content:` and `application/json:` above it."
        context.problems.add(node.child("schema"), "stands without a content type; JSON is sent.", fix)
        return build_body(context, node, JSON_MEDIA, node)
    name, media = preferred_media(content)
    if "/" not in media:
        fix = f"Write one such as {JSON_MEDIA}, {FORM_MEDIA}, {MULTIPART_MEDIA}."
        context.problems.add(content.child(name), "It is no content type; JSON is sent.", fix)
        media = JSON_MEDIA
    elif media != name.partition(";")[0].strip().lower():
        context.problems.add(content.child(name), f"It is read as {media}.", f"Write {media}.", "style")
    return build_body(context, node, media, content.child(name))


def build_body(context: SpecContext, node: Node, media: str, place: Node) -> ParsedBody:
    schema = dict(context.request_schemas.read(place.child("schema")))
    rank = media_rank(media)
    if rank == 4:
        schema = {**schema, **FILE_SCHEMA}
    elif rank == 3 and not schema_types(schema):
        schema = {**schema, "type": "string"}
    if rank == 2 and schema.get("properties"):
        schema["properties"] = {name: mark_file(inner) for name, inner in schema["properties"].items()}
    sample = place.value.get("example") if isinstance(place.value, dict) else None
    if sample is not None and "examples" not in schema and len(str(sample)) <= 500:
        schema["examples"] = [sample]
    return ParsedBody(
        media=media,
        schema=schema,
        # Required fields make the body required unless the document says otherwise.
        required=is_truthy(node.value.get("required", bool(schema.get("required")))),
        is_flat=rank < 3 and is_plain_object(schema),
        encodings=parse_encodings(place.child("encoding")),
        description=node.text("description"),
    )


def is_plain_object(schema: Schema) -> bool:
    if "$ref" in schema or schema_types(schema) != ("object",) or not schema.get("properties"):
        return False
    return not schema.keys() & {"anyOf", "oneOf", "allOf", "not", "if", "patternProperties"} and not isinstance(
        schema.get("additionalProperties"), dict
    )


def mark_file(schema: Any) -> Schema:
    """Mark a multipart property with a binary `contentMediaType` (3.1) as a file."""
    media = str(schema.get("contentMediaType", ""))
    if media and "contentEncoding" not in schema and media_rank(media) >= 3 and media != "text/plain":
        return {**{key: value for key, value in schema.items() if key != "contentMediaType"}, **FILE_SCHEMA}
    inner = schema.get("items")
    return {**schema, "items": mark_file(inner)} if isinstance(inner, dict) else schema


def parse_encodings(node: Node) -> dict[str, Encoding]:
    encodings = {}
    for name, inner in node.items():
        style = inner.text("style") or "form"
        explode = inner.value.get("explode") if isinstance(inner.value, dict) else None
        headers = {key: fixed_header(header) for key, header in inner.child("headers").items()}
        encodings[name] = Encoding(
            media=inner.text("contentType").partition(",")[0].strip(),
            style=next((known for known in STYLES_BY_LOCATION["query"] if known == style), "form"),
            explode=style == "form" if explode is None else is_truthy(explode),
            headers={key: value for key, value in headers.items() if value},
        )
    return encodings


def fixed_header(header: Node) -> str:
    """Return the fixed value of a part's header; empty if the document gives none."""
    schema = header.child("schema")
    return schema.text("default") or schema.text("const") or header.text("example")


def parse_swagger_body(context: SpecContext, operation: Node, body_parameters: Sequence[Node]) -> ParsedBody | None:
    medias = swagger_medias(context, operation, "consumes")
    body_node = next((node for node in body_parameters if node.text("in") == "body"), None)
    if body_node is not None:
        media = min(medias or [JSON_MEDIA], key=media_rank)
        return build_body(context, body_node, JSON_MEDIA if media_rank(media) in (1, 2) else media, body_node)
    properties = {
        node.text("name"): {key: value for key, value in node.value.items() if key not in ("name", "in", "required")}
        for node in body_parameters
        if node.text("name")
    }
    required = [node.text("name") for node in body_parameters if node.is_true("required")]
    files = any(node.text("type").lower() == "file" for node in body_parameters)
    media = MULTIPART_MEDIA if files else next((media for media in medias if media_rank(media) in (1, 2)), FORM_MEDIA)
    schema = {"type": "object", "properties": properties, "required": required}
    place = operation.with_value({"schema": schema})
    return build_body(context, place, media, place)


def parse_responses(context: SpecContext, operation: Node) -> tuple[OperationResponse, ...]:
    responses = []
    for status, listed in operation.child("responses").items():
        node = context.refs.resolve(listed)
        if isinstance(node.value, dict) and not status.startswith("x-"):
            responses.append(parse_response(context, operation, status, node))
    return tuple(responses[:MAX_RESPONSES])


def parse_response(context: SpecContext, operation: Node, status: str, node: Node) -> OperationResponse:
    content = node.child("content")
    media, place = "", node
    if isinstance(content.value, dict) and content.value:
        name, media = preferred_media(content)
        place = content.child(name)
    elif "schema" in node.value:
        media = min(swagger_medias(context, operation, "produces") or [JSON_MEDIA], key=media_rank)
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


def success_response(responses: tuple[OperationResponse, ...]) -> OperationResponse | None:
    """Return the response of a successful call, preferably with a schema; else `default` or None."""
    successes = [response for response in responses if response.status.startswith("2")]
    defaults = [response for response in responses if response.status == "default"]
    return next(iter(sorted(successes, key=lambda response: response.schema is None) + defaults), None)
