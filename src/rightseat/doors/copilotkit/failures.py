"""Errors in the form of CopilotKit 1.x: `extensions.code` selects the message, `visibility` its place."""

from __future__ import annotations

from typing import Any

import msgspec

from rightseat import errors
from rightseat.errors import CallerError, RightseatError
from rightseat.http.agui.write import TITLES, error_title
from rightseat.http.endpoint import format_error_headers, make_reply
from rightseat.http.reply import Reply
from rightseat.runtime.incidents import current_request
from rightseat.types.events import RunFailed

encode = msgspec.json.Encoder().encode
Failure = RightseatError | RunFailed
# The clients' error codes with their statuses. Two are never sent: VERSION_MISMATCH is the client's own,
# UPGRADE_REQUIRED_ERROR is of CopilotKit's cloud.
CODE_STATUS = {
    "NETWORK_ERROR": 503,
    "NOT_FOUND": 404,
    "AGENT_NOT_FOUND": 500,
    "API_NOT_FOUND": 404,
    "REMOTE_ENDPOINT_NOT_FOUND": 404,
    "AUTHENTICATION_ERROR": 401,
    "MISUSE": 400,
    "CONFIGURATION_ERROR": 400,
    "MISSING_PUBLIC_API_KEY_ERROR": 400,
    "UNKNOWN": 500,
}
# CopilotKit's error class of a code, for `extensions.name`; CopilotKitError is that of any other.
CLASS_NAMES = {
    "NETWORK_ERROR": "CopilotKitLowLevelError",
    "API_NOT_FOUND": "CopilotKitApiDiscoveryError",
    "REMOTE_ENDPOINT_NOT_FOUND": "CopilotKitApiDiscoveryError",
    "AGENT_NOT_FOUND": "CopilotKitAgentDiscoveryError",
    "MISUSE": "CopilotKitMisuseError",
}
# Our error class → the client's code; the nearest base class counts.
CLIENT_CODES: dict[type[BaseException], str] = {
    errors.Unauthorized: "AUTHENTICATION_ERROR",
    errors.AgentNotFound: "AGENT_NOT_FOUND",
    errors.NotFound: "NOT_FOUND",
    errors.MethodNotAllowed: "API_NOT_FOUND",
    errors.GuardrailRefused: "UNKNOWN",
    errors.PublicKeyRequired: "MISSING_PUBLIC_API_KEY_ERROR",
    errors.RateLimited: "NETWORK_ERROR",
    errors.TooManyRuns: "NETWORK_ERROR",
    errors.SpendExceeded: "NETWORK_ERROR",
    errors.CallerError: "CONFIGURATION_ERROR",
    errors.UpstreamRejected: "CONFIGURATION_ERROR",
    errors.UpstreamDenied: "AUTHENTICATION_ERROR",
    errors.ContentRefused: "UNKNOWN",
    errors.OutputGuarded: "UNKNOWN",
    errors.DiscoveryFailed: "REMOTE_ENDPOINT_NOT_FOUND",
    errors.UpstreamError: "NETWORK_ERROR",
    errors.ConfigError: "CONFIGURATION_ERROR",
    errors.Misused: "MISUSE",
    errors.Unavailable: "NETWORK_ERROR",
    errors.RightseatError: "UNKNOWN",
}
AGENT_PARAMS = ("agentName", "agentId")


def get_client_code(error: Failure) -> str:
    kind = errors.error_class_for(error.code, error.fault)
    code = next(CLIENT_CODES[base] for base in kind.__mro__ if base in CLIENT_CODES)
    if code != "NOT_FOUND":
        return code
    if error.param in AGENT_PARAMS:
        return "AGENT_NOT_FOUND"
    # A NotFound without `param`, before a run, is an unknown path.
    return "API_NOT_FOUND" if isinstance(error, RightseatError) and error.param is None else code


def make_extensions(error: Failure) -> dict[str, Any]:
    kind = errors.error_class_for(error.code, error.fault)
    code = get_client_code(error)
    base = getattr(current_request.get(), "base", "")
    return {
        "name": CLASS_NAMES.get(code, "CopilotKitError"),
        "statusCode": CODE_STATUS[code],
        "code": code,
        "visibility": kind.visibility,
        "severity": kind.severity,
        "troubleshootingUrl": f"{base}{kind.link()}" if base and error.code == kind.code else None,
        "originalErrorType": error.code,
        "originalError": {"message": error.message},
    }


def format_error(error: Failure, path: list[str] | None = None) -> dict[str, Any]:
    """Format one entry of `errors`."""
    place = {"path": path} if path else {}
    return {"message": error.message, **place, "extensions": make_extensions(error)}


def make_error_details(error: RunFailed) -> dict[str, Any]:
    """Make the `details` of a FailedResponseStatus, by which a started run fails."""
    extensions = make_extensions(error)
    names = ("code", "statusCode", "severity", "visibility", "originalErrorType")
    original_error = {name: extensions[name] for name in names} | {"extensions": extensions}
    return {"description": error.message, "originalError": original_error}


def make_error_body(error: RightseatError, title: str) -> dict[str, Any]:
    """Make an error body that has the fields of both client generations."""
    return {"error": title, "message": error.message, "code": error.code, "errors": [format_error(error)]}


def refuse(error: RightseatError) -> Reply:
    """Answer an error before the client's generation is known."""
    body = make_error_body(error, error_title(error))
    return make_reply(error.status, encode(body), *format_error_headers(error))


def make_invalid_request_body(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Make the body for an invalid GraphQL request, with a message for clients that do not read `errors`."""
    return {"error": TITLES[400], "message": entries[0]["message"], "code": CallerError.code, "errors": entries}


def refuse_graphql(error: RightseatError) -> Reply:
    """Answer a GraphQL client with status 200: it shows no message for any other status."""
    return make_reply(200, encode({"errors": [format_error(error)], "data": None}), *format_error_headers(error))
