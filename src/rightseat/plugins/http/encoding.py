"""Encoding of parameters (path, query, header, cookie, by OpenAPI style) and of request bodies: JSON, urlencoded and
multipart forms, text, XML, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape, quoteattr

import msgspec

from rightseat.http.multipart import MultipartField, format_form
from rightseat.plugins.http.files import Attachment
from rightseat.plugins.plugin import Encoding, Parameter, RequestBody

Encode = Callable[[str], str]
FilesByArgument = Mapping[str, list[Attachment]]
DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
URLENCODED = "application/x-www-form-urlencoded"
JSON = "application/json"
BODY_METHODS = ("POST", "PUT", "PATCH")
MAX_NESTING = 16

quote_all = partial(quote, safe="", errors="replace")
# `&`, `#`, `+` and `%` would end or change the value: they are escaped even with `allowReserved`.
quote_allowing_reserved = partial(quote, safe=":/?[]@!$'()*,;=", errors="replace")
quote_form = partial(quote_plus, errors="replace")
# RFC 6265 cookie-octets, except those that some servers split at.
quote_cookie = partial(quote, safe="!#$&'()*+-./:<=>?@[]^_`{|}~", errors="replace")


def to_text(value: Any) -> str:
    """Return a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def encode_by_media(value: Any, media: str) -> str:
    """Encode a parameter with a media type: as JSON unless it is text."""
    return to_text(value) if media.startswith("text/") else msgspec.json.encode(value).decode()


def drop_nulls(value: Any) -> Any:
    """Drop nulls of a list or object: no style can encode them."""
    if isinstance(value, list):
        return [item for item in value if item is not None]
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


def flatten(value: list[Any] | dict[str, Any]) -> list[str]:
    if isinstance(value, list):
        return [to_text(item) for item in value]
    return [text for key, item in value.items() for text in (key, to_text(item))]


def encode_pairs(name: str, value: Any, style: str, explode: bool, encode: Encode) -> list[str]:
    """Encode a value as `name=value` pairs for a query, a urlencoded form or a cookie."""
    value = drop_nulls(value)
    key = quote_all(name) if encode is not quote_form else quote_form(name)
    match value:
        case None:
            return []
        case dict() if style == "deepObject":
            return [f"{quote_all(path)}={encode(to_text(item))}" for path, item in flatten_deep_object(name, value)]
        case dict() if explode:
            return [f"{quote_all(part)}={encode(to_text(item))}" for part, item in value.items()]
        case list() if explode or style == "deepObject":
            return [f"{key}={encode(to_text(item))}" for item in value]
        case dict() | list():
            joined = DELIMITERS.get(style, ",").join(encode(text) for text in flatten(value))
            return [f"{key}={joined}"] if value else []
        case _:
            return [f"{key}={encode(to_text(value))}"]


