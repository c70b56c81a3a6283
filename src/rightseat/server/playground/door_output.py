"""A stored run as each door would write it, with the request as a curl command."""

from __future__ import annotations

import shlex
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import msgspec

from rightseat.errors import NotFound, RightseatError
from rightseat.http.endpoint import Door, Probe, Request, collect_reply, compile_path
from rightseat.http.reply import ResponseStart
from rightseat.types.events import Event, RunStarted
from rightseat.types.streams import closing
from rightseat.types.threads import ThreadEntry, UserInput
from rightseat.types.turn import Turn
from rightseat.wiring.runtime import Runtime

if TYPE_CHECKING:
    from rightseat.doctor.client import ProbeReply

PROBE_QUESTION = "Count from one to five, in words."
"""The question in every door's probes; replaced here by the run's own."""
MAX_BYTES_SHOWN = 200_000
# What the doors' clients accept, taken together.
ACCEPT = "multipart/mixed, text/event-stream, */*"
# The MCP door's own probe calls no assistant: this call does.
MCP_ASK = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask_default", "arguments": {"request": PROBE_QUESTION}},
}
PROBE_BY_DOOR = {"mcp": Probe("ask", "POST", "/mcp", lambda status, headers, body: None, msgspec.json.encode(MCP_ASK))}


class ReplayRuntime:
    """A Runtime that answers every turn with the events of one run."""

    def __init__(self, runtime: Runtime, events: Sequence[Event]) -> None:
        self.runtime = runtime
        self.events = events

    async def run(self, turn: Turn) -> AsyncIterator[Event]:
        for event in self.events:
            yield event

    # Hidden from mypy, which would accept any misspelt attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self.runtime, name)


async def render_run_by_door(runtime: Runtime, doors: Sequence[Door], request: Request) -> dict[str, Any]:
    entries = await read_entries(runtime, request)
    question, agent, events = find_run(entries, request.query.get("run", ""))
    host: Any = ReplayRuntime(runtime, events)
    rendered = []
    for door in doors:
        posts = (probe for probe in reversed(door.probes) if probe.method == "POST")
        if probe := PROBE_BY_DOOR.get(door.name) or next(posts, None):
            probe = retarget_probe(replace_question(probe, question), agent, runtime)
            rendered.append(await render_reply(door, probe, request, host))
    return {"question": question, "doors": rendered}


async def read_entries(runtime: Runtime, request: Request) -> list[ThreadEntry]:
    store, thread = runtime.threads.store, request.params["thread"]
    entries: list[ThreadEntry] = []
    after = 0
    while page := await store.read_entries(request.owner, thread, after):
        entries += [entry for _, entry in page]
        after = page[-1][0]
    if not entries:
        raise NotFound("There is no such conversation, or nothing was said in it.")
    return entries


def find_run(entries: list[ThreadEntry], run: str) -> tuple[str, str, list[Event]]:
    """Return question, assistant and events of a run, by id or the last one."""
    question = last_question = run_id = agent = assistant = ""
    events: list[Event] = []
    for entry in entries:
        if isinstance(entry, UserInput):
            user_messages = [message for message in entry.messages if message.role == "user"]
            last_question = user_messages[-1].text if user_messages else last_question
            assistant = entry.assistant or assistant
            continue
        if isinstance(entry, RunStarted):
            if run and run_id == run:
                break
            question, agent, run_id, events = last_question, assistant, entry.run, []
        events.append(entry)
    return question, agent, events


def retarget_probe(probe: Probe, agent: str, runtime: Runtime) -> Probe:
    """Address the probe to the run's assistant, where the door's requests name one."""
    if not agent:
        return probe
    match probe.path.split("/"):
        case ["", "agui", _]:
            return replace(probe, path=f"/agui/{quote(agent, safe='')}")
        case ["", "v1", "chat", "completions"]:
            body = msgspec.json.decode(probe.body, type=dict[str, Any])
            return replace(probe, body=msgspec.json.encode({**body, "model": agent}))
        case ["", "mcp"]:
            # Lazy: a server may lack this door.
            from rightseat.doors.mcp.catalog import list_ask_tools

            host: Any = runtime
            names = {tool.responder: name for name, tool in list_ask_tools(host).items()}
            return replace(probe, body=probe.body.replace(b"ask_default", names.get(agent, "ask_default").encode()))
        case _:
            return probe


def replace_question(probe: Probe, question: str) -> Probe:
    old, new = (msgspec.json.encode(text)[1:-1] for text in (PROBE_QUESTION, question or PROBE_QUESTION))
    return replace(probe, body=probe.body.replace(old, new))


async def render_reply(door: Door, probe: Probe, request: Request, host: Any) -> dict[str, Any]:
    reply = await call_door(door, probe, request, host)
    return {
        "name": door.name,
        "curl": format_curl(request, probe),
        "request": {"path": probe.path, "accept": ACCEPT, "body": probe.body.decode()},
        "bytes": reply.body[:MAX_BYTES_SHOWN].decode("utf-8", "replace"),
        "size": len(reply.body),
    }


async def call_door(door: Door, probe: Probe, request: Request, host: Any) -> ProbeReply:
    """Call a door's route as its client would, in this process and for the owner of the request. There is no
    connection, so that no header of the request can name another server."""
    # Lazy: the doctor's imports are heavy.
    from rightseat.doctor.client import ProbeReply

    matches = ((route, compile_path(route.path).fullmatch(probe.path)) for route in door.routes)
    route, match = next((route, match) for route, match in matches if match and route.method == probe.method)
    inner = msgspec.structs.replace(
        request,
        method=probe.method,
        path=probe.path,
        params={name: unquote(value) for name, value in match.groupdict().items()},
        query={},
        body=probe.body,
        # Headers as the door's client sends them, not the playground's own.
        headers={"content-type": "application/json", "accept": ACCEPT},
    )
    started_at = time.monotonic()
    try:
        async with closing(route.handler(inner, host)) as reply:
            start, body = await collect_reply(reply)
    except RightseatError as error:
        start, body = ResponseStart(error.status), error.message.encode()
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in start.headers}
    seconds = time.monotonic() - started_at
    return ProbeReply(start.status, headers, body, seconds, seconds)


def format_curl(request: Request, probe: Probe) -> str:
    """Format a probe as a curl command; the key appears as an environment variable."""
    key = ' -H "Authorization: Bearer $RIGHTSEAT_KEY"' if request.headers.get("authorization") else ""
    accept = " -H 'accept: application/json, text/event-stream'" if probe.path == "/mcp" else ""
    body = shlex.quote(probe.body.decode())
    head = f"-H 'content-type: application/json'{accept}{key}"
    return f"curl -N {request.base}{probe.path} {head} -d {body}"
