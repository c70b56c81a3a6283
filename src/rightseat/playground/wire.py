"""The same run as each door would write it, with the request that asks for it as a line for a shell."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rightseat.door import Door, Probe, Request, body_of
from rightseat.errors import NotFound, RightseatError
from rightseat.events import Event, RunStarted
from rightseat.journal import Entry, Posted
from rightseat.library import Runtime
from rightseat.streams import closing
from rightseat.turn import Turn

QUESTION = "Count from one to five, in words."
"""What every door's probes ask: here the run's own question takes its place."""
MOST = 200_000


class Replay:
    """A Runtime that answers everybody with the events of one run."""

    def __init__(self, runtime: Runtime, events: Sequence[Event]) -> None:
        self.runtime = runtime
        self.events = events

    async def run(self, turn: Turn) -> AsyncIterator[Event]:
        for event in self.events:
            yield event

    # Hidden from the checker: it would take any misspelt attribute for one of the runtime's.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self.runtime, name)


async def wired(runtime: Runtime, doors: Sequence[Door], request: Request) -> dict[str, Any]:
    entries = await read(runtime, request)
    question, events = last(entries, request.query.get("run", ""))
    host: Any = Replay(runtime, events)
    shown = []
    for door in doors:
        probe = next((one for one in reversed(door.probes) if one.method == "POST"), None)
        if probe is not None:
            shown.append(await written(door, asking(probe, question), request, host))
    return {"question": question, "doors": shown}


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


def last(entries: list[Entry], run: str) -> tuple[str, list[Event]]:
    """The question and the events of a run, by its id or the last one."""
    question, asked, found = "", "", ""
    events: list[Event] = []
    for entry in entries:
        if isinstance(entry, Posted):
            said = [message for message in entry.messages if message.role == "user"]
            asked = said[-1].text if said else asked
            continue
        if isinstance(entry, RunStarted):
            if run and found == run:
                break
            question, found, events = asked, entry.run, []
        events.append(entry)
    return question, events


def asking(probe: Probe, question: str) -> Probe:
    old, new = (msgspec.json.encode(text)[1:-1] for text in (QUESTION, question or QUESTION))
    return Probe(probe.name, probe.method, probe.path, probe.check, probe.body.replace(old, new))


async def written(door: Door, probe: Probe, request: Request, host: Any) -> dict[str, Any]:
    route = next(one for one in door.routes if one.method == probe.method and fits(one.path, probe.path))
    inner = msgspec.structs.replace(
        request,
        method=probe.method,
        path=probe.path,
        params=params(route.path, probe.path),
        query={},
        body=probe.body,
        # As its client asks; what this page asks with is not part of the picture.
        headers={"content-type": "application/json", "accept": "multipart/mixed, text/event-stream, */*"},
    )
    try:
        async with closing(route.answer(inner, host)) as reply:
            body = await body_of(reply)
    except RightseatError as error:
        body = error.message.encode()
    return {
        "name": door.name,
        "curl": curl(request.base, probe),
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
    return {name[1:-1]: value for name, value in pairs if name[:1] == "{"}


def curl(base: str, probe: Probe) -> str:
    body = shlex.quote(probe.body.decode())
    return f"curl -N {base}{probe.path} -H 'content-type: application/json' -d {body}"
