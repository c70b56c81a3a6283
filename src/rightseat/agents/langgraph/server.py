"""Client of LangGraph's REST API (assistants, threads, state, runs) and its assistants as agents.

It does not use langgraph-sdk: `rightseat.http` parses events in a fraction of the time and cuts a cancelled
stream at once.
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
    """An assistant of the server: a graph with a configuration."""

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
        """Finish pending cancellations, then close the connections."""
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
        """Return the thread's state, or None if the thread does not exist."""
        path = ("threads", str(thread), "state")
        state = await self.reach.json("GET", path, turn=turn, owner=owner, absent=True)
        return None if state is None else standing(state)

    async def create(self, thread: uuid.UUID, turn: Turn) -> None:
        metadata = {"rightseat_owner": digest(turn.owner)}
        body = {"thread_id": str(thread), "if_exists": "do_nothing", "metadata": metadata}
        await self.reach.json("POST", ("threads",), body, turn=turn)

    async def owned(self, thread: uuid.UUID, turn: Turn) -> bool:
        """Whether the thread was created for the turn's owner."""
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
        """Start a run and yield its events. A cut stream is resumed; leaving early cancels the run."""
        leg = Leg()
        done = False
        try:
            while not done:
                # One generator: a second one would cost time for each token.
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
            # A rejected request started no run.
            done = not leg.run
            raise
        finally:
            if not done:
                self._cancel_later(thread, leg.run, turn)

    async def _opened(
        self, assistant: str, thread: uuid.UUID, asked: Request, turn: Turn, leg: Leg
    ) -> Incoming:
        """Open the stream of a run, from its beginning or after the last received event."""
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
            # The run outlives its connection so that it can be rejoined; leaving cancels it explicitly.
            "stream_resumable": True,
            "on_disconnect": "continue",
            # A new request interrupts a run of the thread that nobody reads any more.
            "multitask_strategy": "interrupt",
            "if_not_exists": "create",
        }
        if asked.config:
            body["config"] = asked.config
        if asked.resume is not None:
            return {**body, "command": {"resume": asked.resume}}
        return {**body, "input": asked.input}

    def _cancel_later(self, thread: uuid.UUID, run: str, turn: Turn) -> None:
        """Cancel the run in a background task."""
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
            # The server rejects cancelling a finished run.
            log.debug("a run of thread %s was not cancelled: %s", thread, error.message)

    async def _running(self, path: tuple[str, ...], turn: Turn) -> list[str]:
        """List the thread's active runs, for a caller that left before it had the run's id."""
        found = await self.reach.json("GET", path, turn=turn, query={"limit": "10"}, absent=True)
        listed = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
        return [str(item.get("run_id")) for item in listed if item.get("status") in ("pending", "running")]


class Leg:
    """Position in a run's stream: the run and the last received event."""

    def __init__(self) -> None:
        self.run = ""
        # -1: from the first event.
        self.last = "-1"
        self.rejoins = 0
        self.moment: list[Frame] = []
        """The events with the last id, for detecting repetitions."""

    def see(self, headers: Mapping[str, str]) -> None:
        found = _RUN.search(headers.get("content-location", ""))
        self.run = found[1] if found else self.run

    def is_new(self, frame: Frame) -> bool:
        """Whether the event was not received before. A rejoined server sends some events twice: stored and
        live. Ids grow, but events of the same millisecond may share one."""
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
        """Count a rejoin; return whether the run can be rejoined after the last event."""
        self.rejoins += 1
        return bool(self.run and self.rejoins <= REJOINS and _EVENT_ID.fullmatch(self.last))


def earlier(one: str, other: str) -> bool:
    """Compare two event ids, each a time in milliseconds and a number."""
    parts = [[int(part) for part in id.split("-") if part.isdecimal()] for id in (one, other)]
    return parts[0] < parts[1]


def read(item: Any) -> Assistant | None:
    match item:
        case {"assistant_id": str(id), "graph_id": str(graph)}:
            return Assistant(id, graph, str(item.get("name") or graph), str(item.get("description") or ""))
        case _:
            return None


def keys(schema: Any) -> frozenset[str] | None:
    """Return the property names of an object schema; None if it declares none."""
    if not isinstance(schema, dict):
        return None
    reference = str(schema.get("$ref", ""))
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    found = definitions.get(reference.rpartition("/")[2], schema) if reference else schema
    properties = found.get("properties") if isinstance(found, dict) else None
    return frozenset(properties) if isinstance(properties, dict) and properties else None


def digest(owner: Owner) -> str:
    return hashlib.sha256(owner.name.encode()).hexdigest()[:32]
