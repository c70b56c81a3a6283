"""Parse and check a client's JSON-RPC messages by the rules of its protocol version."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.doors.mcp.wire import (
    ABILITIES_KEY,
    HANDSHAKE,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MODERN,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    Ask,
    Envelope,
    Refused,
)
from rightseat.http.endpoint import Request

# The parameter that stateless requests repeat in the header Mcp-Name.
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PACKED = re.compile(r"=\?base64\?(.*)\?=")
_SESSION = re.compile(r"(ask|mute)-[0-9a-f]{32}")


def envelope(body: bytes) -> Envelope:
    if body.lstrip()[:1] == b"[":
        raise Refused(INVALID_REQUEST, "Send one message at a time: batches are not taken.")
    try:
        found = msgspec.json.decode(body, type=Envelope)
    except msgspec.ValidationError as error:
        raise Refused(INVALID_REQUEST, f"This is no JSON-RPC message: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Refused(PARSE_ERROR, "The body is not JSON that can be read.") from None
    if found.jsonrpc != "2.0" or not (found.method or found.id is not None):
        raise Refused(INVALID_REQUEST, 'This is no JSON-RPC 2.0 message: "jsonrpc" and "method" are needed.')
    return found


def ask_of(found: Envelope, request: Request) -> Ask:
    assert found.id is not None
    params = found.params or {}
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    version = request.headers.get("mcp-protocol-version")
    modern = VERSION_KEY in meta or (version is not None and version not in HANDSHAKE)
    streams = "text/event-stream" in request.headers.get("accept", "*/*").replace("*/*", "text/event-stream")
    if not modern:
        session = session_of(request)
        elicits = session.startswith("ask-")
        return Ask(
            id=found.id,
            method=found.method,
            params=params,
            modern=False,
            session=session,
            elicits=elicits,
            streams=streams,
        )
    agree(found.method, params, meta, request.headers)
    abilities = meta[ABILITIES_KEY]
    elicits = isinstance(abilities, dict) and forms(abilities.get("elicitation"))
    return Ask(id=found.id, method=found.method, params=params, modern=True, elicits=elicits, streams=streams)


def agree(method: str, params: dict[str, Any], meta: dict[str, Any], headers: Mapping[str, str]) -> None:
    """Check that a stateless request has its `_meta`, and headers that agree with the body."""
    if missing := [key for key in (VERSION_KEY, ABILITIES_KEY) if key not in meta]:
        raise Refused(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}.")
    version = meta[VERSION_KEY]
    if headers.get("mcp-protocol-version") != version:
        raise Refused(HEADER_MISMATCH, "The header MCP-Protocol-Version does not say what _meta says.")
    if headers.get("mcp-method") != method:
        raise Refused(HEADER_MISMATCH, "The header Mcp-Method is not the method of the body.")
    name = params.get(NAMED.get(method, ""))
    if isinstance(name, str) and unpacked(headers.get("mcp-name")) != name:
        raise Refused(HEADER_MISMATCH, f"The header Mcp-Name is not the {NAMED[method]} of the body.")
    if version not in MODERN:
        known = [*MODERN, *HANDSHAKE]
        raise Refused(
            UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": known, "requested": version}
        )


def unpacked(value: str | None) -> str | None:
    """Decode a header's value, which is base64 where HTTP cannot carry the text."""
    found = _PACKED.fullmatch(value) if value else None
    if found is None:
        return value
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def forms(elicitation: Any) -> bool:
    """Whether the elicitation capability includes forms, which is the default without a mode."""
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def new_session(capabilities: Any) -> str:
    """Make a session id. It encodes whether the client supports elicitation, so the server stores nothing."""
    kind = "ask" if isinstance(capabilities, dict) and forms(capabilities.get("elicitation")) else "mute"
    return f"{kind}-{secrets.token_hex(16)}"


def session_of(request: Request) -> str:
    given = request.headers.get("mcp-session-id", "")
    return given if _SESSION.fullmatch(given) else ""
