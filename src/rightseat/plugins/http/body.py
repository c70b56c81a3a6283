"""Request bodies: JSON, urlencoded and multipart forms, text, XML, files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from rightseat.plugins.http.files import Attached
from rightseat.plugins.http.multipart import Part, multipart
from rightseat.plugins.http.style import by_media, pairs, plain, plus, present
from rightseat.plugins.operation import Body, Encoding

Files = Mapping[str, list[Attached]]
URLENCODED = "application/x-www-form-urlencoded"
JSON = "application/json"
CARRYING = ("POST", "PUT", "PATCH")


class Written:
    """Encoded body and its content type."""

    def __init__(self, data: bytes, media: str) -> None:
        self.data = data
        self.media = media


def is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json")) or kind in ("*/*", "json", "")


def written(
    body: Body, arguments: Mapping[str, Any], files: Files, *, method: str, limit: int
) -> Written | None:
    """Encode the body from the arguments; None if there is nothing to send."""
    media = body.media.partition(";")[0].strip().lower()
    if media.endswith("x-www-form-urlencoded"):
        value = fields_of(body, arguments)
        return Written(urlencoded(body, value).encode(), URLENCODED) if value or body.required else None
    if media.startswith("multipart/"):
        parts = form_parts(body, arguments, files, limit)
        return Written(*multipart(parts, media)) if parts or body.required else None
    if body.fields:
        made = fields_of(body, arguments)
        if not made and not body.required and (method not in CARRYING or not is_json(media)):
            return None
        return Written(*whole(body, media, made))
    if given := files.get(body.argument):
        return Written(given[0].data(limit), given[0].media if "*" in media else body.media)
    if body.argument not in arguments:
        return None
    return Written(*whole(body, media, arguments[body.argument]))


def fields_of(body: Body, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if not body.fields:
        value = arguments.get(body.argument)
        return value if isinstance(value, dict) else {}
    return {name: arguments[key] for name, key in body.fields.items() if key in arguments}


def whole(body: Body, media: str, value: Any) -> tuple[bytes, str]:
    if is_json(media):
        return msgspec.json.encode(value), body.media if "*" not in media and "/" in media else JSON
    if media.endswith(("/xml", "+xml")) and not isinstance(value, str):
        return xml(body, value).encode(), body.media
    return plain(value).encode("utf-8", "replace"), body.media if "*" not in media else "text/plain"


def urlencoded(body: Body, value: Mapping[str, Any]) -> str:
    made: list[str] = []
    for name, item in value.items():
        encoding = body.encodings.get(name)
        if encoding is not None and encoding.media:
            item = by_media(item, encoding.media)
        elif isinstance(item, dict) and encoding is None:
            item = by_media(item, JSON)
        how = encoding or Encoding()
        made += pairs(name, item, how.style, how.explode, plus)
    return "&".join(made)


def form_parts(body: Body, arguments: Mapping[str, Any], files: Files, limit: int) -> list[Part]:
    parts: list[Part] = []
    for name, item in fields_of(body, arguments).items():
        encoding = body.encodings.get(name) or Encoding()
        key = body.fields.get(name, "")
        if key in files:
            parts += [
                Part(name, file.data(limit), file_media(file, encoding.media), file.name, encoding.headers)
                for file in files[key]
            ]
            continue
        item = present(item)
        # A list becomes one part per element, unless the encoding gives a media type.
        for one in item if isinstance(item, list) and not encoding.media else [item]:
            if one is not None:
                parts.append(field_part(name, one, encoding))
    return parts


def file_media(file: Attached, said: str) -> str:
    """Return the documented media type if it is a single one, else the file's own."""
    return said if said and "*" not in said and "," not in said else file.media


def field_part(name: str, value: Any, encoding: Encoding) -> Part:
    media = encoding.media.partition(",")[0].strip() or (JSON if isinstance(value, dict | list) else "")
    text = by_media(value, media) if is_json(media) and media else plain(value)
    return Part(name, text.encode("utf-8", "replace"), media, None, encoding.headers)


def xml(body: Body, value: Any) -> str:
    root = (body.schema.get("xml") or {}).get("name") or body.schema.get("title") or "request"
    return f'<?xml version="1.0" encoding="UTF-8"?>{element(str(root), value)}'


def element(name: str, value: Any) -> str:
    # A key that is not a valid XML name becomes an attribute, so that it cannot break the tag.
    tag = name if name.replace("_", "a").replace("-", "a").isalnum() and not name[0].isdigit() else ""
    head, tail = (tag, tag) if tag else (f"item name={quoteattr(name)}", "item")
    if isinstance(value, list):
        return "".join(element(name, item) for item in value)
    if isinstance(value, dict):
        inner = "".join(element(key, item) for key, item in value.items() if item is not None)
    else:
        inner = escape(plain(value))
    return f"<{head}>{inner}</{tail}>"
