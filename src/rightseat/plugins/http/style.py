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
RESERVED = ":/?[]@!$'()*,;="
# RFC 6265 cookie-octets, except those that some servers split at.
COOKIE = "!#$&'()*+-./:<=>?@[]^_`{|}~"
DEEPEST = 16


def escaped(text: str) -> str:
    return quote(text, safe="", errors="replace")


def reserved(text: str) -> str:
    return quote(text, safe=RESERVED, errors="replace")


def plus(text: str) -> str:
    return quote_plus(text, errors="replace")


def unescaped(text: str) -> str:
    return text


def cookie_safe(text: str) -> str:
    return quote(text, safe=COOKIE, errors="replace")


def plain(value: Any) -> str:
    """Return a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def by_media(value: Any, media: str) -> str:
    """Encode a parameter with a media type: as JSON unless it is text."""
    return plain(value) if media.startswith("text/") else msgspec.json.encode(value).decode()


def present(value: Any) -> Any:
    """Drop nulls of a list or object: no style can encode them."""
    match value:
        case list():
            return [item for item in value if item is not None]
        case dict():
            return {key: item for key, item in value.items() if item is not None}
        case _:
            return value


def flat(value: list[Any] | dict[str, Any]) -> list[str]:
    if isinstance(value, list):
        return [plain(item) for item in value]
    return [text for key, item in value.items() for text in (key, plain(item))]


def pairs(name: str, value: Any, style: str, explode: bool, encode: Encode) -> list[str]:
    """Encode a value as `name=value` pairs for a query, a urlencoded form or a cookie."""
    value = present(value)
    key = escaped(name) if encode is not plus else plus(name)
    match value:
        case None:
            return []
        case dict() if style == "deepObject":
            return [f"{escaped(path)}={encode(plain(item))}" for path, item in deep(name, value)]
        case dict() if explode:
            return [f"{escaped(part)}={encode(plain(item))}" for part, item in value.items()]
        case list() if explode or style == "deepObject":
            return [f"{key}={encode(plain(item))}" for item in value]
        case dict() | list():
            joined = DELIMITERS.get(style, ",").join(encode(text) for text in flat(value))
            return [f"{key}={joined}"] if value else []
        case _:
            return [f"{key}={encode(plain(value))}"]


def deep(name: str, value: Any, level: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield `name[key][key]` and value for every leaf; lists repeat their name."""
    if isinstance(value, dict) and level < DEEPEST:
        for key, item in value.items():
            if item is not None:
                yield from deep(f"{name}[{key}]", item, level + 1)
    elif isinstance(value, list):
        yield from ((name, item) for item in value if item is not None)
    else:
        yield name, value


def in_path(parameter: Parameter, value: Any) -> str:
    """Encode the value that replaces `{name}`."""
    if parameter.media:
        return escaped(by_media(value, parameter.media))
    value = present(value)
    match parameter.style:
        case "label":
            between = "." if parameter.explode else ","
            return "." + between.join(assigned(value, parameter.explode, escaped))
        case "matrix":
            return matrix(parameter, value)
        case _:
            return ",".join(assigned(value, parameter.explode, escaped))


def assigned(value: Any, explode: bool, encode: Encode) -> list[str]:
    if isinstance(value, dict) and explode:
        return [f"{encode(key)}={encode(plain(item))}" for key, item in value.items()]
    if isinstance(value, dict | list):
        return [encode(text) for text in flat(value)]
    return [encode(plain(value))]


def matrix(parameter: Parameter, value: Any) -> str:
    if isinstance(value, dict | list) and not parameter.explode:
        return f";{escaped(parameter.name)}={','.join(map(escaped, flat(value)))}"
    return "".join(f";{pair}" for pair in pairs(parameter.name, value, "form", True, escaped))


def in_header(parameter: Parameter, value: Any) -> str:
    if parameter.media:
        return by_media(value, parameter.media)
    return ",".join(assigned(present(value), parameter.explode, unescaped))


def in_query(parameter: Parameter, value: Any) -> list[str]:
    encode = reserved if parameter.reserved else escaped
    if parameter.media:
        return [f"{escaped(parameter.name)}={encode(by_media(value, parameter.media))}"]
    return pairs(parameter.name, value, parameter.style, parameter.explode, encode)


def in_cookie(parameter: Parameter, value: Any) -> list[str]:
    if parameter.media:
        return [f"{parameter.name}={cookie_safe(by_media(value, parameter.media))}"]
    return pairs(parameter.name, value, "form", parameter.explode, cookie_safe)