def flatten_deep_object(name: str, value: Any, level: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield `name[key][key]` and value for every leaf; lists repeat their name."""
    if isinstance(value, dict) and level < MAX_NESTING:
        for key, item in value.items():
            if item is not None:
                yield from flatten_deep_object(f"{name}[{key}]", item, level + 1)
    elif isinstance(value, list):
        yield from ((name, item) for item in value if item is not None)
    else:
        yield name, value


def encode_path(parameter: Parameter, value: Any) -> str:
    """Encode the value that replaces `{name}`."""
    if parameter.media:
        return quote_all(encode_by_media(value, parameter.media))
    value = drop_nulls(value)
    if parameter.style == "matrix":
        return encode_matrix(parameter, value)
    items = encode_items(value, parameter.explode, quote_all)
    if parameter.style == "label":
        return "." + ("." if parameter.explode else ",").join(items)
    return ",".join(items)


def encode_items(value: Any, explode: bool, encode: Encode) -> list[str]:
    if isinstance(value, dict) and explode:
        return [f"{encode(key)}={encode(to_text(item))}" for key, item in value.items()]
    if isinstance(value, dict | list):
        return [encode(text) for text in flatten(value)]
    return [encode(to_text(value))]


def encode_matrix(parameter: Parameter, value: Any) -> str:
    if isinstance(value, dict | list) and not parameter.explode:
        return f";{quote_all(parameter.name)}={','.join(map(quote_all, flatten(value)))}"
    return "".join(f";{pair}" for pair in encode_pairs(parameter.name, value, "form", True, quote_all))


def encode_header(parameter: Parameter, value: Any) -> str:
    value = encode_by_media(value, parameter.media) if parameter.media else drop_nulls(value)
    return ",".join(encode_items(value, parameter.explode, str))


def encode_query(parameter: Parameter, value: Any) -> list[str]:
    encode = quote_allowing_reserved if parameter.reserved else quote_all
    value = encode_by_media(value, parameter.media) if parameter.media else value
    return encode_pairs(parameter.name, value, parameter.style, parameter.explode, encode)


def encode_cookie(parameter: Parameter, value: Any) -> list[str]:
    if parameter.media:
        return [f"{parameter.name}={quote_cookie(encode_by_media(value, parameter.media))}"]
    return encode_pairs(parameter.name, value, "form", parameter.explode, quote_cookie)


def is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json")) or kind in ("*/*", "json", "")


def encode_body(
    body: RequestBody, arguments: Mapping[str, Any], files: FilesByArgument, *, method: str, limit: int
) -> tuple[bytes, str] | None:
    """Encode the body from the arguments; returns it with its content type, None if there is nothing to send."""
    media = body.media.partition(";")[0].strip().lower()
    if media.endswith("x-www-form-urlencoded"):
        value = body_fields(body, arguments)
        return (encode_form(body, value).encode(), URLENCODED) if value or body.required else None
    if media.startswith("multipart/"):
        parts = make_form_parts(body, arguments, files, limit)
        return format_form(parts, media) if parts or body.required else None
    if body.fields:
        fields = body_fields(body, arguments)
        if not fields and not body.required and (method not in BODY_METHODS or not is_json(media)):
            return None
        return encode_whole(body, media, fields)
    if attachments := files.get(body.argument):
        return attachments[0].decode(limit), attachments[0].media if "*" in media else body.media
    return encode_whole(body, media, arguments[body.argument]) if body.argument in arguments else None


def body_fields(body: RequestBody, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if not body.fields:
        value = arguments.get(body.argument)
        return value if isinstance(value, dict) else {}
    return {name: arguments[key] for name, key in body.fields.items() if key in arguments}


def encode_whole(body: RequestBody, media: str, value: Any) -> tuple[bytes, str]:
    if is_json(media):
        return msgspec.json.encode(value), body.media if "*" not in media and "/" in media else JSON
    if media.endswith(("/xml", "+xml")) and not isinstance(value, str):
        root = (body.schema.get("xml") or {}).get("name") or body.schema.get("title") or "request"
        text = f'<?xml version="1.0" encoding="UTF-8"?>{encode_element(str(root), value)}'
        return text.encode(), body.media
    return to_text(value).encode("utf-8", "replace"), body.media if "*" not in media else "text/plain"


def encode_form(body: RequestBody, value: Mapping[str, Any]) -> str:
    encoded_pairs: list[str] = []
    for name, item in value.items():
        encoding = body.encodings.get(name)
        if encoding is not None and encoding.media:
            item = encode_by_media(item, encoding.media)
        elif isinstance(item, dict) and encoding is None:
            item = encode_by_media(item, JSON)
        encoding = encoding or Encoding()
        encoded_pairs += encode_pairs(name, item, encoding.style, encoding.explode, quote_form)
    return "&".join(encoded_pairs)


def make_form_parts(
    body: RequestBody, arguments: Mapping[str, Any], files: FilesByArgument, limit: int
) -> list[MultipartField]:
    parts: list[MultipartField] = []
    for name, item in body_fields(body, arguments).items():
        encoding = body.encodings.get(name) or Encoding()
        key = body.fields.get(name, "")
        if key in files:
            # The documented media type counts if it is a single one.
            media = "" if "*" in encoding.media or "," in encoding.media else encoding.media
            parts += [
                MultipartField(name, file.decode(limit), file.name, media or file.media, encoding.headers)
                for file in files[key]
            ]
            continue
        item = drop_nulls(item)
        # A list becomes one part per element, unless the encoding gives a media type.
        for value in item if isinstance(item, list) and not encoding.media else [item]:
            if value is not None:
                parts.append(make_field_part(name, value, encoding))
    return parts


def make_field_part(name: str, value: Any, encoding: Encoding) -> MultipartField:
    media = encoding.media.partition(",")[0].strip() or (JSON if isinstance(value, dict | list) else "")
    text = encode_by_media(value, media) if is_json(media) and media else to_text(value)
    return MultipartField(name, text.encode("utf-8", "replace"), None, media, encoding.headers)


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
