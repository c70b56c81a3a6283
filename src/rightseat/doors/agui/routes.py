"""AG-UI's only route. A run ends when its client leaves, unless a store keeps its thread."""

from __future__ import annotations

from rightseat.doors.agui.probes import PROBES
from rightseat.http.agui import kept
from rightseat.http.agui.read import agent_of, read, something
from rightseat.http.agui.wire import RunAgentInput
from rightseat.http.agui.write import refuse, stream
from rightseat.http.endpoint import Door, Host, Request, Route, decode
from rightseat.http.reply import Reply


def run(request: Request, host: Host) -> Reply:
    agent = agent_of(request.params["agent"], host)
    given = decode(request.body, RunAgentInput)
    turn = read(given, agent, request)
    if turn.thread and host.threads.journal.keeps(turn.owner, turn.thread):
        seen = kept.last_seen(request)
        if seen is not None:
            return kept.connect(turn.owner, turn.thread, host.threads, seen, given.knows_outcomes)
        return kept.run(something(turn), given, host.threads, host.run)
    return stream(host.run(something(turn)), turn, given.knows_outcomes)


door = Door(
    name="agui",
    routes=(Route("POST", "/agui/{agent}", run, body=RunAgentInput, summary="Run an agent"),),
    refuse=refuse,
    hint=lambda base: f'new HttpAgent({{ url: "{base}/agui/default" }})',
    probes=PROBES,
)
