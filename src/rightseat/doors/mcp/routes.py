"""MCP's routes. No state is kept between requests, except for calls in progress."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec

from rightseat.doors.mcp import catalog, wire
from rightseat.doors.mcp.active_calls import CallMessage, McpCallRegistry
from rightseat.doors.mcp.read import get_session_id, make_session_id, parse_message, parse_request
from rightseat.doors.mcp.tool_call import ServedToolCall, make_turn
from rightseat.doors.mcp.wire import JsonRpcError, JsonRpcMessage, McpRequest, make_response
from rightseat.errors import INTERNAL_ERROR, CallerError, NotFound, RightseatError
from rightseat.http.endpoint import (
    SSE_HEADERS,
    Door,
    Host,
    Probe,
    Request,
    Route,
    format_error_headers,
    get_error_url,
    make_full_response,
    make_reply,
)
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.streams import closing
from rightseat.types.text import decode_or_none


def check_tool_list(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    match decode_or_none(body):
        case {"error": {**error}}:
            return f"HTTP {status}: {error.get('message')}"
        case {"result": {"tools": [_, *_]}} if status == 200:
            return None
        case {} if status == 200:
            return "no tool is listed"
        case _:
            return f"HTTP {status}, and no JSON-RPC answer"


PROBE_REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PROBES = (Probe("tools", "POST", "/mcp", check_tool_list, msgspec.json.encode(PROBE_REQUEST)),)
SESSION_HEADER = b"mcp-session-id"

INSTRUCTIONS = "Plugins' operations and flows are tools of their own; ask_NAME puts a request to an assistant."

CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
registry = McpCallRegistry()


def handle_message(request: Request, host: Host) -> Reply:
    id: wire.RequestId | None = None
    stateless = False
    try:
        rpc_message = parse_message(request.body)
        id = rpc_message.id
        if not rpc_message.method or rpc_message.id is None:
            return handle_notification(rpc_message, request, host)
        rpc = parse_request(rpc_message, request)
        stateless = rpc.stateless
        return handle_request(rpc, request, host)
    except JsonRpcError as rpc_error:
        report_refusal(to_rightseat_error(rpc_error))
        stateless = stateless or "mcp-method" in request.headers
        early = rpc_error.code in (wire.PARSE_ERROR, wire.INVALID_REQUEST)
        status = wire.HTTP_STATUS.get(rpc_error.code, wire.BAD_REQUEST) if stateless or early else 200
        return make_reply(status, wire.encode(wire.make_error_response(id, rpc_error)))


def handle_notification(rpc_message: JsonRpcMessage, request: Request, host: Host) -> Reply:
    """Handle a notification, or the client's response to an elicitation."""
    session = get_session_id(request)
    if rpc_message.method == "notifications/cancelled":
        params = rpc_message.params or {}
        return deliver_message(CallMessage("cancel", session, str(params.get("requestId"))), request, host)
    if not rpc_message.method:
        result = rpc_message.result or {"action": "cancel"}
        return deliver_message(CallMessage("answer", session, str(rpc_message.id), result), request, host)
    return send_accepted()


def end_session(request: Request, host: Host) -> Reply:
    """Cancel the calls of a session that its client ends. The session has no other state."""
    return deliver_message(CallMessage("end", get_session_id(request)), request, host, status=204)


async def deliver_message(message: CallMessage, request: Request, host: Host, status: int = 202) -> Reply:
    await registry.deliver(request.owner, message, host.threads)
    yield ResponseStart(status, body=b"")


def handle_request(rpc: McpRequest, request: Request, host: Host) -> Reply:
    if rpc.method == "tools/call":
        turn = make_turn(rpc, request, host)
        registry.listen(host.threads)
        asks_client = rpc.supports_elicitation and not rpc.stateless and rpc.accepts_stream
        messages = ServedToolCall(registry, rpc, turn, host, asks_client=asks_client).stream_messages()
        streams = rpc.accepts_stream and (rpc.progress_token is not None or asks_client)
        return stream_messages(messages, rpc.id) if streams else send_response(messages)
    if rpc.method == "initialize" and not rpc.stateless:
        session = make_session_id(rpc.params.get("capabilities"))
        return make_reply(200, wire.encode(initialize(rpc)), (SESSION_HEADER, session.encode()))
    method = METHODS.get(rpc.method)
    if method is None:
        raise JsonRpcError(wire.METHOD_NOT_FOUND, f"There is no method {rpc.method[:64]!r} here.")
    return make_reply(200, wire.encode(method(rpc, host)))


