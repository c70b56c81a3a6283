"""AG-UI for CopilotKit 1.50 and later, on stored threads: one endpoint with a `method`, or one route per
method.

Suggestions in the form of CopilotKit's clients: a call of the tool `copilotkitSuggest`. Resource requests by the
single endpoint, and routes of CopilotKit's cloud, which are refused. /info tells clients that these are not
available.

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
from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.errors import CallerError, MethodNotAllowed, NotConfigured, NotFound
from rightseat.http.agui import replay
from rightseat.http.agui.read import RunAgentInput, parse_turn, require_agent
from rightseat.http.agui.write import stream_run
from rightseat.http.endpoint import Host, Request, Route, decode_body, make_reply
from rightseat.http.reply import Reply, ResponseStart
from rightseat.types.events import CallArgs, CallEnd, CallStart, Event, RunFinished, RunStarted
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

SUGGEST_TOOL = "copilotkitSuggest"
SUGGEST_CALL_ID = "call_suggestions"
MAX_TITLE = 40


def asks_for_suggestions(turn: Turn) -> bool:
    """Whether a run asks for suggestions. Clients without the suggest route use a run on a throw-away
    thread."""
    return turn.tool_choice.mode == "named" and turn.tool_choice.name == SUGGEST_TOOL


def prepare_suggestions(turn: Turn, host: Host) -> AsyncIterator[Event] | None:
    """Stream the assistant's configured suggestions at the start of a chat; None if the model must make
    them."""
    description = host.describe(turn.assistant or "")
    questions = description.suggestions if description else ()
    user_messages = [message for message in turn.messages if message.role == "user"]
    has_tool = any(tool.name == SUGGEST_TOOL for tool in turn.tools)
    return stream_suggestions(turn, questions) if questions and has_tool and len(user_messages) <= 1 else None


async def stream_suggestions(turn: Turn, questions: tuple[str, ...]) -> AsyncIterator[Event]:
    suggestions = [{"title": question[:MAX_TITLE], "message": question} for question in questions[:5]]
    yield RunStarted(turn.thread, turn.run)
    yield CallStart(SUGGEST_CALL_ID, SUGGEST_TOOL, "", True)
    yield CallArgs(SUGGEST_CALL_ID, msgspec.json.encode({"suggestions": suggestions}).decode())
    yield CallEnd(SUGGEST_CALL_ID)
    yield RunFinished("calls", None, (SUGGEST_CALL_ID,))


encode = msgspec.json.Encoder().encode
BASE_PATH = "/copilotkit"
NO_CLOUD = NotConfigured("This belongs to CopilotKit's cloud, which this server does not use.")


def refuse_cloud(request: Request, host: Host) -> Reply:
    return make_reply(422, encode(make_error_body(NO_CLOUD, "Not available")))


async def get_inspector_metadata(request: Request, host: Host) -> Reply:
    """Answer CopilotKit's inspector with 204: there is no metadata."""
    yield ResponseStart(204, ((b"cache-control", b"no-store, private"),))


CLOUD_ROUTES = (
    Route("POST", f"{BASE_PATH}/threads/subscribe", refuse_cloud, summary="Of CopilotKit's cloud: answers 422"),
    Route("POST", f"{BASE_PATH}/annotate", refuse_cloud, summary="Of CopilotKit's cloud: answers 422"),
    Route(
        "GET",
        f"{BASE_PATH}/inspector-metadata",
        get_inspector_metadata,
        summary="Nothing is told here",
        returns_204=True,
    ),
)


def dispatch_resource(method: str, target: str, body: bytes, request: Request, host: Host) -> Reply:
    """Dispatch a resource request that came in the body of the single endpoint."""
    path, _, query = target.partition("?")
    # Paths without parameters match first.
    routes = sorted((*threads.THREAD_ROUTES, *CLOUD_ROUTES), key=lambda route: "{" in route.path)
    matches = [(route, params) for route in routes if (params := match_path(route.path, BASE_PATH + path)) is not None]
    for route, params in matches:
        if route.method == method.upper():
            inner = replace(
                request,
                method=route.method,
                path=BASE_PATH + path,
                params=params,
                query=dict(parse_qsl(query)),
                body=body,
            )
            return route.handler(inner, host)
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


encode = msgspec.json.Encoder().encode
PATH = "/copilotkit"
STOPPED = {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"}
THREAD_ENDPOINTS = {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False}
NO_TRANSCRIPTION = NotConfigured("Transcription is not configured on this server.")


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
        "audioFileTranscriptionEnabled": False,
        "mode": "sse",
        "threadEndpoints": THREAD_ENDPOINTS,
        "singleRoute": {"resourceOperations": True, "threadEndpoints": THREAD_ENDPOINTS},
        "suggestions": True,
        "a2uiEnabled": False,
        "openGenerativeUIEnabled": False,
        "telemetryDisabled": True,
    }
    return make_reply(200, encode(body))


def describe_agent(name: str, host: Host) -> str:
    description = host.describe(name)
    return description.description or description.title if description else ""


