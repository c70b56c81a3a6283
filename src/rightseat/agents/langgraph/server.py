"""LangGraph's REST API, as far as it is used: assistants, threads, their state, runs.

Not by langgraph-sdk: `rightseat.http` reads an event for a fraction of the time, and what is cancelled here
is cut at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.incoming import Incoming
from rightseat.agents._peer.reach import Reach
from rightseat.agents.langgraph.frames import Frame, Frames
from rightseat.agents.langgraph.request import Request, Schema, Standing, standing
from rightseat.errors import (
    Incomplete,
    RightseatError,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamRefused,
    UpstreamRejected,
)
from rightseat.types.turn import Owner, Turn

MODES = ("events", "values", "updates")
PAGE = 100
MOST = 1000
REJOINS = 5
_RUN = re.compile(r"/runs/([0-9a-f-]{36})$")
_RUN_ID = re.compile(rb'"run_id": ?"([0-9a-f-]{36})"')
_EVENT_ID = re.compile(r"[A-Za-z0-9_.:\-]{1,100}")

log = logging.getLogger(__name__)


class Assistant(Struct, frozen=True):
    """A graph with a configuration, as the server lists it."""

    id: str
    graph: str
    name: str
    description: str = ""


class Server:
    def __init__(self, reach: Reach, *, nested: bool = False) -> None:
        self.reach = reach
        self.faults = reach.faults
        self.nested = nested
        self._cancels: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Runs that are to be cancelled are, before the connections go."""
        if self._cancels:
            await asyncio.wait(self._cancels, timeout=2)
        for task in tuple(self._cancels):
            task.cancel()
        self.reach.close()

    async def assistants(self) -> list[Assistant]:
        found: list[Assistant] = []
        while len(found) < MOST:
            body = {"limit": PAGE, "offset": len(found)}
            page = await self.reach.json("POST", ("assistants", "search"), body)
            if not isinstance(page, list):
                raise self.faults.garbled("no list of assistants")
            found += [assistant for item in page if (assistant := read(item))]
            if len(page) < PAGE:
                break
        return found

    async def schema(self, assistant: str, turn: Turn) -> Schema:
        told = await self.reach.json("GET", ("assistants", assistant, "schemas"), turn=turn, absent=True)
        if not isinstance(told, dict):
            return Schema()
        return Schema(
            inputs=keys(told.get("input_schema")),
            outputs=keys(told.get("output_schema")),
            settings=keys(told.get("config_schema")) or frozenset(),
        )

    # Threads.

    async def standing(
        self, thread: uuid.UUID, *, turn: Turn | None = None, owner: Owner | None = None
    ) -> Standing | None:
        """None where there is no such thread."""
        path = ("threads", str(thread), "state")
        state = await self.reach.json("GET", path, turn=turn, owner=owner, absent=True)
        return None if state is None else standing(state)

    async def create(self, thread: uuid.UUID, turn: Turn) -> None:
        metadata = {"rightseat_owner": digest(turn.owner)}
        body = {"thread_id": str(thread), "if_exists": "do_nothing", "metadata": metadata}
        await self.reach.json("POST", ("threads",), body, turn=turn)

    async def owned(self, thread: uuid.UUID, turn: Turn) -> bool:
        """Whether the thread was made for the turn's owner."""
        found = await self.reach.json("GET", ("threads", str(thread)), turn=turn, absent=True)
        metadata = found.get("metadata") if isinstance(found, dict) else None
        return isinstance(metadata, dict) and metadata.get("rightseat_owner") == digest(turn.owner)

    async def update(self, thread: uuid.UUID, asked: Request, turn: Turn) -> None:
        body = {"values": asked.update, "as_node": asked.node}
        await self.reach.json("POST", ("threads", str(thread), "state"), body, turn=turn, repeatable=False)

    # Runs.

    async def stream(
        self, assistant: str, thread: uuid.UUID, asked: Request, turn: Turn
    ) -> AsyncIterator[Frame]:
        """The frames of a run. Cut off, it is joined again where it was; left, the run is cancelled."""
        leg = Leg()
        done = False
        try:
            while not done:
                # All of it in one generator: every word would pay for a second.
                try:
                    async with await self._opened(assistant, thread, asked, turn, leg) as answer:
                        frames = Frames(self.faults)
                        async for data in answer:
                            for frame in frames.feed(data):
                                if leg.is_new(frame):
                                    yield frame
                    done = True
                except Incomplete:
                    if not leg.goes_on():
                        raise
                    log.info("run %s was cut off and is joined again", leg.run)
        except (UpstreamRefused, UpstreamRejected, UpstreamDenied, UpstreamBusy):
            # Nothing runs that was not taken.
            done = not leg.run
            raise
        finally:
            if not done:
                self._cancel_later(thread, leg.run, turn)

    async def _opened(
        self, assistant: str, thread: uuid.UUID, asked: Request, turn: Turn, leg: Leg
    ) -> Incoming:
        """The stream of a run from its beginning, or from where it was cut."""
        path = ("threads", str(thread), "runs")
        if leg.run:
            joined = (*path, leg.run, "stream")
            since = {"Last-Event-ID": leg.last}
            answer = await self.reach.stream("GET", joined, turn=turn, headers=since, repeatable=True)
        else:
            body = self._body(assistant, asked)
            answer = await self.reach.stream("POST", (*path, "stream"), body, turn=turn)
        leg.see(answer.headers)
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.close()
            raise self.faults.garbled("no event stream")
        return answer

    def _body(self, assistant: str, asked: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "assistant_id": assistant,
            "stream_mode": MODES,
            "stream_subgraphs": self.nested,
            # The run outlives a connection, so that it can be joined again; leaving cancels it by a call.
            "stream_resumable": True,
            "on_disconnect": "continue",
            # Whoever asks anew in a thread does not wait for an answer that nobody reads.
            "multitask_strategy": "interrupt",
            "if_not_exists": "create",
        }
        if asked.config:
            body["config"] = asked.config
        if asked.resume is not None:
            return {**body, "command": {"resume": asked.resume}}
        return {**body, "input": asked.input}

    def _cancel_later(self, thread: uuid.UUID, run: str, turn: Turn) -> None:
        """Whoever leaves does not wait for it."""
        task = asyncio.create_task(self._cancel(thread, run, turn))
        self._cancels.add(task)
        task.add_done_callback(self._cancels.discard)

    async def _cancel(self, thread: uuid.UUID, run: str, turn: Turn) -> None:
        path = ("threads", str(thread), "runs")
        try:
            runs = [run] if run else await self._running(path, turn)
            for one in runs:
                query = {"wait": "false", "action": "interrupt"}
                await self.reach.json("POST", (*path, one, "cancel"), turn=turn, query=query, absent=True)
        except RightseatError as error:
            # A run that is over cannot be cancelled, and says so.
            log.debug("a run of thread %s was not cancelled: %s", thread, error.message)

    async def _running(self, path: tuple[str, ...], turn: Turn) -> list[str]:
        """Runs that were asked for by somebody who left before an id came back."""
        found = await self.reach.json("GET", path, turn=turn, query={"limit": "10"}, absent=True)
        listed = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
        return [str(item.get("run_id")) for item in listed if item.get("status") in ("pending", "running")]


