"""Client of LangGraph's REST API (assistants, threads, state, runs) and its assistants as agents.

The assistants of a LangGraph server as agents.

It does not use langgraph-sdk: `rightseat.http` parses events in a fraction of the time and cuts a cancelled
stream at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.client import AgentClient, StreamingResponse
from rightseat.agents._peer.errors import PeerErrors
from rightseat.agents._peer.health import HealthMonitor
from rightseat.agents.langgraph.agent import Graph, GraphAgent
from rightseat.agents.langgraph.request import GraphRunRequest, GraphSchema, GraphThreadState, parse_thread_state
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
from rightseat.types.tools import Tool
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


class LangGraphServer:
    def __init__(self, client: AgentClient, *, stream_subgraphs: bool = False) -> None:
        self.client = client
        self.errors = client.errors
        self.stream_subgraphs = stream_subgraphs
        self._cancels: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Finish pending cancellations, then close the connections."""
        if self._cancels:
            await asyncio.wait(self._cancels, timeout=2)
        for task in tuple(self._cancels):
            task.cancel()
        self.client.close()

    async def list_assistants(self) -> list[LangGraphAssistant]:
        assistants: list[LangGraphAssistant] = []
        while len(assistants) < MAX_ASSISTANTS:
            body = {"limit": PAGE_SIZE, "offset": len(assistants)}
            page = await self.client.request_json("POST", ("assistants", "search"), body)
            if not isinstance(page, list):
                raise self.errors.invalid_response("no list of assistants")
            assistants += [assistant for item in page if (assistant := parse_assistant(item))]
            if len(page) < PAGE_SIZE:
                break
        return assistants

    async def fetch_schema(self, assistant: str, turn: Turn) -> GraphSchema:
        schemas = await self.client.request_json(
            "GET", ("assistants", assistant, "schemas"), turn=turn, missing_ok=True
        )
        if not isinstance(schemas, dict):
            return GraphSchema()
        return GraphSchema(
            inputs=list_schema_keys(schemas.get("input_schema")),
            outputs=list_schema_keys(schemas.get("output_schema")),
            settings=list_schema_keys(schemas.get("config_schema")) or frozenset(),
        )

    # Threads.

    async def fetch_state(
        self, thread: uuid.UUID, *, turn: Turn | None = None, owner: Owner | None = None
    ) -> GraphThreadState | None:
        """Return the thread's state, or None if the thread does not exist."""
        path = ("threads", str(thread), "state")
        state = await self.client.request_json("GET", path, turn=turn, owner=owner, missing_ok=True)
        return None if state is None else parse_thread_state(state)

    async def create_thread(self, thread: uuid.UUID, turn: Turn) -> None:
        metadata = {"rightseat_owner": hash_owner(turn.owner)}
        body = {"thread_id": str(thread), "if_exists": "do_nothing", "metadata": metadata}
        await self.client.request_json("POST", ("threads",), body, turn=turn)

    async def is_thread_owner(self, thread: uuid.UUID, turn: Turn) -> bool:
        """Whether the thread was created for the turn's owner."""
        thread_fields = await self.client.request_json("GET", ("threads", str(thread)), turn=turn, missing_ok=True)
        metadata = thread_fields.get("metadata") if isinstance(thread_fields, dict) else None
        return isinstance(metadata, dict) and metadata.get("rightseat_owner") == hash_owner(turn.owner)

    async def update_state(self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn) -> None:
        body = {"values": request.update, "as_node": request.node}
        await self.client.request_json("POST", ("threads", str(thread), "state"), body, turn=turn, idempotent=False)

    # Runs.

    async def stream_run(
        self, assistant: str, thread: uuid.UUID, request: GraphRunRequest, turn: Turn
    ) -> AsyncIterator[ServerSentEvent]:
        """Start a run and yield its events. A cut stream is resumed; leaving early cancels the run."""
        cursor = RunCursor()
        done = False
        try:
            while not done:
                # One generator: a second one would cost time for each token.
                try:
                    async with await self._open_stream(assistant, thread, request, turn, cursor) as response:
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
                self._cancel_later(thread, cursor.run_id, turn)

    async def _open_stream(
        self, assistant: str, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, cursor: RunCursor
    ) -> StreamingResponse:
        """Open the stream of a run, from its beginning or after the last received event."""
        path = ("threads", str(thread), "runs")
        if cursor.run_id:
            joined = (*path, cursor.run_id, "stream")
            since = {"Last-Event-ID": cursor.last_event_id}
            response = await self.client.open_stream("GET", joined, turn=turn, headers=since, idempotent=True)
        else:
            body = self._build_run_body(assistant, request)
            response = await self.client.open_stream("POST", (*path, "stream"), body, turn=turn)
        cursor.read_run_id(response.headers)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.close()
            raise self.errors.invalid_response("no event stream")
        return response

    def _build_run_body(self, assistant: str, request: GraphRunRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "assistant_id": assistant,
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
        if request.resume is not None:
            return {**body, "command": {"resume": request.resume}}
        return {**body, "input": request.input}

    def _cancel_later(self, thread: uuid.UUID, run: str, turn: Turn) -> None:
        """Cancel the run in a background task."""
        task = asyncio.create_task(self._cancel(thread, run, turn))
        self._cancels.add(task)
        task.add_done_callback(self._cancels.discard)

    async def _cancel(self, thread: uuid.UUID, run: str, turn: Turn) -> None:
        path = ("threads", str(thread), "runs")
        try:
            runs = [run] if run else await self._list_active_runs(path, turn)
            for run_id in runs:
                query = {"wait": "false", "action": "interrupt"}
                await self.client.request_json(
                    "POST", (*path, run_id, "cancel"), turn=turn, query=query, missing_ok=True
                )
        except RightseatError as error:
            # The server rejects cancelling a finished run.
            log.debug("a run of thread %s was not cancelled: %s", thread, error.message)

    async def _list_active_runs(self, path: tuple[str, ...], turn: Turn) -> list[str]:
        """List the thread's active runs, for a caller that left before it had the run's id."""
        response = await self.client.request_json("GET", path, turn=turn, query={"limit": "10"}, missing_ok=True)
        runs = [item for item in response if isinstance(item, dict)] if isinstance(response, list) else []
        return [str(item.get("run_id")) for item in runs if item.get("status") in ("pending", "running")]


class RunCursor:
    """Position in a run's stream: the run and the last received event."""

    def __init__(self) -> None:
        self.run_id = ""
        # -1: from the first event.
        self.last_event_id = "-1"
        self.rejoins = 0
        self.events_at_last_id: list[ServerSentEvent] = []
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
            if self.rejoins and is_earlier_id(event.id, self.last_event_id):
                return False
            self.last_event_id, self.events_at_last_id = event.id, [event]
        if not self.run_id and event.event == "metadata" and (match := _RUN_ID.search(event.data)):
            self.run_id = match[1].decode()
        return True

    def try_rejoin(self) -> bool:
        """Count a rejoin; return whether the run can be rejoined after the last event."""
        self.rejoins += 1
        return bool(self.run_id and self.rejoins <= MAX_REJOINS and _EVENT_ID.fullmatch(self.last_event_id))


def is_earlier_id(first: str, second: str) -> bool:
    """Compare two event ids, each a time in milliseconds and a number."""
    parts = [[int(part) for part in id.split("-") if part.isdecimal()] for id in (first, second)]
    return parts[0] < parts[1]


def parse_assistant(item: Any) -> LangGraphAssistant | None:
    match item:
        case {"assistant_id": str(id), "graph_id": str(graph)}:
            return LangGraphAssistant(id, graph, str(item.get("name") or graph), str(item.get("description") or ""))
        case _:
            return None


def list_schema_keys(schema: Any) -> frozenset[str] | None:
    """Return the property names of an object schema; None if it declares none."""
    if not isinstance(schema, dict):
        return None
    reference = str(schema.get("$ref", ""))
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    definition = definitions.get(reference.rpartition("/")[2], schema) if reference else schema
    properties = definition.get("properties") if isinstance(definition, dict) else None
    return frozenset(properties) if isinstance(properties, dict) and properties else None


def hash_owner(owner: Owner) -> str:
    return hashlib.sha256(owner.name.encode()).hexdigest()[:32]


OnConnectionLost = Callable[[UpstreamRefused], None]


class RemoteGraph:
    """A Graph: one assistant of a server. `on_connection_lost` is called if the server is unreachable."""

    def __init__(
        self, server: LangGraphServer, assistant: LangGraphAssistant, on_connection_lost: OnConnectionLost
    ) -> None:
        self.server = server
        self.assistant = assistant
        self.on_connection_lost = on_connection_lost
        self.errors: PeerErrors = server.errors
        self.stream_subgraphs = server.stream_subgraphs
        self._schema: GraphSchema | None = None

    async def fetch_schema(self, turn: Turn, /) -> GraphSchema:
        if self._schema is None:
            self._schema = await self.server.fetch_schema(self.assistant.id, turn)
        return self._schema

    async def fetch_state(
        self, thread: uuid.UUID, /, *, turn: Turn | None = None, owner: Owner | None = None
    ) -> GraphThreadState | None:
        """Fetch the thread's state. Each run begins with this request, so it detects a lost server."""
        try:
            return await self.server.fetch_state(thread, turn=turn, owner=owner)
        except UpstreamRefused as error:
            self.on_connection_lost(error)
            raise

    async def create_thread(self, thread: uuid.UUID, turn: Turn, /) -> None:
        await self.server.create_thread(thread, turn)

    async def is_thread_owner(self, thread: uuid.UUID, turn: Turn, /) -> bool:
        return await self.server.is_thread_owner(thread, turn)

    async def update_state(self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /) -> None:
        await self.server.update_state(thread, request, turn)

    def stream_run(self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /) -> AsyncIterator[ServerSentEvent]:
        return self.server.stream_run(self.assistant.id, thread, request, turn)


class LangGraphServerSource:
    """An AgentSource. `wanted` are names or graph ids; empty: the assistant called `name`, else all."""

    def __init__(
        self,
        name: str,
        server: LangGraphServer,
        wanted: tuple[str, ...] = (),
        *,
        title: str = "",
        description: str = "",
        config: dict[str, Any] | None = None,
        refresh: float = 60,
    ) -> None:
        self.name = name
        self.server = server
        self.wanted = wanted
        self._title = title
        self._description = description
        self._config = config
        self._graphs: dict[str, RemoteGraph] = {}
        self._agents: dict[str, GraphAgent] = {}
        self._health = HealthMonitor(name, self._probe, interval=refresh)
        self._mark_all_down("It was not looked for yet.")

    @property
    def agents(self) -> Mapping[str, GraphAgent]:
        return self._agents

    @property
    def tools(self) -> tuple[Tool, ...]:
        return ()

    async def start(self) -> None:
        await self._health.start()

    async def close(self) -> None:
        await self._health.close()
        await self.server.close()

    async def _probe(self) -> None:
        """Update the agents from the server; raises if the server or a wanted assistant is missing."""
        try:
            selected = self._select_assistants(await self.server.list_assistants())
        except RightseatError as error:
            self._mark_all_down(error.message)
            raise
        before, self._agents = self._agents, {}
        for name, assistant in selected.items():
            agent = self._agents[name] = before.get(name) or self._make_agent(name)
            self._update_agent(agent, assistant, is_only_one=len(selected) == 1)
        missing = [agent.unavailable_reason for agent in self._agents.values() if agent.unavailable_reason]
        if missing:
            raise DiscoveryFailed(missing[0])

    def _on_connection_lost(self, error: UpstreamRefused) -> None:
        self._mark_all_down(error.message)
        self._health.mark_down(error)

    def _select_assistants(self, assistants: list[LangGraphAssistant]) -> dict[str, LangGraphAssistant | None]:
        """Return the assistants by the names that clients use; None for a wanted but missing one."""
        if self.wanted:
            return {name: find_assistant(name, assistants) for name in self.wanted}
        if not assistants:
            return {self.name: None}
        if (own := find_assistant(self.name, assistants)) is not None:
            return {self.name: own}
        names = [assistant.name for assistant in assistants]
        return {one.name if names.count(one.name) == 1 else one.id: one for one in assistants}

    def _mark_all_down(self, why: str) -> None:
        """Set `down` of all known or wanted agents."""
        for name in self._agents or self.wanted or (self.name,):
            self._agents.setdefault(name, self._make_agent(name)).unavailable_reason = why

    def _make_agent(self, name: str) -> GraphAgent:
        async def find() -> Graph:
            return await self.get_graph(name)

        return GraphAgent(name, find, title=self._title, description=self._description, config=self._config)

    def _update_agent(self, agent: GraphAgent, assistant: LangGraphAssistant | None, *, is_only_one: bool) -> None:
        if assistant is None:
            self._graphs.pop(agent.name, None)
            agent.unavailable_reason = f"The server of agent {self.name!r} has no assistant called {agent.name!r}."
            return
        agent.unavailable_reason = ""
        agent.title = self._title if is_only_one else assistant.name
        agent.description = (self._description if is_only_one else "") or assistant.description
        known = self._graphs.get(agent.name)
        if known is None or known.assistant != assistant:
            self._graphs[agent.name] = RemoteGraph(self.server, assistant, self._on_connection_lost)

    async def get_graph(self, name: str) -> Graph:
        agent = self._agents.get(name)
        if agent is None or agent.unavailable_reason or name not in self._graphs:
            with contextlib.suppress(RightseatError):
                await self._probe()
                self._health.mark_up()
            agent = self._agents.get(name)
        if agent is None or agent.unavailable_reason:
            gone = f"The server of agent {self.name!r} no longer has {name!r}."
            raise DiscoveryFailed(agent.unavailable_reason if agent else gone)
        return self._graphs[name]


def find_assistant(name: str, assistants: list[LangGraphAssistant]) -> LangGraphAssistant | None:
    """Find an assistant by its name, graph or id, in this order."""
    for key in ("name", "graph", "id"):
        for assistant in assistants:
            if getattr(assistant, key) == name:
                return assistant
    return None