def initialize(rpc: McpRequest) -> dict[str, Any]:
    """Answer `initialize` with the client's version if known, else with the newest handshake version."""
    version = rpc.params.get("protocolVersion")
    result = {
        "protocolVersion": version if version in wire.HANDSHAKE_VERSIONS else wire.HANDSHAKE_VERSIONS[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": wire.server_info(),
        "instructions": INSTRUCTIONS,
    }
    return make_response(rpc, result)


def discover_server(rpc: McpRequest, host: Host) -> dict[str, Any]:
    if not rpc.stateless:
        raise JsonRpcError(wire.METHOD_NOT_FOUND, "server/discover belongs to 2026-07-28. Begin with initialize.")
    result = {
        "supportedVersions": [*wire.STATELESS_VERSIONS, *wire.HANDSHAKE_VERSIONS],
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "_meta": {wire.SERVER_KEY: wire.server_info()},
    }
    return make_response(rpc, result, cacheable=True)


def reply_empty_result(rpc: McpRequest, host: Host) -> dict[str, Any]:
    return make_response(rpc, {})


METHODS: dict[str, Callable[[McpRequest, Host], dict[str, Any]]] = {
    "server/discover": discover_server,
    "ping": reply_empty_result,
    "logging/setLevel": reply_empty_result,
    "tools/list": catalog.list_tools,
    "resources/list": catalog.list_resources,
    "resources/templates/list": catalog.list_resource_templates,
    "resources/read": catalog.read_resource,
    "prompts/list": catalog.list_prompts,
    "prompts/get": catalog.get_prompt,
}


async def stream_messages(messages: AsyncIterator[dict[str, Any]], id: wire.RequestId) -> Reply:
    rpc_error = JsonRpcError(wire.INTERNAL_ERROR, INTERNAL_ERROR.message, {"code": INTERNAL_ERROR.code})
    failure = format_event(wire.encode(wire.make_error_response(id, rpc_error)), event="message")
    yield ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT, failure=failure)
    async with closing(messages):
        async for item in messages:
            yield format_event(wire.encode(item), event="message")


async def send_response(messages: AsyncIterator[dict[str, Any]]) -> Reply:
    """Send only the final response: the client did not ask for progress."""
    last: dict[str, Any] | None = None
    async with closing(messages):
        async for item in messages:
            last = item
    yield make_full_response(200, wire.encode(last)) if last else ResponseStart(202, body=b"")


async def send_accepted() -> Reply:
    yield ResponseStart(202, body=b"")


def to_rightseat_error(rpc_error: JsonRpcError) -> RightseatError:
    is_unknown = rpc_error.code in (wire.METHOD_NOT_FOUND, wire.RESOURCE_NOT_FOUND)
    return NotFound(str(rpc_error)) if is_unknown else CallerError(str(rpc_error))


def refuse(error: RightseatError) -> Reply:
    code = wire.INVALID_REQUEST if error.fault == "caller" else wire.INTERNAL_ERROR
    url = get_error_url(error)
    data = {"code": error.code} | ({"doc_url": url} if url else {})
    body = wire.encode(wire.make_error_response(None, JsonRpcError(code, error.message, data)))
    return make_reply(error.status, body, *format_error_headers(error))


door = Door(
    name="mcp",
    routes=(
        Route("POST", "/mcp", handle_message, body_type=JsonRpcMessage, summary="One MCP message", returns_202=True),
        Route("DELETE", "/mcp", end_session, summary="End the calls of an MCP session", returns_204=True),
    ),
    format_error=refuse,
    hint=lambda base: f"claude mcp add --transport http rightseat {base}/mcp",
    keyed_hint=lambda base: (
        f'claude mcp add --transport http rightseat {base}/mcp --header "Authorization: Bearer $RIGHTSEAT_KEY"'
    ),
    probes=PROBES,
)