class Leg:
    """Where a stream stands: its run, and the last event that came."""

    def __init__(self) -> None:
        self.run = ""
        # All of them, as long as none came.
        self.last = "-1"
        self.rejoins = 0
        self.moment: list[Frame] = []
        """The events with the last id."""

    def see(self, headers: Mapping[str, str]) -> None:
        found = _RUN.search(headers.get("content-location", ""))
        self.run = found[1] if found else self.run

    def is_new(self, frame: Frame) -> bool:
        """A server that is joined while its run goes on says some events twice: out of what it kept, and as
        they come. Ids grow, but events of one moment have the same."""
        if frame.id == self.last:
            if self.rejoins and frame in self.moment:
                return False
            self.moment.append(frame)
        elif frame.id:
            if self.rejoins and earlier(frame.id, self.last):
                return False
            self.last, self.moment = frame.id, [frame]
        if not self.run and frame.event == "metadata" and (found := _RUN_ID.search(frame.data)):
            self.run = found[1].decode()
        return True

    def goes_on(self) -> bool:
        """Whether the run can be joined where it was cut."""
        self.rejoins += 1
        return bool(self.run and self.rejoins <= REJOINS and _EVENT_ID.fullmatch(self.last))


def earlier(one: str, other: str) -> bool:
    """Of two ids, which are a moment in milliseconds and a number."""
    parts = [[int(part) for part in id.split("-") if part.isdecimal()] for id in (one, other)]
    return parts[0] < parts[1]


def read(item: Any) -> Assistant | None:
    match item:
        case {"assistant_id": str(id), "graph_id": str(graph)}:
            return Assistant(id, graph, str(item.get("name") or graph), str(item.get("description") or ""))
        case _:
            return None


def keys(schema: Any) -> frozenset[str] | None:
    """The keys of an object's schema; None where it says none."""
    if not isinstance(schema, dict):
        return None
    reference = str(schema.get("$ref", ""))
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    found = definitions.get(reference.rpartition("/")[2], schema) if reference else schema
    properties = found.get("properties") if isinstance(found, dict) else None
    return frozenset(properties) if isinstance(properties, dict) and properties else None


def digest(owner: Owner) -> str:
    return hashlib.sha256(owner.name.encode()).hexdigest()[:32]
