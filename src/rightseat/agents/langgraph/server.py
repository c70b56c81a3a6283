"""The assistants of a LangGraph server as agents, over its REST API.

It does not use langgraph-sdk: `rightseat.http` parses events in a fraction of the time and cuts a cancelled
stream at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.client import AgentClient, StreamingResponse
from rightseat.agents._peer.json_text import dict_items
from rightseat.agents._peer.source import PeerSource
from rightseat.agents.langgraph.agent import Graph, GraphAgent, LangGraphOptions
from rightseat.agents.langgraph.request import (
    GraphRunRequest,
    GraphSchema,
    GraphThreadState,
    parse_graph_schema,
    parse_thread_state,
)
from rightseat.agents.langgraph.wire import ServerSentEvent, ServerSentEventParser
from rightseat.errors import (
    DiscoveryFailed,
    Incomplete,
    RightseatError,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamRefused,
    UpstreamRejected,
)
from rightseat.types.streams import start_task
from rightseat.types.turn import Owner, Turn

STREAM_MODES = ("events", "values", "updates")
PAGE_SIZE = 100
MAX_ASSISTANTS = 1000
MAX_REJOINS = 5
_RUN_LOCATION = re.compile(r"/runs/([0-9a-f-]{36})$")
_RUN_ID = re.compile(rb'"run_id": ?"([0-9a-f-]{36})"')
_EVENT_ID = re.compile(r"[A-Za-z0-9_.:\-]{1,100}")
log = logging.getLogger(__name__)


class LangGraphAssistant(Struct, frozen=True):
    """An assistant of the server: a graph with a configuration."""

    id: str
    graph: str
    name: str
    description: str = ""


class RemoteGraph:
    """A Graph: one assistant of a server."""

    def __init__(self, source: LangGraphServerSource, assistant: LangGraphAssistant) -> None:
        self.source = source
        self.client = source.client
        self.assistant = assistant
        self.errors = source.client.errors
        self.stream_subgraphs = source.options.stream_subgraphs
        self._schema: GraphSchema | None = None

    async def fetch_schema(self, turn: Turn, /) -> GraphSchema:
        if self._schema is None:
            path = ("assistants", self.assistant.id, "schemas")
            schemas = await self.client.request_json("GET", path, turn=turn, missing_ok=True)
            fields = schemas if isinstance(schemas, dict) else {}
            self._schema = parse_graph_schema(*map(fields.get, ("input_schema", "output_schema", "config_schema")))
        return self._schema

    # Threads.

    async def fetch_state(self, thread: uuid.UUID, turn: Turn, /) -> GraphThreadState | None:
        """Return the thread's state, or None if the thread does not exist. Each run begins with this request, so
        it detects a lost server."""
        path = ("threads", str(thread), "state")
        try:
            state = await self.client.request_json("GET", path, turn=turn, missing_ok=True)
        except UpstreamRefused as error:
            self.source.mark_down(error)
            raise
        return None if state is None else parse_thread_state(state)

    async def create_thread(self, thread: uuid.UUID, turn: Turn, /) -> None:
        metadata = {"rightseat_owner": hash_owner(turn.owner)}
        body = {"thread_id": str(thread), "if_exists": "do_nothing", "metadata": metadata}
        await self.client.request_json("POST", ("threads",), body, turn=turn)

    async def is_thread_owner(self, thread: uuid.UUID, turn: Turn, /) -> bool:
        """Whether the thread was created for the turn's owner."""
        fields = await self.client.request_json("GET", ("threads", str(thread)), turn=turn, missing_ok=True)
        metadata = fields.get("metadata") if isinstance(fields, dict) else None
        return isinstance(metadata, dict) and metadata.get("rightseat_owner") == hash_owner(turn.owner)

    async def update_state(self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /) -> None:
        body = {"values": request.update, "as_node": request.node}
        await self.client.request_json("POST", ("threads", str(thread), "state"), body, turn=turn, idempotent=False)

    # Runs.

    async def stream_run(
        self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /
    ) -> AsyncIterator[ServerSentEvent]:
        """Start a run and yield its events. A cut stream is resumed; leaving early cancels the run."""
        cursor = RunCursor()
        done = False
        try:
            while not done:
                # One generator: a second one would cost time for each token.
                try:
                    async with await self._open_stream(thread, request, turn, cursor) as response:
                        parser = ServerSentEventParser(self.errors)
                        async for data in response:
                            for event in parser.feed(data):
                                if cursor.is_new(event):
                                    yield event
                    done = True
                except Incomplete:
                    if not cursor.try_rejoin():
                        raise
                    log.info("run %s was cut off and is joined again", cursor.run_id)
        except (UpstreamRefused, UpstreamRejected, UpstreamDenied, UpstreamBusy):
            # A rejected request started no run.
            done = not cursor.run_id
            raise
        finally:
            if not done:
                start_task(self._cancel(thread, cursor.run_id, turn), self.source.cancels)

    async def _open_stream(
        self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, cursor: RunCursor
    ) -> StreamingResponse:
        """Open the stream of a run, from its beginning or after the last received event."""
        path = ("threads", str(thread), "runs")
        if cursor.run_id:
            joined = (*path, cursor.run_id, "stream")
            since = {"Last-Event-ID": cursor.last_event_id}
            response = await self.client.open_stream("GET", joined, turn=turn, headers=since, idempotent=True)
        else:
            body = self._build_run_body(request)
            response = await self.client.open_stream("POST", (*path, "stream"), body, turn=turn)
        cursor.read_run_id(response.headers)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.close()
            raise self.errors.invalid_response("no event stream")
        return response

    def _build_run_body(self, request: GraphRunRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "assistant_id": self.assistant.id,
            "stream_mode": STREAM_MODES,
            "stream_subgraphs": self.stream_subgraphs,
            # The run outlives its connection so that it can be rejoined; leaving cancels it explicitly.
            "stream_resumable": True,
            "on_disconnect": "continue",
            # A new request interrupts a run of the thread that nobody reads any more.
            "multitask_strategy": "interrupt",
            "if_not_exists": "create",
        }
        if request.config:
            body["config"] = request.config
        command = {"input": request.input} if request.resume is None else {"command": {"resume": request.resume}}
        return {**body, **command}

    async def _cancel(self, thread: uuid.UUID, run: str, turn: Turn) -> None:
        path, query = ("threads", str(thread), "runs"), {"wait": "false", "action": "interrupt"}
        try:
            for id in [run] if run else await self._list_active_runs(path, turn):
                await self.client.request_json("POST", (*path, id, "cancel"), turn=turn, query=query, missing_ok=True)
        except RightseatError as error:
            # The server rejects cancelling a finished run.
            log.debug("a run of thread %s was not cancelled: %s", thread, error.message)

    async def _list_active_runs(self, path: tuple[str, ...], turn: Turn) -> list[str]:
        """List the thread's active runs, for a caller that left before it had the run's id."""
        response = await self.client.request_json("GET", path, turn=turn, query={"limit": "10"}, missing_ok=True)
        active = [item for item in dict_items(response) if item.get("status") in ("pending", "running")]
        return [str(item.get("run_id")) for item in active]


