"""HTTP request for an operation and its arguments, before credentials are added."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.plugins.http.encoding import (
    FilesByArgument,
    encode_body,
    encode_cookie,
    encode_header,
    encode_path,
    encode_query,
)
from rightseat.plugins.plugin import Operation, Parameter

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
SAFE_CHARS = "/:@!$&'()*+,;=~%"
MAX_UNQUOTES = 4
IDEMPOTENT_METHODS = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")
KEY_HEADER = "idempotency-key"
PATH_ESCAPE = "A value for the path leads out of it ('.' or '..'). Give the plain value."


class UnsignedRequest(Struct, frozen=True, kw_only=True):
    """Request without credentials. `path` and `query` are escaped; `query`, `cookies` hold `name=value`."""

    method: str
    path: str
    query: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    cookies: tuple[str, ...] = ()
    body: bytes | None = None
    retryable: bool = False

    def build_url(self, server: str, extra: tuple[str, ...] = ()) -> str:
        """Return the URL; CallerError if the arguments lead outside the server's base URL."""
        from rightseat.http.fetch.target import parse_target

        parts = urlsplit(server)
        prefix = quote(parts.path.rstrip("/"), safe=SAFE_CHARS)
        query = "&".join((*self.query, *extra))
        url = f"{parts.scheme}://{parts.netloc}{prefix}{self.path}" + (f"?{query}" if query else "")
        base, final = parse_target(f"{parts.scheme}://{parts.netloc}{prefix}"), parse_target(url)
        if final.origin != base.origin or not final.url.raw_path.startswith(f"{prefix}/"):
            raise CallerError("The arguments would lead to another address than the API's own. Change them.")
        return url


def build_request(
    operation: Operation, arguments: Mapping[str, Any], files: FilesByArgument, *, limit: int, key: str = ""
) -> UnsignedRequest:
    """Build the request. `limit` is the size of one file; `key` fills a declared Idempotency-Key header."""
    method = operation.method.upper()
    queries: list[str] = []
    headers: dict[str, str] = {"Accept": accept_header(operation)}
    cookies: list[str] = []
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None:
            continue
        if parameter.place == "query":
            queries += encode_query(parameter, value)
        elif parameter.place == "header":
            headers = with_header(headers, parameter.name, encode_header(parameter, value))
        elif parameter.place == "cookie":
            cookies += encode_cookie(parameter, value)
    key_param = find_idempotency_parameter(operation)
    if key_param is not None and key and key_param.name.lower() not in map(str.lower, headers):
        headers = with_header(headers, key_param.name, key)
    path, fixed_query = fill_path(operation, arguments)
    body = operation.body and encode_body(operation.body, arguments, files, method=method, limit=limit)
    if body:
        headers = with_header(headers, "Content-Type", body[1])
    return UnsignedRequest(
        method=method,
        path=path,
        query=(*fixed_query, *queries),
        headers=headers,
        cookies=tuple(cookies),
        body=body[0] if body else None,
        retryable=method in IDEMPOTENT_METHODS or key_param is not None,
    )


def with_header(headers: dict[str, str], name: str, value: str) -> dict[str, str]:
    """Return the headers with one set; names compare case-insensitively."""
    return {**{key: old for key, old in headers.items() if key.lower() != name.lower()}, name: value}


def find_idempotency_parameter(operation: Operation) -> Parameter | None:
    headers = (parameter for parameter in operation.parameters if parameter.place == "header")
    return next((parameter for parameter in headers if parameter.name.lower() == KEY_HEADER), None)


def accept_header(operation: Operation) -> str:
    """Return the Accept header: the documented media types of successes, then anything."""
    successes = (response for response in operation.responses if response.status[:1] in "2d")
    media_types = dict.fromkeys(response.media for response in successes)
    valid = [media for media in media_types if re.fullmatch(r"[\w!#$&^.+*/; =-]+", media, re.ASCII)]
    return ", ".join([*valid, "*/*;q=0.5"]) if valid else "*/*"


def fill_path(operation: Operation, arguments: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Fill the path template; returns the path and the fixed query of the document's path."""
    template, _, query = operation.path.partition("?")
    path_parameters = {parameter.name: parameter for parameter in operation.parameters if parameter.place == "path"}
    pieces: list[str] = []
    for number, piece in enumerate(PLACEHOLDER.split(template.partition("#")[0])):
        if number % 2 == 0:
            pieces.append(quote(piece, safe=SAFE_CHARS))
        else:
            pieces.append(encode_path_value(path_parameters.get(piece), piece, arguments))
    path = "".join(pieces)
    if any(is_dot_segment(part) for part in path.split("/")):
        raise CallerError(PATH_ESCAPE)
    fixed_query = [quote(part, safe=SAFE_CHARS + "[]?") for part in query.partition("#")[0].split("&") if part]
    return path if path.startswith("/") else f"/{path}", fixed_query


def encode_path_value(parameter: Parameter | None, name: str, arguments: Mapping[str, Any]) -> str:
    value = None if parameter is None else arguments.get(parameter.argument)
    if parameter is None or value is None or value in ("", [], {}):
        raise CallerError(f"The path needs a value for {name!r}. Give one.")
    for text in nested_strings(value):
        if any(is_dot_segment(part) for part in re.split(r"[/\\]", unquote_fully(text))):
            raise CallerError(PATH_ESCAPE)
    return encode_path(parameter, value)


def nested_strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return [text for item in value for text in nested_strings(item)]
    return [value] if isinstance(value, str) else []


def unquote_fully(text: str) -> str:
    """Unquote repeatedly: servers differ in how often they decode a path."""
    for _ in range(MAX_UNQUOTES):
        text = unquote(text)
    return text


def is_dot_segment(part: str) -> bool:
    # Some servers treat what follows `;` as a parameter (`..;x`) and ignore control characters.
    unquoted = unquote_fully(part).partition(";")[0]
    return "".join(char for char in unquoted if char > " ") in (".", "..")
