"""Request bodies: JSON, urlencoded and multipart forms, text, XML, files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from rightseat.plugins.http.files import Attachment
from rightseat.plugins.http.multipart import FormPart, encode_multipart
from rightseat.plugins.http.style import drop_nulls, encode_by_media, encode_pairs, quote_form, to_text
from rightseat.plugins.operation import Encoding, RequestBody

FilesByArgument = Mapping[str, list[Attachment]]
URLENCODED = "application/x-www-form-urlencoded"
JSON = "application/json"
BODY_METHODS = ("POST", "PUT", "PATCH")


class EncodedBody:
    """Encoded body and its content type."""

    def __init__(self, data: bytes, media: str) -> None:
        self.data = data
        self.media = media


def is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json")) or kind in ("*/*", "json", "")


def encode_body(
    body: RequestBody, arguments: Mapping[str, Any], files: FilesByArgument, *, method: str, limit: int
) -> EncodedBody | None:
    """Encode the body from the arguments; None if there is nothing to send."""
    media = body.media.partition(";")[0].strip().lower()
    if media.endswith("x-www-form-urlencoded"):
        value = body_fields(body, arguments)
        return EncodedBody(encode_form(body, value).encode(), URLENCODED) if value or body.required else None
    if media.startswith("multipart/"):
        parts = make_form_parts(body, arguments, files, limit)
        return EncodedBody(*encode_multipart(parts, media)) if parts or body.required else None
    if body.fields:
        fields = body_fields(body, arguments)
        if not fields and not body.required and (method not in BODY_METHODS or not is_json(media)):
            return None
        return EncodedBody(*encode_whole(body, media, fields))
    if attachments := files.get(body.argument):
        return EncodedBody(attachments[0].decode(limit), attachments[0].media if "*" in media else body.media)
    if body.argument not in arguments:
        return None
    return EncodedBody(*encode_whole(body, media, arguments[body.argument]))


def body_fields(body: RequestBody, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if not body.fields:
        value = arguments.get(body.argument)
        return value if isinstance(value, dict) else {}
    return {name: arguments[key] for name, key in body.fields.items() if key in arguments}


def encode_whole(body: RequestBody, media: str, value: Any) -> tuple[bytes, str]:
    if is_json(media):
        return msgspec.json.encode(value), body.media if "*" not in media and "/" in media else JSON
    if media.endswith(("/xml", "+xml")) and not isinstance(value, str):
        return encode_xml(body, value).encode(), body.media
    return to_text(value).encode("utf-8", "replace"), body.media if "*" not in media else "text/plain"


def encode_form(body: RequestBody, value: Mapping[str, Any]) -> str:
    encoded_pairs: list[str] = []
    for name, item in value.items():
        encoding = body.encodings.get(name)
        if encoding is not None and encoding.media:
            item = encode_by_media(item, encoding.media)
        elif isinstance(item, dict) and encoding is None:
            item = encode_by_media(item, JSON)
        effective = encoding or Encoding()
        encoded_pairs += encode_pairs(name, item, effective.style, effective.explode, quote_form)
    return "&".join(encoded_pairs)


def make_form_parts(
    body: RequestBody, arguments: Mapping[str, Any], files: FilesByArgument, limit: int
) -> list[FormPart]:
    parts: list[FormPart] = []
    for name, item in body_fields(body, arguments).items():
        encoding = body.encodings.get(name) or Encoding()
        key = body.fields.get(name, "")
        if key in files:
            parts += [
                FormPart(
                    name,
                    file.decode(limit),
                    choose_file_media(file, encoding.media),
                    file.name,
                    encoding.headers,
                )
                for file in files[key]
            ]
            continue
        item = drop_nulls(item)
        # A list becomes one part per element, unless the encoding gives a media type.
        for value in item if isinstance(item, list) and not encoding.media else [item]:
            if value is not None:
                parts.append(make_field_part(name, value, encoding))
    return parts


def choose_file_media(file: Attachment, documented: str) -> str:
    """Return the documented media type if it is a single one, else the file's own."""
    return documented if documented and "*" not in documented and "," not in documented else file.media


def make_field_part(name: str, value: Any, encoding: Encoding) -> FormPart:
    media = encoding.media.partition(",")[0].strip() or (JSON if isinstance(value, dict | list) else "")
    text = encode_by_media(value, media) if is_json(media) and media else to_text(value)
    return FormPart(name, text.encode("utf-8", "replace"), media, None, encoding.headers)


def encode_xml(body: RequestBody, value: Any) -> str:
    root = (body.schema.get("xml") or {}).get("name") or body.schema.get("title") or "request"
    return f'<?xml version="1.0" encoding="UTF-8"?>{encode_element(str(root), value)}'


def encode_element(name: str, value: Any) -> str:
    # A key that is not a valid XML name becomes an attribute, so that it cannot break the tag.
    tag = name if name.replace("_", "a").replace("-", "a").isalnum() and not name[0].isdigit() else ""
    head, tail = (tag, tag) if tag else (f"item name={quoteattr(name)}", "item")
    if isinstance(value, list):
        return "".join(encode_element(name, item) for item in value)
    if isinstance(value, dict):
        inner = "".join(encode_element(key, item) for key, item in value.items() if item is not None)
    else:
        inner = escape(to_text(value))
    return f"<{head}>{inner}</{tail}>"