class RunCursor(Struct):
    """Position in a run's stream: the run and the last received event."""

    run_id: str = ""
    last_event_id: str = "-1"
    """At first -1: from the first event."""
    rejoins: int = 0
    events_at_last_id: list[ServerSentEvent] = []
    """The events with the last id, for detecting repetitions."""

    def read_run_id(self, headers: Mapping[str, str]) -> None:
        match = _RUN_LOCATION.search(headers.get("content-location", ""))
        self.run_id = match[1] if match else self.run_id

    def is_new(self, event: ServerSentEvent) -> bool:
        """Whether the event was not received before. A rejoined server sends some events twice: stored and
        live. Ids grow, but events of the same millisecond may share one."""
        if event.id == self.last_event_id:
            if self.rejoins and event in self.events_at_last_id:
                return False
            self.events_at_last_id.append(event)
        elif event.id:
            if self.rejoins and parse_event_id(event.id) < parse_event_id(self.last_event_id):
                return False
            self.last_event_id, self.events_at_last_id = event.id, [event]
        if not self.run_id and event.event == "metadata" and (match := _RUN_ID.search(event.data)):
            self.run_id = match[1].decode()
        return True

    def try_rejoin(self) -> bool:
        """Count a rejoin; return whether the run can be rejoined after the last event."""
        self.rejoins += 1
        return bool(self.run_id and self.rejoins <= MAX_REJOINS and _EVENT_ID.fullmatch(self.last_event_id))


def parse_event_id(id: str) -> list[int]:
    """Parse an event id, a time in milliseconds and a number."""
    return [int(part) for part in id.split("-") if part.isdecimal()]


