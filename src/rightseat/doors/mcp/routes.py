"""MCP's only route. No state is kept between requests, except for calls in progress."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from rightseat.doors.mcp import catalogue
from rightseat.doors.mcp.call import turn_of
from rightseat.doors.mcp.exchange import Desk, Exchange
from rightseat.doors.mcp.probes import PROBES
from rightseat.doors.mcp.read import ask_of, envelope, new_session, session_of
from rightseat.doors.mcp.wire import (
    BAD,
    HANDSHAKE,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    SERVER_KEY,
    STATUS,
    Ask,
    Envelope,
    Id,
    Refused,
    encode,
    refusal,
    response,
    server,
)
from rightseat.errors import RightseatError
from rightseat.http.endpoint import SSE, Door, Host, Request, Route, piece, retry_header, whole
from rightseat.http.reply import Head, Reply
from rightseat.http.sse import COMMENT, frame
from rightseat.types.streams import closing

SESSION = b"mcp-session-id"
ABOUT = "Plugins' operations and flows are tools of their own; ask_NAME puts a request to an assistant."
ABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
desk = Desk()


def message(request: Request, host: Host) -> Reply:
    id: Id | None = None
    modern = False
    try:
        found = envelope(request.body)
        id = found.id
        if not found.method or found.id is None:
            return noted(found, request)
        ask = ask_of(found, request)
        modern = ask.modern
        return answer(ask, request, host)
    except Refused as refused:
        modern = modern or "mcp-method" in request.headers
        early = refused.code in (PARSE_ERROR, INVALID_REQUEST)
        status = STATUS.get(refused.code, BAD) if modern or early else 200
        return whole(status, encode(refusal(id, refused)))


def noted(found: Envelope, request: Request) -> Reply:
    """Handle a notification, or the client's response to an elicitation."""
    owner = request.owner.name
    if found.method == "notifications/cancelled":
        params = found.params or {}
        desk.stop(owner, session_of(request), str(params.get("requestId")))
    elif not found.method:
        desk.hear(owner, str(found.id), found.result or {"action": "cancel"})
    return nothing(202)


def answer(ask: Ask, request: Request, host: Host) -> Reply:
    if ask.method == "tools/call":
        turn = turn_of(ask, request, host)
        asks = ask.elicits and not ask.modern and ask.streams
        messages = Exchange(desk, ask, turn, host, asks=asks).messages()
        return streamed(messages) if ask.streams and (ask.token is not None or asks) else single(messages)
    if ask.method == "initialize" and not ask.modern:
        session = new_session(ask.params.get("capabilities"))
        return whole(200, encode(initialized(ask)), (SESSION, session.encode()))
    made = METHODS.get(ask.method)
    if made is None:
        raise Refused(METHOD_NOT_FOUND, f"There is no method {ask.method[:64]!r} here.")
    return whole(200, encode(made(ask, host)))


def initialized(ask: Ask) -> dict[str, Any]:
    """Answer `initialize` with the client's version if known, else with the newest handshake version."""
    wanted = ask.params.get("protocolVersion")
    version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
    result = {
        "protocolVersion": version,
        "capabilities": ABILITIES,
        "serverInfo": server(),
        "instructions": ABOUT,
    }
    return response(ask, result)


def discovered(ask: Ask, host: Host) -> dict[str, Any]:
    if not ask.modern:
        raise Refused(METHOD_NOT_FOUND, "server/discover belongs to 2026-07-28. Begin with initialize.")
    result = {
        "supportedVersions": [*MODERN, *HANDSHAKE],
        "capabilities": ABILITIES,
        "instructions": ABOUT,
        "_meta": {SERVER_KEY: server()},
    }
    return response(ask, result, cached=True)


def empty(ask: Ask, host: Host) -> dict[str, Any]:
    return response(ask, {})


METHODS: dict[str, Callable[[Ask, Host], dict[str, Any]]] = {
    "server/discover": discovered,
    "ping": empty,
    "logging/setLevel": empty,
    "tools/list": catalogue.tools,
    "resources/list": catalogue.resources,
    "resources/templates/list": catalogue.templates,
    "resources/read": catalogue.resource,
    "prompts/list": catalogue.prompts,
    "prompts/get": catalogue.prompt,
}


async def streamed(messages: AsyncIterator[dict[str, Any]]) -> Reply:
    yield Head(200, SSE, COMMENT)
    async with closing(messages):
        async for item in messages:
            yield frame(encode(item), event="message")


async def single(messages: AsyncIterator[dict[str, Any]]) -> Reply:
    """Send only the final response: the client did not ask for progress."""
    last: dict[str, Any] | None = None
    async with closing(messages):
        async for item in messages:
            last = item
    yield piece(200, encode(last)) if last else Head(202, whole=b"")


async def nothing(status: int) -> Reply:
    yield Head(status, whole=b"")


def refuse(error: RightseatError) -> Reply:
    code = INVALID_REQUEST if error.fault == "caller" else INTERNAL_ERROR
    body = encode(refusal(None, Refused(code, error.message, {"code": error.code})))
    return whole(error.status, body, *retry_header(error))


door = Door(
    name="mcp",
    routes=(Route("POST", "/mcp", message, body=Envelope, summary="One MCP message", quiet=True),),
    refuse=refuse,
    hint=lambda base: f"claude mcp add --transport http rightseat {base}/mcp",
    probes=PROBES,
)
