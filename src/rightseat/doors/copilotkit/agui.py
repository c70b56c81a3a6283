"""AG-UI for CopilotKit 1.50 and later, on stored threads: one endpoint with a `method`, or one route per
method.

Runs are detached: a client that leaves cancels nothing, `stop` stops a run, `connect` replays a thread and
follows its active run.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import Struct, field

from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.doors.copilotkit.resources import dispatch_resource, get_inspector_metadata
from rightseat.doors.copilotkit.suggestions import asks_for_suggestions, prepare_suggestions
from rightseat.errors import CallerError, NotConfigured
from rightseat.http.agui import kept
from rightseat.http.agui.read import parse_turn, require_agent
from rightseat.http.agui.wire import RunAgentInput
from rightseat.http.agui.write import stream_run
from rightseat.http.endpoint import Host, Request, Route, decode_body, make_reply
from rightseat.http.reply import Reply
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

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
    last_event = kept.parse_last_event_id(request)
    if last_event is not None:
        return kept.connect_thread(
            turn.owner, require_thread(turn), host.threads, last_event, run_input.supports_outcomes
        )
    if asks_for_suggestions(turn):
        return stream_unstored(turn, run_input, host)
    return kept.start_run(turn, run_input, host.threads, host.run)


def connect_thread(agent: str, body: bytes, request: Request, host: Host) -> Reply:
    run_input = decode_body(body, RunAgentInput)
    turn = parse_turn(run_input, require_agent(agent, host), request)
    last_event = kept.parse_last_event_id(request)
    return kept.connect_thread(
        turn.owner, require_thread(turn), host.threads, last_event, run_input.supports_outcomes
    )


def require_thread(turn: Turn) -> str:
    if not turn.thread:
        raise CallerError("threadId: which thread is meant?", param="threadId")
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
        raise CallerError(
            f"method: {envelope.method[:64]!r} is not known. Those that are: {known}.", param="method"
        )
    if not params.agent_id:
        raise CallerError("params.agentId: which agent is meant?", param="params.agentId")
    if envelope.method == "agent/stop":
        if not params.thread_id:
            raise CallerError("params.threadId: which thread is meant?", param="params.threadId")
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
            "POST",
            f"{PATH}/agent/{{agent}}/{name}",
            make_agent_route(answer),
            body_type=RunAgentInput,
            summary=summary,
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
