"""Routes of the CopilotKit door. One URL serves all clients: a body with `query` is GraphQL (1.0 … 1.10.6),
one with `method` is the single endpoint (1.50 and later)."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from rightseat.doors.copilotkit import agui, agui_threads, browser, resources
from rightseat.doors.copilotkit.agui import PATH
from rightseat.doors.copilotkit.answer import CLIENT, answer
from rightseat.doors.copilotkit.failures import refuse, refuse_graphql
from rightseat.doors.copilotkit.probes import PROBES
from rightseat.doors.copilotkit.wire import Posted
from rightseat.errors import CallerError, RightseatError
from rightseat.http.agui.write import refuse as refuse_events
from rightseat.http.endpoint import Door, Host, Request, Route, decode
from rightseat.http.reply import Reply

EVENTS = "text/event-stream"
BATCH = "Several requests in one body are not taken. Send them one by one."


def post(request: Request, host: Host) -> Reply:
    if request.body.lstrip()[:1] == b"[":
        raise CallerError(BATCH)
    posted = decode(request.body, Posted)
    if posted.query is not UNSET:
        return answer(posted, request, host)
    if posted.method is not UNSET:
        return agui.single(request, host)
    raise CallerError("Send a GraphQL request with a `query`, or a `method`.", param="method")


def get(request: Request, host: Host) -> Reply:
    """Handle a GraphQL query in the URL."""
    if "query" in request.query:
        variables = msgspec.Raw(request.query.get("variables", "").encode())
        name = request.query.get("operationName")
        return answer(Posted(request.query["query"], name, variables), request, host)
    raise browser.no_query()


def refuse_as(error: RightseatError, headers: dict[str, str]) -> Reply:
    if CLIENT in headers:
        return refuse_graphql(error)
    # AG-UI clients show the whole body to the user, so it has only AG-UI's fields.
    return refuse_events(error) if headers.get("accept") == EVENTS else refuse(error)


door = Door(
    name="copilotkit",
    routes=(
        Route("POST", PATH, post, body=Posted, summary="CopilotKit's runtime"),
        *browser.ROUTES,
        Route("GET", PATH, get, summary="A GraphQL query"),
        *agui.ROUTES,
        *agui_threads.ROUTES,
        *resources.ROUTES,
    ),
    refuse=refuse,
    refuse_as=refuse_as,
    hint=lambda base: f'<CopilotKit runtimeUrl="{base}{PATH}">',
    probes=PROBES,
)
