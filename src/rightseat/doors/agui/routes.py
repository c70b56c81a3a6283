"""AG-UI's only route. A run ends when its client leaves, unless a store keeps its thread."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rightseat.http.agui import replay
from rightseat.http.agui.attached import run_once
from rightseat.http.agui.read import RunAgentInput, parse_turn, require_agent, require_input
from rightseat.http.agui.write import make_error_reply, stream_run
from rightseat.http.endpoint import (
    Door,
    Host,
    Probe,
    Request,
    Route,
    decode_body,
    decode_event_stream,
    describe_error,
    is_event_stream,
)
from rightseat.http.reply import Reply

PROBE_REQUEST = {
    "threadId": "doctor",
    "runId": "doctor",
    "messages": [{"id": "1", "role": "user", "content": "Count from one to five, in words."}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


def check_run(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200:
        return describe_error(status, body, "AG-UI", "message")
    if not is_event_stream(headers):
        return "the answer is no event stream"
    if (events := decode_event_stream(body)) is None:
        return "the stream cannot be read"
    kinds = [event.get("type") for event in events]
    if kinds[:1] != ["RUN_STARTED"]:
        return "the run does not begin with RUN_STARTED"
    if kinds[-1] == "RUN_ERROR":
        return f"the run failed: {events[-1].get('message')}"
    return None if kinds[-1] == "RUN_FINISHED" else "the run ended without RUN_FINISHED"


PROBES = (Probe("run", "POST", "/agui/default", check_run, msgspec.json.encode(PROBE_REQUEST)),)


def run_agent(request: Request, host: Host) -> Reply:
    agent = require_agent(request.params["agent"], host)
    run_input = decode_body(request.body, RunAgentInput)
    turn = parse_turn(run_input, agent, request)
    if turn.thread and host.threads.store.has_thread(turn.owner, turn.thread):
        last_event = replay.parse_last_event_id(request)
        if last_event is not None:
            return replay.connect_thread(turn.owner, turn.thread, host.threads, last_event, run_input.supports_outcomes)
        return replay.start_run(require_input(turn, host), run_input, host.threads, host.run)
    events = run_once(require_input(turn, host), host.run, host.threads.store)
    return stream_run(events, turn, run_input.supports_outcomes)


door = Door(
    name="agui",
    routes=(Route("POST", "/agui/{agent}", run_agent, body_type=RunAgentInput, summary="Run an agent"),),
    format_error=make_error_reply,
    hint=lambda base: f'new HttpAgent({{ url: "{base}/agui/default" }})',
    probes=PROBES,
)
