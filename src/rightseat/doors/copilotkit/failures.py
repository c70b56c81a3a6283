"""What went wrong, as the clients 1.x show it: `extensions.code` decides the words, `visibility` where."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat.agui.write import TITLES, title
from rightseat.door import retry_header, whole
from rightseat.errors import CallerError, NotFound, RightseatError
from rightseat.events import RunFailed
from rightseat.pump import Reply

encode = msgspec.json.Encoder().encode
Failure = RightseatError | RunFailed
# Ours → the client's code and the status that it has there.
KNOWN = {
    "unauthorized": ("AUTHENTICATION_ERROR", 401),
    "upstream_denied": ("AUTHENTICATION_ERROR", 401),
    "upstream_rejected": ("CONFIGURATION_ERROR", 400),
    "config": ("CONFIGURATION_ERROR", 400),
}
BY_FAULT = {
    "caller": ("CONFIGURATION_ERROR", 400),
    "upstream": ("NETWORK_ERROR", 503),
    "ours": ("UNKNOWN", 500),
}
TOAST = "UNKNOWN"


def coded(error: Failure) -> tuple[str, int]:
    if isinstance(error, NotFound) and error.param == "agentName":
        return "AGENT_NOT_FOUND", 500
    if error.status in (429, 503):
        return "NETWORK_ERROR", 503
    return KNOWN.get(error.code) or BY_FAULT[error.fault]


def extensions(error: Failure) -> dict[str, Any]:
    code, status = coded(error)
    return {
        "name": "CopilotError",
        "statusCode": status,
        "code": code,
        "visibility": "toast" if code == TOAST else "banner",
        "severity": "critical",
        "troubleshootingUrl": None,
        "originalErrorType": error.code,
        "originalError": {"message": error.message},
    }


def listed(error: Failure, path: list[str] | None = None) -> dict[str, Any]:
    """One entry of `errors`."""
    place = {"path": path} if path else {}
    return {"message": error.message, **place, "extensions": extensions(error)}


def details(error: RunFailed) -> dict[str, Any]:
    """What a FailedResponseStatus tells: a run that has begun fails in its own answer."""
    more = extensions(error)
    told = {
        name: more[name] for name in ("code", "statusCode", "severity", "visibility", "originalErrorType")
    }
    return {"description": error.message, "originalError": {**told, "extensions": more}}


def told(error: RightseatError, title: str) -> dict[str, Any]:
    """For clients of both generations: each finds its own fields."""
    return {"error": title, "message": error.message, "code": error.code, "errors": [listed(error)]}


def refuse(error: RightseatError) -> Reply:
    """What is refused before anyone knows which generation asks."""
    body = told(error, title(error))
    return whole(error.status, encode(body), *retry_header(error))


def unfit(errors: list[dict[str, Any]]) -> dict[str, Any]:
    """A request that GraphQL refuses. As every refusal at this URL: whoever reads no `errors` finds words."""
    return {"error": TITLES[400], "message": errors[0]["message"], "code": CallerError.code, "errors": errors}


def refuse_graphql(error: RightseatError) -> Reply:
    """For a client that says it speaks GraphQL: of any status but 200 it shows its user no word."""
    return whole(200, encode({"errors": [listed(error)], "data": None}), *retry_header(error))
