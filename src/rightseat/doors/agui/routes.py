"""AG-UI's only route. A run ends when its client leaves, unless a store keeps its thread."""

from __future__ import annotations

from rightseat.doors.agui.probes import PROBES
from rightseat.http.agui import kept
from rightseat.http.agui.read import parse_turn, require_agent, require_input
from rightseat.http.agui.wire import RunAgentInput
from rightseat.http.agui.write import make_error_reply, stream_run
from rightseat.http.endpoint import Door, Host, Request, Route, decode_body
from rightseat.http.reply import Reply


def run_agent(request: Request, host: Host) -> Reply:
    agent = require_agent(request.params["agent"], host)
    run_input = decode_body(request.body, RunAgentInput)
    turn = parse_turn(run_input, agent, request)
    if turn.thread and host.threads.store.has_thread(turn.owner, turn.thread):
        last_event = kept.parse_last_event_id(request)
        if last_event is not None:
            return kept.connect_thread(
                turn.owner, turn.thread, host.threads, last_event, run_input.supports_outcomes
            )
        return kept.start_run(require_input(turn), run_input, host.threads, host.run)
    return stream_run(host.run(require_input(turn)), turn, run_input.supports_outcomes)


door = Door(
    name="agui",
    routes=(Route("POST", "/agui/{agent}", run_agent, body_type=RunAgentInput, summary="Run an agent"),),
    format_error=make_error_reply,
    hint=lambda base: f'new HttpAgent({{ url: "{base}/agui/default" }})',
    probes=PROBES,
)