def run_agent(agent: str, body: bytes, request: Request, host: Host) -> Reply:
    run_input = decode_body(body, RunAgentInput)
    turn = parse_turn(run_input, require_agent(agent, host), request)
    last_event = replay.parse_last_event_id(request)
    if last_event is not None:
        return replay.connect_thread(
            turn.owner, require_thread(turn), host.threads, last_event, run_input.supports_outcomes
        )
    if asks_for_suggestions(turn):
        return stream_unstored(turn, run_input, host)
    return replay.start_run(turn, run_input, host.threads, host.run)


def connect_thread(agent: str, body: bytes, request: Request, host: Host) -> Reply:
    run_input = decode_body(body, RunAgentInput)
    turn = parse_turn(run_input, require_agent(agent, host), request)
    last_event = replay.parse_last_event_id(request)
    return replay.connect_thread(
        turn.owner, require_thread(turn), host.threads, last_event, run_input.supports_outcomes
    )


def require_thread(turn: Turn) -> str:
    if not turn.thread:
        raise CallerError("threadId is missing. Send the id of a thread.", param="threadId")
    return turn.thread


def suggest_prompts(agent: str, body: bytes, request: Request, host: Host) -> Reply:
    run_input = decode_body(body, RunAgentInput)
    return stream_unstored(parse_turn(run_input, require_agent(agent, host), request), run_input, host)


def stream_unstored(turn: Turn, run_input: RunAgentInput, host: Host) -> Reply:
    """Stream a run that is not stored in the thread and ends when its client leaves."""
    turn = msgspec.structs.replace(turn, recording="never")
    return stream_run(prepare_suggestions(turn, host) or host.run(turn), turn, run_input.supports_outcomes)


async def stop_run(agent: str, thread: str, request: Request, host: Host) -> Reply:
    stopped = await host.threads.stop(request.owner, thread)
    body: dict[str, Any] = {"stopped": stopped}
    body |= {"interrupt": STOPPED} if stopped else {"message": f"No active run for thread {thread[:200]!r}."}
    async with closing(make_reply(200, encode(body))) as reply:
        async for part in reply:
            yield part


def transcribe(request: Request, host: Host) -> Reply:
    body = {**make_error_body(NO_TRANSCRIPTION, "service_not_configured"), "retryable": False}
    return make_reply(503, encode(body))


AgentHandler = Callable[[str, bytes, Request, Host], Reply]

AGENT_METHODS: dict[str, AgentHandler] = {
    "agent/run": run_agent,
    "agent/connect": connect_thread,
    "agent/suggest": suggest_prompts,
}

PLAIN_METHODS: dict[str, Callable[[Request, Host], Reply]] = {
    "info": get_info,
    "transcribe": transcribe,
    "inspector/metadata": get_inspector_metadata,
}


def dispatch_method(request: Request, host: Host) -> Reply:
    """Handle the single endpoint: dispatch a body by its `method`."""
    envelope = decode_body(request.body, SingleEndpointRequest)
    params = envelope.params or SingleEndpointParams()
    if envelope.method in PLAIN_METHODS:
        return PLAIN_METHODS[envelope.method](request, host)
    if envelope.method == "resource/request":
        return dispatch_resource(params.http_method, params.path, bytes(envelope.body), request, host)
    if envelope.method not in AGENT_METHODS and envelope.method != "agent/stop":
        known = ", ".join((*PLAIN_METHODS, *AGENT_METHODS, "agent/stop", "resource/request"))
        raise CallerError(f"method: {envelope.method[:64]!r} is unknown. Use one of: {known}.", param="method")
    if not params.agent_id:
        raise CallerError("params.agentId is missing. Send the name of an agent.", param="params.agentId")
    if envelope.method == "agent/stop":
        if not params.thread_id:
            raise CallerError("params.threadId is missing. Send the id of a thread.", param="params.threadId")
        return stop_run(require_agent(params.agent_id, host), params.thread_id, request, host)
    return AGENT_METHODS[envelope.method](params.agent_id, bytes(envelope.body), request, host)


def make_agent_route(handler: AgentHandler) -> Callable[[Request, Host], Reply]:
    return lambda request, host: handler(request.params["agent"], request.body, request, host)


def handle_stop(request: Request, host: Host) -> Reply:
    return stop_run(require_agent(request.params["agent"], host), request.params["thread"], request, host)


AGUI_ROUTES = (
    Route("GET", f"{PATH}/info", get_info, summary="What CopilotKit's clients ask first"),
    *(
        Route(
            "POST", f"{PATH}/agent/{{agent}}/{name}", make_agent_route(answer), body_type=RunAgentInput, summary=summary
        )
        for name, answer, summary in (
            ("run", run_agent, "Run an agent on a kept thread"),
            ("connect", connect_thread, "Replay a thread and follow its run"),
            ("suggest", suggest_prompts, "Suggestions, beside the thread"),
        )
    ),
    Route("POST", f"{PATH}/agent/{{agent}}/stop/{{thread}}", handle_stop, summary="Stop a thread's run"),
    Route("POST", f"{PATH}/transcribe", transcribe, summary="Not configured: answers 503"),
)
