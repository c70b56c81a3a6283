"""One operation of an API document, resolved and normalized.

openapi/ makes operations and http/ calls them. Schemas are JSON Schema 2020-12 with local `$defs` only.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

ParameterLocation = Literal["path", "query", "header", "cookie"]
ParameterStyle = Literal["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject"]
BINARY_FORMAT = "binary"
"""The `format` of a string that names a file attached by the user."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter. `argument` is its key in the tool's arguments: its name, unless two share it."""

    name: str
    argument: str
    place: ParameterLocation
    schema: dict[str, Any]
    required: bool = False
    style: ParameterStyle = "form"
    explode: bool = True
    reserved: bool = False
    """Reserved characters are sent as they are (`allowReserved`)."""
    media: str = ""
    """Media type of the value where the document gives `content` instead of `schema`."""


class Encoding(Struct, frozen=True, kw_only=True):
    """Encoding of one form field."""

    media: str = ""
    style: ParameterStyle = "form"
    explode: bool = True
    headers: dict[str, str] = {}


class RequestBody(Struct, frozen=True, kw_only=True):
    """A request body. `fields` maps each property to an argument; if empty, the whole body is `argument`."""

    media: str
    schema: dict[str, Any]
    required: bool = False
    fields: dict[str, str] = {}
    argument: str = "body"
    encodings: dict[str, Encoding] = {}


class OperationResponse(Struct, frozen=True, kw_only=True):
    """A response. `status` is as in the document: "200", "2XX", "default"."""

    status: str
    description: str = ""
    media: str = ""
    schema: dict[str, Any] | None = None


class ApiServer(Struct, frozen=True, kw_only=True):
    """A server. `url` is absolute, with its variables filled in."""

    url: str
    description: str = ""


class Operation(Struct, frozen=True, kw_only=True):
    id: str
    """Name in flows: "GET /hosts/{id}"."""
    name: str
    """Name for models: unique in its plugin, letters, digits and _."""
    method: str
    path: str
    description: str
    """Description of operation, body and response, for the model."""
    arguments: dict[str, Any]
    """One JSON Schema object over all parameters and the body."""
    parameters: tuple[Parameter, ...] = ()
    body: RequestBody | None = None
    responses: tuple[OperationResponse, ...] = ()
    servers: tuple[ApiServer, ...] = ()
    dangerous: bool = False
    secured: tuple[str, ...] = ()
    """Arguments that the plugin's auth fills with a credential: hidden from the model."""
    line: int = 0
