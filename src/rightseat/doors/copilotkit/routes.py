"""Routes of the CopilotKit door. One URL serves all clients: a body with `query` is GraphQL (1.0 … 1.10.6),
one with `method` is the single endpoint (1.50 and later)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import UNSET

from rightseat.doors.copilotkit import agui_endpoint, graphiql_page, threads
from rightseat.doors.copilotkit.agui_endpoint import PATH
from rightseat.doors.copilotkit.failures import refuse, refuse_graphql
from rightseat.doors.copilotkit.graphql_endpoint import CLIENT_HEADER, answer_request
from rightseat.doors.copilotkit.wire import CopilotKitBody
from rightseat.errors import CallerError, RightseatError
from rightseat.http.agui.write import make_error_reply
from rightseat.http.endpoint import Door, Host, Probe, Request, Route, decode_body
from rightseat.http.reply import Reply
from rightseat.types.text import decode_or_none

EVENT_STREAM = "text/event-stream"
BATCH_REFUSED = "Several requests in one body are not taken. Send them one by one."
AGENTS_REQUEST = {"query": "query availableAgents { availableAgents { agents { name id description } } }"}

# A short form of the clients' document, with deferred status and streamed text.
DOCUMENT = """mutation generateCopilotResponse($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    threadId runId __typename
    ... on CopilotResponse @defer {
      status {
        ... on BaseResponseStatus { code __typename }
        ... on FailedResponseStatus { reason details __typename }
        __typename
      }
    }
    messages @stream {
      __typename
      ... on BaseMessageOutput { id createdAt }
      ... on TextMessageOutput { content @stream role }
    }
  }
}"""

SAMPLE_MESSAGE = {"content": "Count from one to five, in words.", "role": "user"}
RUN_INPUT = {
    "metadata": {"requestType": "Chat"},
    "frontend": {"actions": []},
    "messages": [{"id": "1", "createdAt": "2025-01-01T00:00:00.000Z", "textMessage": SAMPLE_MESSAGE}],
}
RUN_REQUEST = {"query": DOCUMENT, "variables": {"data": RUN_INPUT}}


def check_agents(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    match decode_or_none(body):
        case {"errors": [{**error}, *_]}:
            return f"HTTP {status}: {error.get('message')}"
        case {"data": {"availableAgents": {}}} if status == 200:
            return None
        case {}:
            return f"HTTP {status}, and no list of agents"
        case _:
            return f"HTTP {status}, and the answer is no JSON"


def check_run(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200 or not headers.get("content-type", "").startswith("multipart/mixed"):
        return check_agents(status, headers, body) or "the answer is not streamed in parts"
    try:
        frames = [msgspec.json.decode(part.split(b"\r\n\r\n", 1)[1]) for part in body.split(b"\r\n---")[1:-1]]
        entries = [entry for frame in frames for entry in frame.get("incremental", [])]
        statuses = [e["data"]["status"] for e in entries if "status" in (e.get("data") or {})]
    except (msgspec.MsgspecError, IndexError, AttributeError, TypeError, KeyError, UnicodeDecodeError):
        return "the parts cannot be read"
    if not frames or frames[-1].get("hasNext") is not False or not body.endswith(b"\r\n-----\r\n"):
        return "the answer ends too early"
    failed = next((s for s in statuses if s.get("code") == "Failed"), None)
    if failed is not None:
        return f"the run failed: {(failed.get('details') or {}).get('description')}"
    return None if statuses else "the run has no status"


THREAD_ID = re.compile(rb'"threadId":\s*"([\w-]{1,128})"')


def get_left_thread(body: bytes) -> str | None:
    match = THREAD_ID.search(body)
    return threads.THREAD_PATH.format(thread=match[1].decode()) if match else None


PROBES = (
    Probe("agents", "POST", PATH, check_agents, msgspec.json.encode(AGENTS_REQUEST)),
    Probe("run", "POST", PATH, check_run, msgspec.json.encode(RUN_REQUEST), get_left_thread=get_left_thread),
)


def handle_post(request: Request, host: Host) -> Reply:
    if request.body.lstrip()[:1] == b"[":
        raise CallerError(BATCH_REFUSED)
    body = decode_body(request.body, CopilotKitBody)
    if body.query is not UNSET:
        return answer_request(body, request, host)
    if body.method is not UNSET:
        return agui_endpoint.dispatch_method(request, host)
    raise CallerError("Send a GraphQL request with a `query`, or a `method`.", param="method")


def handle_get(request: Request, host: Host) -> Reply:
    """Handle a GraphQL query in the URL."""
    if "query" in request.query:
        variables = msgspec.Raw(request.query.get("variables", "").encode())
        name = request.query.get("operationName")
        return answer_request(CopilotKitBody(request.query["query"], name, variables), request, host)
    raise graphiql_page.make_missing_query_error()


def refuse_as(error: RightseatError, headers: dict[str, str]) -> Reply:
    if CLIENT_HEADER in headers:
        return refuse_graphql(error)
    # AG-UI clients show the whole body to the user, so it has only AG-UI's fields.
    return make_error_reply(error) if headers.get("accept") == EVENT_STREAM else refuse(error)


door = Door(
    name="copilotkit",
    routes=(
        Route("POST", PATH, handle_post, body_type=CopilotKitBody, summary="CopilotKit's runtime"),
        *graphiql_page.BROWSER_ROUTES,
        Route("GET", PATH, handle_get, summary="A GraphQL query"),
        *agui_endpoint.AGUI_ROUTES,
        *threads.THREAD_ROUTES,
        *agui_endpoint.CLOUD_ROUTES,
    ),
    format_error=refuse,
    format_error_for=refuse_as,
    hint=lambda base: f'<CopilotKit runtimeUrl="{base}{PATH}">',
    keyed_hint=lambda base: (
        f'<CopilotKit runtimeUrl="{base}{PATH}" '
        "headers={{ Authorization: `Bearer ${process.env.RIGHTSEAT_KEY}` }}>"
    ),
    probes=PROBES,
)
