"""A stored run as each door would write it, with the request as a curl command."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import msgspec

from rightseat.errors import NotFound, RightseatError
from rightseat.http.endpoint import Door, Probe, Request, body_of
from rightseat.types.events import Event, RunStarted
from rightseat.types.streams import closing
from rightseat.types.threads import Entry, Posted
from rightseat.types.turn import Turn
from rightseat.wiring.library import Runtime

QUESTION = "Count from one to five, in words."
"""The question in every door's probes; replaced here by the run's own."""
MOST = 200_000
# The MCP door's own probe calls no assistant: this call does.
ASK = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask_default", "arguments": {"request": QUESTION}},
}
CALLS = {"mcp": Probe("ask", "POST", "/mcp", lambda status, headers, body: None, msgspec.json.encode(ASK))}


class Replay:
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


async def wired(runtime: Runtime, doors: Sequence[Door], request: Request) -> dict[str, Any]:
    entries = await read(runtime, request)
    question, agent, events = last(entries, request.query.get("run", ""))
    host: Any = Replay(runtime, events)
    shown = []
    for door in doors:
        probe = probe_of(door)
        if probe is not None:
            shown.append(await written(door, aimed(asking(probe, question), agent, runtime), request, host))
    return {"question": question, "doors": shown}


def probe_of(door: Door) -> Probe | None:
    posts = (one for one in reversed(door.probes) if one.method == "POST")
    return CALLS.get(door.name) or next(posts, None)


async def read(runtime: Runtime, request: Request) -> list[Entry]:
    journal, thread = runtime.threads.journal, request.params["thread"]
    found: list[Entry] = []
    after = 0
    while page := await journal.read(request.owner, thread, after):
        found += [entry for _, entry in page]
        after = page[-1][0]
    if not found:
        raise NotFound("There is no such conversation, or nothing was said in it.")
    return found


def last(entries: list[Entry], run: str) -> tuple[str, str, list[Event]]:
    """Return question, assistant and events of a run, by id or the last one."""
    question, asked, found = "", "", ""
    agent, wanted = "", ""
    events: list[Event] = []
    for entry in entries:
        if isinstance(entry, Posted):
            said = [message for message in entry.messages if message.role == "user"]
            asked = said[-1].text if said else asked
            wanted = entry.assistant or wanted
            continue
        if isinstance(entry, RunStarted):
            if run and found == run:
                break
            question, agent, found, events = asked, wanted, entry.run, []
        events.append(entry)
    return question, agent, events


def aimed(probe: Probe, agent: str, runtime: Runtime) -> Probe:
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
            from rightseat.doors.mcp.catalogue import asked as who

            host: Any = runtime
            names = {one.responder: name for name, one in who(host).items()}
            return replace(
                probe, body=probe.body.replace(b"ask_default", names.get(agent, "ask_default").encode())
            )
        case _:
            return probe


def asking(probe: Probe, question: str) -> Probe:
    old, new = (msgspec.json.encode(text)[1:-1] for text in (QUESTION, question or QUESTION))
    return replace(probe, body=probe.body.replace(old, new))


async def written(door: Door, probe: Probe, request: Request, host: Any) -> dict[str, Any]:
    route = next(one for one in door.routes if one.method == probe.method and fits(one.path, probe.path))
    inner = msgspec.structs.replace(
        request,
        method=probe.method,
        path=probe.path,
        params=params(route.path, probe.path),
        query={},
        body=probe.body,
        # Headers as the door's client sends them, not the playground's own.
        headers={"content-type": "application/json", "accept": "multipart/mixed, text/event-stream, */*"},
    )
    try:
        async with closing(route.answer(inner, host)) as reply:
            body = await body_of(reply)
    except RightseatError as error:
        body = error.message.encode()
    return {
        "name": door.name,
        "curl": curl(request, probe),
        "bytes": body[:MOST].decode("utf-8", "replace"),
        "size": len(body),
    }


def fits(route: str, path: str) -> bool:
    wanted, given = route.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        w[:1] == "{" or w == g for w, g in zip(wanted, given, strict=True)
    )


def params(route: str, path: str) -> dict[str, str]:
    pairs = zip(route.split("/"), path.split("/"), strict=True)
    return {name[1:-1]: unquote(value) for name, value in pairs if name[:1] == "{"}


def curl(request: Request, probe: Probe) -> str:
    """Format a probe as a curl command; the key appears as an environment variable."""
    key = ' -H "Authorization: Bearer $RIGHTSEAT_KEY"' if request.headers.get("authorization") else ""
    accept = " -H 'accept: application/json, text/event-stream'" if probe.path == "/mcp" else ""
    body = shlex.quote(probe.body.decode())
    head = f"-H 'content-type: application/json'{accept}{key}"
    return f"curl -N {request.base}{probe.path} {head} -d {body}"
