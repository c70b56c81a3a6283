"""One operation of an API document, resolved and normalised: all that is needed to show and to call it.

Made by openapi/, called by http/. Schemas here are JSON Schema 2020-12 with local `$defs` only.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Place = Literal["path", "query", "header", "cookie"]
Style = Literal["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"]
BINARY = "binary"
"""The `format` of a text whose value is the name of a file that the user attached."""


class Parameter(Struct, frozen=True, kw_only=True):
    """`argument` is its key among the tool's arguments: its name, unless two would share one."""

    name: str
    argument: str
    place: Place
    schema: dict[str, Any]
    required: bool = False
    style: Style = "form"
    explode: bool = True
    reserved: bool = False
    """Reserved characters are sent as they are (`allowReserved`)."""
    media: str = ""
    """Where the document gives `content` instead of `schema`: the value is written in this form."""


class Encoding(Struct, frozen=True, kw_only=True):
    """How one field of a form is written."""

    media: str = ""
    style: Style = "form"
    explode: bool = True
    headers: dict[str, str] = {}


class Body(Struct, frozen=True, kw_only=True):
    """`fields`: each property of the body is an argument of its own (name → argument). Else the body is the
    one argument `argument`."""

    media: str
    schema: dict[str, Any]
    required: bool = False
    fields: dict[str, str] = {}
    argument: str = "body"
    encodings: dict[str, Encoding] = {}


class Response(Struct, frozen=True, kw_only=True):
    """`status` as the document says: "200", "2XX", "default"."""

    status: str
    description: str = ""
    media: str = ""
    schema: dict[str, Any] | None = None


class Server(Struct, frozen=True, kw_only=True):
    """`url` has its variables filled in, and is absolute."""

    url: str
    description: str = ""


class Operation(Struct, frozen=True, kw_only=True):
    id: str
    """As flows name it: "GET /hosts/{id}"."""
    name: str
    """As a model names it: unique in its plugin, letters, digits and _."""
    method: str
    path: str
    description: str
    """Of the operation, its body and its answer, for the model."""
    arguments: dict[str, Any]
    """One JSON Schema object over all parameters and the body."""
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    responses: tuple[Response, ...] = ()
    servers: tuple[Server, ...] = ()
    dangerous: bool = False
    secured: tuple[str, ...] = ()
    """Names of arguments that carry a credential by the plugin's auth: not shown to a model."""
    line: int = 0
