"""Parse and check a client's JSON-RPC messages by the rules of its protocol version."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.doors.mcp import wire
from rightseat.doors.mcp.wire import JsonRpcError, JsonRpcMessage, McpRequest
from rightseat.http.endpoint import Request

# The parameter that stateless requests repeat in the header Mcp-Name.
NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_BASE64_HEADER = re.compile(r"=\?base64\?(.*)\?=")
_SESSION_ID = re.compile(r"(ask|mute)-[0-9a-f]{32}")


def parse_message(body: bytes) -> JsonRpcMessage:
    if body.lstrip()[:1] == b"[":
        raise JsonRpcError(wire.INVALID_REQUEST, "Send one message at a time: batches are not taken.")
    try:
        message = msgspec.json.decode(body, type=JsonRpcMessage)
    except msgspec.ValidationError as error:
        raise JsonRpcError(wire.INVALID_REQUEST, f"This is no JSON-RPC message: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise JsonRpcError(wire.PARSE_ERROR, "The body is not JSON that can be read.") from None
    if message.jsonrpc != "2.0" or not (message.method or message.id is not None):
        raise JsonRpcError(wire.INVALID_REQUEST, 'This is no JSON-RPC 2.0 message: "jsonrpc" and "method" are needed.')
    return message


def parse_request(message: JsonRpcMessage, request: Request) -> McpRequest:
    assert message.id is not None
    params = message.params or {}
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    version = request.headers.get("mcp-protocol-version")
    stateless = wire.VERSION_KEY in meta or (version is not None and version not in wire.HANDSHAKE_VERSIONS)
    accepts_stream = "text/event-stream" in request.headers.get("accept", "*/*").replace("*/*", "text/event-stream")
    session = "" if stateless else get_session_id(request)
    if stateless:
        check_headers(message.method, params, meta, request.headers)
    return McpRequest(
        id=message.id,
        method=message.method,
        params=params,
        stateless=stateless,
        session=session,
        supports_elicitation=supports_forms(meta[wire.CAPABILITIES_KEY]) if stateless else session.startswith("ask-"),
        accepts_stream=accepts_stream,
    )


def check_headers(method: str, params: dict[str, Any], meta: dict[str, Any], headers: Mapping[str, str]) -> None:
    """Check that a stateless request has its `_meta`, and headers that agree with the body."""
    if missing := [key for key in (wire.VERSION_KEY, wire.CAPABILITIES_KEY) if key not in meta]:
        raise JsonRpcError(wire.INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}.")
    version = meta[wire.VERSION_KEY]
    if headers.get("mcp-protocol-version") != version:
        raise JsonRpcError(wire.HEADER_MISMATCH, "The header MCP-Protocol-Version does not say what _meta says.")
    if headers.get("mcp-method") != method:
        raise JsonRpcError(wire.HEADER_MISMATCH, "The header Mcp-Method is not the method of the body.")
    name = params.get(NAME_PARAMS.get(method, ""))
    if isinstance(name, str) and decode_header(headers.get("mcp-name")) != name:
        raise JsonRpcError(wire.HEADER_MISMATCH, f"The header Mcp-Name is not the {NAME_PARAMS[method]} of the body.")
    if version not in wire.STATELESS_VERSIONS:
        data = {"supported": [*wire.STATELESS_VERSIONS, *wire.HANDSHAKE_VERSIONS], "requested": version}
        raise JsonRpcError(wire.UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def decode_header(value: str | None) -> str | None:
    """Decode a header's value, which is base64 where HTTP cannot carry the text."""
    encoded = _BASE64_HEADER.fullmatch(value) if value else None
    if encoded is None:
        return value
    try:
        return base64.b64decode(encoded[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def supports_forms(capabilities: Any) -> bool:
    """Whether a client's elicitation capability includes forms, which is the default without a mode."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def make_session_id(capabilities: Any) -> str:
    """Make a session id. It encodes whether the client supports elicitation, so the server stores nothing."""
    return f"{'ask' if supports_forms(capabilities) else 'mute'}-{secrets.token_hex(16)}"


def get_session_id(request: Request) -> str:
    session_id = request.headers.get("mcp-session-id", "")
    return session_id if _SESSION_ID.fullmatch(session_id) else ""
