"""OpenBB's routes: agents.json, copilots.json, the query for both client generations, and feedback."""

from __future__ import annotations

import logging

import msgspec

from rightseat.doors.openbb.cards import agents, copilots
from rightseat.doors.openbb.probes import PROBES
from rightseat.doors.openbb.read import read
from rightseat.doors.openbb.wire import Feedback, Query
from rightseat.doors.openbb.write import refuse, stream
from rightseat.http.endpoint import Door, Host, Request, Route, decode, whole
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


def query(request: Request, host: Host) -> Reply:
    return stream(read(request, host), host)


def today(request: Request, host: Host) -> Reply:
    return whole(200, encode(agents(host, request.base)))


def then(request: Request, host: Host) -> Reply:
    return whole(200, encode(copilots(host, request.base)))


def feedback(request: Request, host: Host) -> Reply:
    """Log a vote with the user's comment, without the rated answer."""
    given = decode(request.body, Feedback)
    told = {
        "vote": given.vote,
        "tags": given.tags or [],
        "comment": (given.user_comment or "")[:500],
        "chat": request.headers.get("x-trace-id", given.trace_id or "")[:128],
    }
    log.info("feedback: %s", encode(told).decode())
    return whole(200, b'{"status":"ok"}')


door = Door(
    name="openbb",
    routes=(
        # These need a key if keys are set: the dialog sends its headers here and reports a wrong one.
        Route("GET", "/agents.json", today, summary="Agents, for OpenBB Workspace"),
        Route("GET", "/copilots.json", then, summary="Copilots, for OpenBB Terminal Pro"),
        Route("POST", "/v1/query", query, body=Query, summary="Ask the default assistant"),
        Route("POST", "/v1/query/{assistant:path}", query, body=Query, summary="Ask one of the assistants"),
        Route("POST", "/v1/feedback", feedback, body=Feedback, summary="A vote on an answer"),
    ),
    refuse=refuse,
    hint=lambda base: f"OpenBB Workspace, Add Agent: {base}",
    probes=PROBES,
    origins=ORIGINS,
)
