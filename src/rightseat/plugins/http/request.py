"""HTTP request for an operation and its arguments, before credentials are added."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.plugins.http.body import Files, written
from rightseat.plugins.http.style import in_cookie, in_header, in_path, in_query
from rightseat.plugins.operation import Operation, Parameter

HOLE = re.compile(r"\{([^{}]+)\}")
LITERAL = "/:@!$&'()*+,;=~%"
UNWRAPPINGS = 4
IDEMPOTENT = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")
KEY_HEADER = "idempotency-key"


class Draft(Struct, frozen=True, kw_only=True):
    """Request without credentials. `path` and `query` are escaped; `query`, `cookies` hold `name=value`."""

    method: str
    path: str
    query: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    cookies: tuple[str, ...] = ()
    body: bytes | None = None
    repeatable: bool = False

    def url(self, server: str, extra: tuple[str, ...] = ()) -> str:
        """Return the URL; CallerError if the arguments lead outside the server's base URL."""
        from rightseat.http.fetch.target import target

        here = urlsplit(server)
        prefix = quote(here.path.rstrip("/"), safe=LITERAL)
        asked = "&".join((*self.query, *extra))
        url = f"{here.scheme}://{here.netloc}{prefix}{self.path}" + (f"?{asked}" if asked else "")
        base, final = target(f"{here.scheme}://{here.netloc}{prefix}"), target(url)
        if final.origin != base.origin or not final.url.raw_path.startswith(f"{prefix}/"):
            raise CallerError("The arguments would lead to another address than the API's own. Change them.")
        return url


def draft(
    operation: Operation, arguments: Mapping[str, Any], files: Files, *, limit: int, key: str = ""
) -> Draft:
    """Build the request. `limit` is the size of one file; `key` fills a declared Idempotency-Key header."""
    method = operation.method.upper()
    queries: list[str] = []
    headers: dict[str, str] = {"Accept": accepted(operation)}
    cookies: list[str] = []
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None:
            continue
        match parameter.place:
            case "query":
                queries += in_query(parameter, value)
            case "header":
                headers = with_header(headers, parameter.name, in_header(parameter, value))
            case "cookie":
                cookies += in_cookie(parameter, value)
            case "path":
                pass
    keyed = key_parameter(operation)
    if keyed is not None and key and keyed.name.lower() not in map(str.lower, headers):
        headers = with_header(headers, keyed.name, key)
    path, fixed = filled(operation, arguments)
    body = operation.body and written(operation.body, arguments, files, method=method, limit=limit)
    if body:
        headers = with_header(headers, "Content-Type", body.media)
    return Draft(
        method=method,
        path=path,
        query=(*fixed, *queries),
        headers=headers,
        cookies=tuple(cookies),
        body=body.data if body else None,
        repeatable=method in IDEMPOTENT or keyed is not None,
    )


def with_header(headers: dict[str, str], name: str, value: str) -> dict[str, str]:
    """Return the headers with one set; names compare case-insensitively."""
    return {**{key: old for key, old in headers.items() if key.lower() != name.lower()}, name: value}


def key_parameter(operation: Operation) -> Parameter | None:
    return next(
        (one for one in operation.parameters if one.place == "header" and one.name.lower() == KEY_HEADER),
        None,
    )


def accepted(operation: Operation) -> str:
    """Return the Accept header: the documented media types of successes, then anything."""
    good = [one.media for one in operation.responses if one.status[:1] in "2d" and one.media]
    plain = [media for media in dict.fromkeys(good) if re.fullmatch(r"[\w!#$&^.+*/; =-]+", media, re.ASCII)]
    return ", ".join([*plain, "*/*;q=0.5"]) if plain else "*/*"


def filled(operation: Operation, arguments: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Fill the path template; returns the path and the fixed query of the document's path."""
    template, _, query = operation.path.partition("?")
    places = {one.name: one for one in operation.parameters if one.place == "path"}
    pieces: list[str] = []
    for number, piece in enumerate(HOLE.split(template.partition("#")[0])):
        if number % 2 == 0:
            pieces.append(quote(piece, safe=LITERAL))
        else:
            pieces.append(path_value(places.get(piece), piece, arguments))
    path = "".join(pieces)
    if any(climbs(part) for part in path.split("/")):
        raise climbing()
    fixed = [quote(part, safe=LITERAL + "[]?") for part in query.partition("#")[0].split("&") if part]
    return path if path.startswith("/") else f"/{path}", fixed


def path_value(parameter: Parameter | None, name: str, arguments: Mapping[str, Any]) -> str:
    value = None if parameter is None else arguments.get(parameter.argument)
    if parameter is None or value is None or value in ("", [], {}):
        raise CallerError(f"The path needs a value for {name!r}. Give one.")
    for text in texts(value):
        if any(climbs(part) for part in re.split(r"[/\\]", unwrapped(text))):
            raise climbing()
    return in_path(parameter, value)


def texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in texts(item)]
        case dict():
            return [text for key, item in value.items() for text in (key, *texts(item))]
        case _:
            return []


def unwrapped(text: str) -> str:
    """Unquote repeatedly: servers differ in how often they decode a path."""
    for _ in range(UNWRAPPINGS):
        text = unquote(text)
    return text


def climbs(part: str) -> bool:
    # Some servers treat what follows `;` as a parameter (`..;x`) and ignore control characters.
    seen = unwrapped(part).partition(";")[0]
    return "".join(char for char in seen if char > " ") in (".", "..")


def climbing() -> CallerError:
    return CallerError("A value for the path leads out of it ('.' or '..'). Give the plain value.")
