"""Parameter encoding for path, query, header and cookie by OpenAPI style."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from rightseat.plugins.operation import Parameter

Encode = Callable[[str], str]
DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
# `&`, `#`, `+` and `%` would end or change the value: they are escaped even with `allowReserved`.
RESERVED_CHARS = ":/?[]@!$'()*,;="
# RFC 6265 cookie-octets, except those that some servers split at.
COOKIE_CHARS = "!#$&'()*+-./:<=>?@[]^_`{|}~"
MAX_NESTING = 16


def quote_all(text: str) -> str:
    return quote(text, safe="", errors="replace")


def quote_allowing_reserved(text: str) -> str:
    return quote(text, safe=RESERVED_CHARS, errors="replace")


def quote_form(text: str) -> str:
    return quote_plus(text, errors="replace")


def no_quoting(text: str) -> str:
    return text


def quote_cookie(text: str) -> str:
    return quote(text, safe=COOKIE_CHARS, errors="replace")


def to_text(value: Any) -> str:
    """Return a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def encode_by_media(value: Any, media: str) -> str:
    """Encode a parameter with a media type: as JSON unless it is text."""
    return to_text(value) if media.startswith("text/") else msgspec.json.encode(value).decode()


def drop_nulls(value: Any) -> Any:
    """Drop nulls of a list or object: no style can encode them."""
    match value:
        case list():
            return [item for item in value if item is not None]
        case dict():
            return {key: item for key, item in value.items() if item is not None}
        case _:
            return value


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
            return [
                f"{quote_all(path)}={encode(to_text(item))}"
                for path, item in flatten_deep_object(name, value)
            ]
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
    match parameter.style:
        case "label":
            separator = "." if parameter.explode else ","
            return "." + separator.join(encode_items(value, parameter.explode, quote_all))
        case "matrix":
            return encode_matrix(parameter, value)
        case _:
            return ",".join(encode_items(value, parameter.explode, quote_all))


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
    if parameter.media:
        return encode_by_media(value, parameter.media)
    return ",".join(encode_items(drop_nulls(value), parameter.explode, no_quoting))


def encode_query(parameter: Parameter, value: Any) -> list[str]:
    encode = quote_allowing_reserved if parameter.reserved else quote_all
    if parameter.media:
        return [f"{quote_all(parameter.name)}={encode(encode_by_media(value, parameter.media))}"]
    return encode_pairs(parameter.name, value, parameter.style, parameter.explode, encode)


def encode_cookie(parameter: Parameter, value: Any) -> list[str]:
    if parameter.media:
        return [f"{parameter.name}={quote_cookie(encode_by_media(value, parameter.media))}"]
    return encode_pairs(parameter.name, value, "form", parameter.explode, quote_cookie)
