"""Routes of the CopilotKit door. One URL serves all clients: a body with `query` is GraphQL (1.0 … 1.10.6),
one with `method` is the single endpoint (1.50 and later)."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from rightseat.doors.copilotkit import agui, agui_threads, browser, resources
from rightseat.doors.copilotkit.agui import PATH
from rightseat.doors.copilotkit.answer import CLIENT_HEADER, answer_request
from rightseat.doors.copilotkit.failures import refuse, refuse_graphql
from rightseat.doors.copilotkit.probes import PROBES
from rightseat.doors.copilotkit.wire import CopilotKitBody
from rightseat.errors import CallerError, RightseatError
from rightseat.http.agui.write import make_error_reply as refuse_events
from rightseat.http.endpoint import Door, Host, Request, Route, decode_body
from rightseat.http.reply import Reply

EVENT_STREAM = "text/event-stream"
BATCH_REFUSED = "Several requests in one body are not taken. Send them one by one."


def handle_post(request: Request, host: Host) -> Reply:
    if request.body.lstrip()[:1] == b"[":
        raise CallerError(BATCH_REFUSED)
    body = decode_body(request.body, CopilotKitBody)
    if body.query is not UNSET:
        return answer_request(body, request, host)
    if body.method is not UNSET:
        return agui.dispatch_method(request, host)
    raise CallerError("Send a GraphQL request with a `query`, or a `method`.", param="method")


def handle_get(request: Request, host: Host) -> Reply:
    """Handle a GraphQL query in the URL."""
    if "query" in request.query:
        variables = msgspec.Raw(request.query.get("variables", "").encode())
        name = request.query.get("operationName")
        return answer_request(CopilotKitBody(request.query["query"], name, variables), request, host)
    raise browser.make_missing_query_error()


def refuse_as(error: RightseatError, headers: dict[str, str]) -> Reply:
    if CLIENT_HEADER in headers:
        return refuse_graphql(error)
    # AG-UI clients show the whole body to the user, so it has only AG-UI's fields.
    return refuse_events(error) if headers.get("accept") == EVENT_STREAM else refuse(error)


door = Door(
    name="copilotkit",
    routes=(
        Route("POST", PATH, handle_post, body_type=CopilotKitBody, summary="CopilotKit's runtime"),
        *browser.BROWSER_ROUTES,
        Route("GET", PATH, handle_get, summary="A GraphQL query"),
        *agui.AGUI_ROUTES,
        *agui_threads.THREAD_ROUTES,
        *resources.CLOUD_ROUTES,
    ),
    format_error=refuse,
    format_error_for=refuse_as,
    hint=lambda base: f'<CopilotKit runtimeUrl="{base}{PATH}">',
    probes=PROBES,
)
