"""AG-UI for CopilotKit 1.50 and later, on stored threads: one endpoint with a `method`, or one route per method.

Runs are detached: a client that leaves cancels nothing, `stop` stops a run, `connect` replays a thread and
follows its active run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from rightseat.doors.copilotkit import threads
from rightseat.doors.copilotkit.debug_events import report_run, stream_debug_events
from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.doors.copilotkit.read import describe_agent
from rightseat.doors.copilotkit.speech import transcribe, transcribe_body
from rightseat.errors import CallerError, MethodNotAllowed, NotConfigured, NotFound, Unavailable
from rightseat.http.agui import replay
from rightseat.http.agui.read import RunAgentInput, parse_turn, require_agent
from rightseat.http.agui.write import stream_run
from rightseat.http.endpoint import Host, Request, Route, decode_body, make_full_response, make_reply
from rightseat.http.reply import Reply, ResponseStart
from rightseat.types.events import CallArgs, CallEnd, CallStart, Event, RunFinished, RunStarted
from rightseat.types.threads import StopPending
from rightseat.types.turn import Turn

encode = msgspec.json.Encoder().encode
PATH = "/copilotkit"
# Suggestions are a call of this tool.
SUGGEST_TOOL = "copilotkitSuggest"
SUGGEST_CALL_ID = "call_suggestions"
MAX_TITLE = 40
STOPPED = {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"}
STOP_PENDING = {"stopped": False, "pending": True, "message": "The run was asked to stop and has not ended yet."}
THREAD_ENDPOINTS = {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False}
NO_CLOUD = NotConfigured("This belongs to CopilotKit's cloud, which this server does not use.")
TRANSCRIBE = "transcribe"
AGENT_METHODS = {
    "agent/run": "Run an agent on a kept thread",
    "agent/connect": "Replay a thread and follow its run",
    "agent/suggest": "Suggestions, beside the thread",
}


def prepare_suggestions(turn: Turn, host: Host) -> AsyncIterator[Event] | None:
    """Stream the assistant's configured suggestions at the start of a chat; None if the model must make them."""
    description = host.describe(turn.assistant or "")
    questions = description.suggestions if description else ()
    at_start = sum(message.role == "user" for message in turn.messages) <= 1
    has_tool = any(tool.name == SUGGEST_TOOL for tool in turn.tools)
    return stream_suggestions(turn, questions) if questions and has_tool and at_start else None


async def stream_suggestions(turn: Turn, questions: tuple[str, ...]) -> AsyncIterator[Event]:
    suggestions = [{"title": question[:MAX_TITLE], "message": question} for question in questions[:5]]
    yield RunStarted(turn.thread, turn.run)
    yield CallStart(SUGGEST_CALL_ID, SUGGEST_TOOL, "", True)
    yield CallArgs(SUGGEST_CALL_ID, msgspec.json.encode({"suggestions": suggestions}).decode())
    yield CallEnd(SUGGEST_CALL_ID)
    yield RunFinished("calls", None, (SUGGEST_CALL_ID,))


def refuse_cloud(request: Request, host: Host) -> Reply:
    return make_reply(422, encode(make_error_body(NO_CLOUD, "Not available")))


async def get_inspector_metadata(request: Request, host: Host) -> Reply:
    """Answer CopilotKit's inspector with 204: there is no metadata."""
    yield ResponseStart(204, ((b"cache-control", b"no-store, private"),))


METADATA_PATH = f"{PATH}/inspector-metadata"
# /info tells clients that these are not available.
CLOUD_ROUTES = (
    Route("POST", f"{PATH}/threads/subscribe", refuse_cloud, summary="Of CopilotKit's cloud: answers 422"),
    Route("POST", f"{PATH}/annotate", refuse_cloud, summary="Of CopilotKit's cloud: answers 422"),
    Route("GET", f"{PATH}/cpk-debug-events", stream_debug_events, summary="The events of all runs, where it is open"),
    Route("GET", METADATA_PATH, get_inspector_metadata, summary="Nothing is told here", returns_204=True),
)


def dispatch_resource(method: str, target: str, body: bytes, request: Request, host: Host) -> Reply:
    """Dispatch a resource request that came in the body of the single endpoint."""
    path, _, query = target.partition("?")
    # Paths without parameters match first.
    routes = sorted((*threads.THREAD_ROUTES, *CLOUD_ROUTES), key=lambda route: "{" in route.path)
    full_path = PATH + path
    matches = [(route, params) for route in routes if (params := match_path(route.path, full_path)) is not None]
    for route, params in matches:
        if route.method == method.upper():
            fields = {"method": route.method, "path": full_path, "params": params, "body": body}
            return route.handler(replace(request, query=dict(parse_qsl(query)), **fields), host)
    if matches:
        allowed = ", ".join(sorted({route.method for route, _ in matches}))
        raise MethodNotAllowed(f"{path[:100]} supports only {allowed}.", allow=allowed)
    raise NotFound(f"There is nothing at {path[:100]!r}.", param="params.path")


def match_path(route: str, path: str) -> dict[str, str] | None:
    """Return the path parameters if the route matches, else None."""
    route_parts, path_parts = route.split("/"), path.split("/")
    if len(route_parts) != len(path_parts):
        return None
    params = {name[1:-1]: unquote(part) for name, part in zip(route_parts, path_parts, strict=True) if name[:1] == "{"}
    fixed = all(name == part for name, part in zip(route_parts, path_parts, strict=True) if name[:1] != "{")
    return params if fixed and all(params.values()) else None


