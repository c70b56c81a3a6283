"""AG-UI's only route. A run ends when its client leaves, unless a store keeps its thread."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rightseat.errors import StoreDamaged, StoreFailed
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
from rightseat.types.streams import closing
from rightseat.types.threads import ThreadStore
from rightseat.types.turn import Turn

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
    last_event = replay.parse_last_event_id(request)
    if last_event is None or not turn.thread:
        require_input(turn, host)
    return stream_reply(turn, run_input, last_event, host)


async def stream_reply(
    turn: Turn, run_input: RunAgentInput, last_event: replay.ReplayPosition | None, host: Host
) -> Reply:
    """Stream a run on a stored thread, a thread that the client has lost, or a run that no thread keeps."""
    threads, outcomes = host.threads, run_input.supports_outcomes
    if not turn.thread or not await is_stored(turn, threads.store):
        reply = stream_run(run_once(require_input(turn, host), host.run, threads.store), turn, outcomes)
    elif last_event is not None:
        reply = replay.connect_thread(turn.owner, turn.thread, threads, last_event, outcomes)
    else:
        reply = replay.start_run(turn, run_input, threads, host.run)
    async with closing(reply):
        async for part in reply:
            yield part


async def is_stored(turn: Turn, store: ThreadStore) -> bool:
    """Whether the store has the turn's thread. If the store fails, a new question is answered all the same."""
    try:
        return await store.has_thread(turn.owner, turn.thread)
    except StoreDamaged:
        # Whether this run has run before cannot be read.
        raise
    except StoreFailed:
        if turn.is_continuation:
            # What it continues is in the store.
            raise
        return False


door = Door(
    name="agui",
    routes=(Route("POST", "/agui/{agent}", run_agent, body_type=RunAgentInput, summary="Run an agent"),),
    format_error=make_error_reply,
    hint=lambda base: f'new HttpAgent({{ url: "{base}/agui/default" }})',
    keyed_hint=lambda base: (
        f'new HttpAgent({{ url: "{base}/agui/default", '
        "headers: { Authorization: `Bearer ${process.env.RIGHTSEAT_KEY}` } })"
    ),
    probes=PROBES,
)
