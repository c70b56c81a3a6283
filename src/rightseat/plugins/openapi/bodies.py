"""Request bodies: choice of the media type, schema and encodings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from rightseat.plugins.openapi.node import Node, truth
from rightseat.plugins.openapi.parameters import STYLES
from rightseat.plugins.openapi.reading import Reading
from rightseat.plugins.openapi.schemas import Schema, types_of
from rightseat.plugins.operation import BINARY, Encoding

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
JSON = "application/json"
FILE: Schema = {"type": "string", "format": BINARY}
_SHORT = {
    "x-www-form-urlencoded": FORM,
    "form-data": MULTIPART,
    "form": FORM,
    "multipart": MULTIPART,
    "json": JSON,
    "*/*": JSON,
    "text": "text/plain",
}


class Content(Struct, frozen=True, kw_only=True):
    """Parsed body. `is_flat`: an object whose properties can be separate arguments."""

    media: str
    schema: Schema
    required: bool
    plain: bool
    encodings: dict[str, Encoding] = {}
    description: str = ""


def kind_of(media: str) -> int:
    """Rank a media type, lowest preferred: JSON, form, multipart, text, binary."""
    if media == JSON or media.endswith(("+json", "/json")):
        return 0
    if media == FORM:
        return 1
    if media.startswith("multipart/"):
        return 2
    return 3 if media.startswith("text/") or media.endswith(("/xml", "+xml", "/yaml", "javascript")) else 4


def proper(media: str) -> str:
    bare = media.partition(";")[0].strip().lower()
    return _SHORT.get(bare, bare)


def body(reading: Reading, operation: Node, loose: Sequence[Node]) -> Content | None:
    """Parse the requestBody, or Swagger 2.0 body parameters; None if there is no body."""
    given = reading.refs.follow(operation.at("requestBody"))
    if isinstance(given.value, dict):
        return of_request(reading, given)
    if given.value is not None:
        reading.notes.add(
            given, "It is no mapping, and is passed over.", "Write `content:` below it.", "error"
        )
    return of_parameters(reading, operation, loose) if loose else None


def of_request(reading: Reading, node: Node) -> Content | None:
    content = node.at("content")
    if not isinstance(content.value, dict) or not content.value:
        if not isinstance(node.value.get("schema"), dict | list):
            fix = "Write `content:`, below it `application/json:`, below that `schema:`."
            reading.notes.add(node, "says nothing of what is sent.", fix)
            return None
        fix = "Write `content:` and `application/json:` above it."
        reading.notes.add(node.at("schema"), "stands without a content type; JSON is sent.", fix)
        return made(reading, node, JSON, node)
    name = min(content.value, key=lambda media: kind_of(proper(media)))
    media = proper(name)
    if "/" not in media:
        fix = f"Write one such as {JSON}, {FORM}, {MULTIPART}."
        reading.notes.add(content.at(name), "It is no content type; JSON is sent.", fix)
        media = JSON
    elif media != name.partition(";")[0].strip().lower():
        reading.notes.add(content.at(name), f"It is read as {media}.", f"Write {media}.", "style")
    return made(reading, node, media, content.at(name))


def made(reading: Reading, node: Node, media: str, place: Node) -> Content:
    schema = dict(reading.sent.open(place.at("schema")))
    kind = kind_of(media)
    if kind == 4:
        schema = {**schema, **FILE}
    elif kind == 3 and not types_of(schema):
        schema = {**schema, "type": "string"}
    if kind == 2:
        schema = with_files(schema)
    sample = place.value.get("example") if isinstance(place.value, dict) else None
    if sample is not None and "examples" not in schema and len(str(sample)) <= 500:
        schema["examples"] = [sample]
    return Content(
        media=media,
        schema=schema,
        # Required fields make the body required unless the document says otherwise.
        required=truth(node.value.get("required", bool(schema.get("required")))),
        plain=kind < 3 and plain_object(schema),
        encodings=encodings(place.at("encoding")),
        description=node.text("description"),
    )


def plain_object(schema: Schema) -> bool:
    if "$ref" in schema or types_of(schema) != ("object",) or not schema.get("properties"):
        return False
    return not schema.keys() & {
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "patternProperties",
    } and not isinstance(schema.get("additionalProperties"), dict)


def with_files(schema: Schema) -> Schema:
    """Mark multipart properties with a binary `contentMediaType` (3.1) as files."""
    changed = {name: as_file(inner) for name, inner in (schema.get("properties") or {}).items()}
    return {**schema, "properties": changed} if changed else schema


def as_file(schema: Any) -> Schema:
    media = str(schema.get("contentMediaType", ""))
    if media and "contentEncoding" not in schema and kind_of(media) >= 3 and media != "text/plain":
        return {**{key: value for key, value in schema.items() if key != "contentMediaType"}, **FILE}
    inner = schema.get("items")
    return {**schema, "items": as_file(inner)} if isinstance(inner, dict) else schema


def encodings(node: Node) -> dict[str, Encoding]:
    found = {}
    for name, one in node.items():
        style = one.text("style") or "form"
        explode = one.value.get("explode") if isinstance(one.value, dict) else None
        found[name] = Encoding(
            media=one.text("contentType").partition(",")[0].strip(),
            style=next((one for one in STYLES["query"] if one == style), "form"),
            explode=style == "form" if explode is None else truth(explode),
            headers={key: fixed(header) for key, header in one.at("headers").items() if fixed(header)},
        )
    return found


def fixed(header: Node) -> str:
    """Return the fixed value of a part's header; empty if the document gives none."""
    schema = header.at("schema")
    return schema.text("default") or schema.text("const") or header.text("example")


def of_parameters(reading: Reading, operation: Node, loose: Sequence[Node]) -> Content | None:
    consumes = operation.value.get("consumes") or reading.root.value.get("consumes") or []
    medias = [proper(one) for one in consumes if isinstance(one, str)] if isinstance(consumes, list) else []
    whole = next((one for one in loose if one.text("in") == "body"), None)
    if whole is not None:
        media = min(medias or [JSON], key=kind_of)
        return made(reading, whole, JSON if kind_of(media) in (1, 2) else media, whole)
    properties = {one.text("name"): field(one) for one in loose if one.text("name")}
    needed = [one.text("name") for one in loose if one.says("required")]
    files = any(one.text("type").lower() == "file" for one in loose)
    media = MULTIPART if files else next((one for one in medias if kind_of(one) in (1, 2)), FORM)
    schema = {"type": "object", "properties": properties, "required": needed}
    place = operation.put({"schema": schema})
    return made(reading, place, media, place)


def field(node: Node) -> dict[str, Any]:
    return {key: value for key, value in node.value.items() if key not in ("name", "in", "required")}