class SingleEndpointParams(Struct, rename="camel"):
    agent_id: str = ""
    thread_id: str = ""
    path: str = ""
    http_method: str = "GET"


class SingleEndpointRequest(Struct):
    """The body of the single endpoint; a missing `body` is an empty object."""

    method: str
    params: SingleEndpointParams | None = None
    body: msgspec.Raw = field(default_factory=lambda: msgspec.Raw(b"{}"))


def get_info(request: Request, host: Host) -> Reply:
    agents = {
        name: {"name": name, "description": describe_agent(name, host), "className": "Agent"}
        for name in host.responders
    }
    body = {
        "version": version("rightseat"),
        "agents": agents,
        "audioFileTranscriptionEnabled": bool(host.transcribers),
        "mode": "sse",
        "threadEndpoints": THREAD_ENDPOINTS,
        "singleRoute": {"resourceOperations": True, "threadEndpoints": THREAD_ENDPOINTS},
        "suggestions": True,
        "a2uiEnabled": False,
        "openGenerativeUIEnabled": False,
        "telemetryDisabled": True,
    }
    return make_reply(200, encode(body))


def call_agent(method: str, agent: str, body: bytes, request: Request, host: Host) -> Reply:
    """Handle one of AGENT_METHODS. A run with a Last-Event-ID continues its stream."""
    run_input = decode_body(body, RunAgentInput)
    turn = parse_turn(run_input, require_agent(agent, host), request)
    last_event = replay.parse_last_event_id(request)
    starts_run = method == "agent/run" and last_event is None
    # Clients without the suggest route ask for suggestions by a run on a throw-away thread.
    asks_for_suggestions = turn.tool_choice.mode == "named" and turn.tool_choice.name == SUGGEST_TOOL
    if method == "agent/suggest" or (starts_run and asks_for_suggestions):
        # Not stored in the thread; the run ends when its client leaves.
        turn = replace(turn, recording="never")
        return stream_run(prepare_suggestions(turn, host) or host.run(turn), turn, run_input.supports_outcomes)
    if starts_run:
        reply = replay.start_run(turn, run_input, host.threads, host.run)
        return report_run(reply, turn, host) if request.debug_events else reply
    if not turn.thread:
        raise CallerError("threadId is missing. Send the id of a thread.", param="threadId")
    return replay.connect_thread(turn.owner, turn.thread, host.threads, last_event, run_input.supports_outcomes)


async def stop_run(thread: str, request: Request, host: Host) -> Reply:
    try:
        stopped = await host.threads.stop(request.owner, thread)
    except StopPending as pending:
        if not pending.is_kept:
            raise Unavailable("The process that has this run cannot be reached. Try again.", retry_after=2) from None
        yield make_full_response(202, encode(STOP_PENDING))
        return
    body: dict[str, Any] = {"stopped": stopped}
    body |= {"interrupt": STOPPED} if stopped else {"message": f"No active run for thread {thread[:200]!r}."}
    yield make_full_response(200, encode(body))


PLAIN_METHODS: dict[str, Callable[[Request, Host], Reply]] = {
    "info": get_info,
    "inspector/metadata": get_inspector_metadata,
}


def dispatch_method(request: Request, host: Host) -> Reply:
    """Handle the single endpoint: dispatch a body by its `method`."""
    envelope = decode_body(request.body, SingleEndpointRequest)
    params = envelope.params or SingleEndpointParams()
    if envelope.method in PLAIN_METHODS:
        return PLAIN_METHODS[envelope.method](request, host)
    if envelope.method == TRANSCRIBE:
        return transcribe_body(bytes(envelope.body), request, host)
    if envelope.method == "resource/request":
        return dispatch_resource(params.http_method, params.path, bytes(envelope.body), request, host)
    if envelope.method not in AGENT_METHODS and envelope.method != "agent/stop":
        known = ", ".join((*PLAIN_METHODS, TRANSCRIBE, *AGENT_METHODS, "agent/stop", "resource/request"))
        raise CallerError(f"method: {envelope.method[:64]!r} is unknown. Use one of: {known}.", param="method")
    if not params.agent_id:
        raise CallerError("params.agentId is missing. Send the name of an agent.", param="params.agentId")
    if envelope.method == "agent/stop":
        if not params.thread_id:
            raise CallerError("params.threadId is missing. Send the id of a thread.", param="params.threadId")
        require_agent(params.agent_id, host)
        return stop_run(params.thread_id, request, host)
    return call_agent(envelope.method, params.agent_id, bytes(envelope.body), request, host)


def make_agent_route(method: str, summary: str) -> Route:
    def handle(request: Request, host: Host) -> Reply:
        return call_agent(method, request.params["agent"], request.body, request, host)

    path = f"{PATH}/agent/{{agent}}/{method.removeprefix('agent/')}"
    return Route("POST", path, handle, body_type=RunAgentInput, summary=summary)


def handle_stop(request: Request, host: Host) -> Reply:
    require_agent(request.params["agent"], host)
    return stop_run(request.params["thread"], request, host)


AGUI_ROUTES = (
    Route("GET", f"{PATH}/info", get_info, summary="What CopilotKit's clients ask first"),
    *(make_agent_route(method, summary) for method, summary in AGENT_METHODS.items()),
    Route("POST", f"{PATH}/agent/{{agent}}/stop/{{thread}}", handle_stop, summary="Stop a thread's run"),
    Route("POST", f"{PATH}/transcribe", transcribe, takes_form=True, summary="Speech as text"),
)