class LangGraphServerSource(PeerSource):
    """An AgentSource. The option `agents` has names or graph ids; empty: the assistant called `name`, else all."""

    def __init__(self, name: str, client: AgentClient, options: LangGraphOptions) -> None:
        super().__init__(name, interval=options.refresh)
        self.client = client
        self.options = options
        self.agents: dict[str, GraphAgent] = {}
        self.cancels: set[asyncio.Task[None]] = set()
        """Cancellations of runs under way."""
        self._graphs: dict[str, RemoteGraph] = {}
        self._mark_all_down("It was not looked for yet.")

    async def close(self) -> None:
        """Finish pending cancellations, then close the connections."""
        await super().close()
        if self.cancels:
            await asyncio.wait(self.cancels, timeout=2)
        for task in tuple(self.cancels):
            task.cancel()
        self.client.close()

    async def probe(self) -> None:
        """Update the agents from the server; raises if the server or a wanted assistant is missing."""
        try:
            selected = self._select_assistants(await self._list_assistants())
        except RightseatError as error:
            self._mark_all_down(error.message)
            raise
        before, self.agents = self.agents, {}
        for name, assistant in selected.items():
            agent = self.agents[name] = before.get(name) or self._make_agent(name)
            self._update_agent(agent, assistant, is_only_one=len(selected) == 1)
        missing = [agent.unavailable_reason for agent in self.agents.values() if agent.unavailable_reason]
        if missing:
            raise DiscoveryFailed(missing[0])

    def mark_down(self, error: RightseatError) -> None:
        self._mark_all_down(error.message)
        super().mark_down(error)

    async def _list_assistants(self) -> list[LangGraphAssistant]:
        assistants: list[LangGraphAssistant] = []
        while len(assistants) < MAX_ASSISTANTS:
            body = {"limit": PAGE_SIZE, "offset": len(assistants)}
            page = await self.client.request_json("POST", ("assistants", "search"), body)
            if not isinstance(page, list):
                raise self.client.errors.invalid_response("no list of assistants")
            assistants += [assistant for item in page if (assistant := parse_assistant(item))]
            if len(page) < PAGE_SIZE:
                break
        return assistants

    def _select_assistants(self, assistants: list[LangGraphAssistant]) -> dict[str, LangGraphAssistant | None]:
        """Return the assistants by the names that clients use; None for a wanted but missing one."""
        if self.options.agents:
            return {name: find_assistant(name, assistants) for name in self.options.agents}
        if not assistants:
            return {self.name: None}
        if (own := find_assistant(self.name, assistants)) is not None:
            return {self.name: own}
        names = [assistant.name for assistant in assistants]
        return {item.name if names.count(item.name) == 1 else item.id: item for item in assistants}

    def _mark_all_down(self, why: str) -> None:
        """Set `unavailable_reason` of all known or wanted agents."""
        for name in self.agents or self.options.agents or (self.name,):
            self.agents.setdefault(name, self._make_agent(name)).unavailable_reason = why

    def _make_agent(self, name: str) -> GraphAgent:
        return GraphAgent(name, functools.partial(self.get_graph, name), self.options)

    def _update_agent(self, agent: GraphAgent, assistant: LangGraphAssistant | None, *, is_only_one: bool) -> None:
        if assistant is None:
            self._graphs.pop(agent.name, None)
            agent.unavailable_reason = f"The server of agent {self.name!r} has no assistant called {agent.name!r}."
            return
        agent.unavailable_reason = ""
        agent.title = self.options.title if is_only_one else assistant.name
        agent.description = (self.options.description if is_only_one else "") or assistant.description
        known = self._graphs.get(agent.name)
        if known is None or known.assistant != assistant:
            self._graphs[agent.name] = RemoteGraph(self, assistant)

    async def get_graph(self, name: str) -> Graph:
        agent = self.agents.get(name)
        if agent is None or agent.unavailable_reason or name not in self._graphs:
            with contextlib.suppress(RightseatError):
                await self.probe()
                self.mark_up()
            agent = self.agents.get(name)
        if agent is None or agent.unavailable_reason:
            gone = f"The server of agent {self.name!r} no longer has {name!r}."
            raise DiscoveryFailed(agent.unavailable_reason if agent else gone)
        return self._graphs[name]


def parse_assistant(item: Any) -> LangGraphAssistant | None:
    match item:
        case {"assistant_id": str(id), "graph_id": str(graph)}:
            return LangGraphAssistant(id, graph, str(item.get("name") or graph), str(item.get("description") or ""))
        case _:
            return None


def find_assistant(name: str, assistants: list[LangGraphAssistant]) -> LangGraphAssistant | None:
    """Find an assistant by its name, graph or id, in this order."""
    keys = ("name", "graph", "id")
    return next((item for key in keys for item in assistants if getattr(item, key) == name), None)


def hash_owner(owner: Owner) -> str:
    return hashlib.sha256(owner.name.encode()).hexdigest()[:32]
