"""JSON-RPC messages of MCP, and the constants of its two protocol generations.

Up to 2025-11-25 a client starts a session with `initialize` (handshake). Since 2026-07-28 each request is
self-contained (stateless): version and capabilities are in `_meta`, and headers must agree with it.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import Struct

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
ABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION, NO_RESOURCE = -32020, -32022, -32002
# HTTP statuses of errors for stateless clients; handshake clients always get 200.
STATUS = {METHOD_NOT_FOUND: 404}
BAD = 400
# Text codes for `error.data.code`.
WORDS = {
    PARSE_ERROR: "parse_error",
    METHOD_NOT_FOUND: "method_not_found",
    INVALID_PARAMS: "invalid_params",
    HEADER_MISMATCH: "header_mismatch",
    UNSUPPORTED_VERSION: "unsupported_version",
    NO_RESOURCE: "not_found",
}

Id = str | int


class Envelope(Struct, frozen=True, kw_only=True):
    """Any message of a client: with a method and an id it is a request, without an id a notification, without
    a method the response to a request of ours."""

    jsonrpc: str
    id: Id | None = None
    method: str = ""
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Refused(Exception):
    """Raised to answer with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Ask(Struct, frozen=True, kw_only=True):
    """A parsed request. `session` is the session id of a handshake client."""

    id: Id
    method: str
    params: dict[str, Any]
    modern: bool
    session: str = ""
    elicits: bool = False
    """Whether the client can ask its user."""
    streams: bool = True
    """Whether the client accepts an event stream."""

    @property
    def token(self) -> Id | None:
        """The progress token; None if the client wants no progress."""
        meta = self.params.get("_meta")
        found = meta.get("progressToken") if isinstance(meta, dict) else None
        return found if isinstance(found, str | int) and not isinstance(found, bool) else None

    def text(self, name: str) -> str:
        """Return a required text parameter."""
        value = self.params.get(name)
        if not isinstance(value, str) or not value:
            raise Refused(INVALID_PARAMS, f"{name} is missing: a text is expected.")
        return value


@cache
def server() -> dict[str, str]:
    return {"name": "rightseat", "version": version("rightseat")}


def encode(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode(message)


def response(ask: Ask, result: dict[str, Any], *, cached: bool = False) -> dict[str, Any]:
    """Make a response. With `cacheable` a stateless client may cache it privately for a minute."""
    if ask.modern:
        result = {"resultType": "complete", **result}
        if cached:
            result |= {"ttlMs": 60_000, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": ask.id, "result": result}


def refusal(id: Id | None, refused: Refused) -> dict[str, Any]:
    data = {"code": WORDS.get(refused.code, "invalid_request"), **(refused.data or {})}
    error = {"code": refused.code, "message": refused.message, "data": data}
    return {"jsonrpc": "2.0", "id": id, "error": error}
