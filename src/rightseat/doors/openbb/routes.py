"""OpenBB's routes: agents.json, copilots.json, the query for both client generations, and feedback."""

from __future__ import annotations

import logging

import msgspec

from rightseat.doors.openbb.cards import make_agents_json, make_copilots_json
from rightseat.doors.openbb.probes import PROBES
from rightseat.doors.openbb.read import read_query
from rightseat.doors.openbb.wire import OpenBBFeedback, OpenBBQuery
from rightseat.doors.openbb.write import refuse, stream_answer
from rightseat.http.endpoint import Door, Host, Request, Route, decode_body, make_reply
from rightseat.http.reply import Reply

log = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode
# Pages on this machine are allowed anyway; these origins send credentials.
ORIGINS = (
    "https://pro.openbb.co",
    "https://pro.openbb.dev",
    "http://localhost",
    "http://localhost:1420",
    "http://localhost:5050",
)


def post_query(request: Request, host: Host) -> Reply:
    return stream_answer(read_query(request, host), host)


def get_agents_json(request: Request, host: Host) -> Reply:
    return make_reply(200, encode(make_agents_json(host, request.base)))


def get_copilots_json(request: Request, host: Host) -> Reply:
    return make_reply(200, encode(make_copilots_json(host, request.base)))


def post_feedback(request: Request, host: Host) -> Reply:
    """Log a vote with the user's comment, without the rated answer."""
    body = decode_body(request.body, OpenBBFeedback)
    entry = {
        "vote": body.vote,
        "tags": body.tags or [],
        "comment": (body.user_comment or "")[:500],
        "chat": request.headers.get("x-trace-id", body.trace_id or "")[:128],
    }
    log.info("feedback: %s", encode(entry).decode())
    return make_reply(200, b'{"status":"ok"}')


door = Door(
    name="openbb",
    routes=(
        # These need a key if keys are set: the dialog sends its headers here and reports a wrong one.
        Route("GET", "/agents.json", get_agents_json, summary="Agents, for OpenBB Workspace"),
        Route("GET", "/copilots.json", get_copilots_json, summary="Copilots, for OpenBB Terminal Pro"),
        Route("POST", "/v1/query", post_query, body_type=OpenBBQuery, summary="Ask the default assistant"),
        Route(
            "POST",
            "/v1/query/{assistant:path}",
            post_query,
            body_type=OpenBBQuery,
            summary="Ask one of the assistants",
        ),
        Route("POST", "/v1/feedback", post_feedback, body_type=OpenBBFeedback, summary="A vote on an answer"),
    ),
    format_error=refuse,
    hint=lambda base: f"OpenBB Workspace, Add Agent: {base}",
    probes=PROBES,
    origins=ORIGINS,
)
