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

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION, RESOURCE_NOT_FOUND = -32020, -32022, -32002
# HTTP statuses of errors for stateless clients; handshake clients always get 200.
HTTP_STATUS = {METHOD_NOT_FOUND: 404}
BAD_REQUEST = 400
# Text codes for `error.data.code`.
ERROR_CODES = {
    PARSE_ERROR: "parse_error",
    METHOD_NOT_FOUND: "method_not_found",
    INVALID_PARAMS: "invalid_params",
    HEADER_MISMATCH: "header_mismatch",
    UNSUPPORTED_VERSION: "unsupported_version",
    RESOURCE_NOT_FOUND: "not_found",
}

RequestId = str | int
encode = msgspec.json.Encoder().encode


class JsonRpcMessage(Struct, frozen=True, kw_only=True):
    """A client's message: with a method and an id a request, without an id a notification, without a method the
    response to a request of ours."""

    jsonrpc: str
    id: RequestId | None = None
    method: str = ""
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class JsonRpcError(Exception):
    """Raised to answer with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class McpRequest(Struct, frozen=True, kw_only=True):
    """A parsed request. `session` is the session id of a handshake client."""

    id: RequestId
    method: str
    params: dict[str, Any]
    stateless: bool
    session: str = ""
    supports_elicitation: bool = False
    """Whether the client can ask its user."""
    accepts_stream: bool = True
    """Whether the client accepts an event stream."""

    @property
    def progress_token(self) -> RequestId | None:
        """The progress token; None if the client wants no progress."""
        meta = self.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None

    def require_text(self, name: str) -> str:
        """Return a required text parameter."""
        value = self.params.get(name)
        if not isinstance(value, str) or not value:
            raise JsonRpcError(INVALID_PARAMS, f"{name} is missing: a text is expected.")
        return value


@cache
def server_info() -> dict[str, str]:
    return {"name": "rightseat", "version": version("rightseat")}


def make_response(rpc: McpRequest, result: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
    """Make a response. With `cacheable` a stateless client may cache it privately for a minute."""
    if rpc.stateless:
        result = {"resultType": "complete", **result}
        if cacheable:
            result |= {"ttlMs": 60_000, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": rpc.id, "result": result}


def make_error_response(id: RequestId | None, rpc_error: JsonRpcError) -> dict[str, Any]:
    # Codes of JSON-RPC itself have no page, and so no `doc_url`.
    data = {"code": ERROR_CODES.get(rpc_error.code, "invalid_request"), **(rpc_error.data or {})}
    error = {"code": rpc_error.code, "message": rpc_error.message, "data": data}
    return {"jsonrpc": "2.0", "id": id, "error": error}
