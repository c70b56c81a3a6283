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

from rightseat.doors.copilotkit.failures import told
from rightseat.doors.copilotkit.resources import metadata, resource
from rightseat.doors.copilotkit.suggestions import prepared, wanted
from rightseat.errors import CallerError, NotConfigured
from rightseat.http.agui import kept
from rightseat.http.agui.read import agent_of, read
from rightseat.http.agui.wire import RunAgentInput
from rightseat.http.agui.write import stream
from rightseat.http.endpoint import Host, Request, Route, decode, whole
from rightseat.http.reply import Reply
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

encode = msgspec.json.Encoder().encode
PATH = "/copilotkit"
STOPPED = {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"}
ENDPOINTS = {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False}
NO_EARS = NotConfigured("Transcription is not configured on this server.")


class Parameters(Struct, rename="camel"):
    agent_id: str = ""
    thread_id: str = ""
    path: str = ""
    http_method: str = "GET"


class Envelope(Struct):
    """The body of the single endpoint; a missing `body` is an empty object."""

    method: str
    params: Parameters | None = None
    body: msgspec.Raw = field(default_factory=lambda: msgspec.Raw(b"{}"))


def info(request: Request, host: Host) -> Reply:
    agents = {
        name: {"name": name, "description": about(name, host), "className": "Agent"}
        for name in host.responders
    }
    body = {
        "version": version("rightseat"),
        "agents": agents,
        "audioFileTranscriptionEnabled": False,
        "mode": "sse",
        "threadEndpoints": ENDPOINTS,
        "singleRoute": {"resourceOperations": True, "threadEndpoints": ENDPOINTS},
        "suggestions": True,
        "a2uiEnabled": False,
        "openGenerativeUIEnabled": False,
        "telemetryDisabled": True,
    }
    return whole(200, encode(body))


def about(name: str, host: Host) -> str:
    described = host.described(name)
    return described.description or described.title if described else ""


def run(agent: str, body: bytes, request: Request, host: Host) -> Reply:
    given = decode(body, RunAgentInput)
    turn = read(given, agent_of(agent, host), request)
    seen = kept.last_seen(request)
    if seen is not None:
        return kept.connect(turn.owner, threaded(turn), host.threads, seen, given.knows_outcomes)
    if wanted(turn):
        return beside(turn, given, host)
    return kept.run(turn, given, host.threads, host.run)


def connect(agent: str, body: bytes, request: Request, host: Host) -> Reply:
    given = decode(body, RunAgentInput)
    turn = read(given, agent_of(agent, host), request)
    seen = kept.last_seen(request)
    return kept.connect(turn.owner, threaded(turn), host.threads, seen, given.knows_outcomes)


def threaded(turn: Turn) -> str:
    if not turn.thread:
        raise CallerError("threadId: which thread is meant?", param="threadId")
    return turn.thread


def suggest(agent: str, body: bytes, request: Request, host: Host) -> Reply:
    given = decode(body, RunAgentInput)
    return beside(read(given, agent_of(agent, host), request), given, host)


def beside(turn: Turn, given: RunAgentInput, host: Host) -> Reply:
    """Stream a run that is not stored in the thread and ends when its client leaves."""
    turn = msgspec.structs.replace(turn, keep="never")
    return stream(prepared(turn, host) or host.run(turn), turn, given.knows_outcomes)


async def stop(agent: str, thread: str, request: Request, host: Host) -> Reply:
    stopped = await host.threads.stop(request.owner, thread)
    body: dict[str, Any] = {"stopped": stopped}
    body |= {"interrupt": STOPPED} if stopped else {"message": f"No active run for thread {thread[:200]!r}."}
    async with closing(whole(200, encode(body))) as reply:
        async for part in reply:
            yield part


def transcribe(request: Request, host: Host) -> Reply:
    body = {**told(NO_EARS, "service_not_configured"), "retryable": False}
    return whole(503, encode(body))


Answering = Callable[[str, bytes, Request, Host], Reply]
METHODS: dict[str, Answering] = {"agent/run": run, "agent/connect": connect, "agent/suggest": suggest}
PLAIN: dict[str, Callable[[Request, Host], Reply]] = {
    "info": info,
    "transcribe": transcribe,
    "inspector/metadata": metadata,
}


def single(request: Request, host: Host) -> Reply:
    """Handle the single endpoint: dispatch a body by its `method`."""
    given = decode(request.body, Envelope)
    params = given.params or Parameters()
    if given.method in PLAIN:
        return PLAIN[given.method](request, host)
    if given.method == "resource/request":
        return resource(params.http_method, params.path, bytes(given.body), request, host)
    if given.method not in METHODS and given.method != "agent/stop":
        known = ", ".join((*PLAIN, *METHODS, "agent/stop", "resource/request"))
        raise CallerError(
            f"method: {given.method[:64]!r} is not known. Those that are: {known}.", param="method"
        )
    if not params.agent_id:
        raise CallerError("params.agentId: which agent is meant?", param="params.agentId")
    if given.method == "agent/stop":
        if not params.thread_id:
            raise CallerError("params.threadId: which thread is meant?", param="params.threadId")
        return stop(agent_of(params.agent_id, host), params.thread_id, request, host)
    return METHODS[given.method](params.agent_id, bytes(given.body), request, host)


def routed(answer: Answering) -> Callable[[Request, Host], Reply]:
    return lambda request, host: answer(request.params["agent"], request.body, request, host)


def stop_route(request: Request, host: Host) -> Reply:
    return stop(agent_of(request.params["agent"], host), request.params["thread"], request, host)


ROUTES = (
    Route("GET", f"{PATH}/info", info, summary="What CopilotKit's clients ask first"),
    *(
        Route("POST", f"{PATH}/agent/{{agent}}/{name}", routed(answer), body=RunAgentInput, summary=summary)
        for name, answer, summary in (
            ("run", run, "Run an agent on a kept thread"),
            ("connect", connect, "Replay a thread and follow its run"),
            ("suggest", suggest, "Suggestions, beside the thread"),
        )
    ),
    Route("POST", f"{PATH}/agent/{{agent}}/stop/{{thread}}", stop_route, summary="Stop a thread's run"),
    Route("POST", f"{PATH}/transcribe", transcribe, summary="Not configured: answers 503"),
)
