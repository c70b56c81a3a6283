"""AG-UI's one route. The run is attached: it lives as long as its client."""

from __future__ import annotations

from rightseat.door import Door, Host, Request, Route
from rightseat.doors.agui.probes import PROBES
from rightseat.doors.agui.read import read
from rightseat.doors.agui.wire import RunAgentInput
from rightseat.doors.agui.write import refuse, stream
from rightseat.pump import Reply


def run(request: Request, host: Host) -> Reply:
    turn = read(request, host)
    return stream(host.run(turn), turn)


door = Door(
    name="agui",
    routes=(Route("POST", "/agui/{agent}", run, body=RunAgentInput, summary="Run an agent"),),
    refuse=refuse,
    hint=lambda base: f'new HttpAgent({{ url: "{base}/agui/default" }})',
    probes=PROBES,
)
