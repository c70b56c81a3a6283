"""A graph as an Agent, on a server or in this process."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import asdict

from rightseat.agents._peer.client import AgentOptions, PeerErrors
from rightseat.agents.langgraph.event_mapper import GraphStateTracker, LangGraphEventMapper
from rightseat.agents.langgraph.interrupts import parse_interrupt_id
from rightseat.agents.langgraph.model_outputs import ModelOutputs
from rightseat.agents.langgraph.request import (
    GraphRunRequest,
    GraphSchema,
    GraphThreadState,
    build_run_request,
    find_open_calls,
    messages_from_state,
)
from rightseat.agents.langgraph.wire import ServerSentEvent
from rightseat.types.agents import AgentThreadState
from rightseat.types.events import Event, RunFinished
from rightseat.types.streams import closing
from rightseat.types.turn import Owner, Turn, check_agent_depth

THREAD_NAMESPACE = uuid.UUID("5f0c1c1e-6a3b-5b0e-9a55-2f9d7c9b3e11")


class GraphRunConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of each run; it takes precedence over the client's."""

    recursion_limit: int | None = None
    configurable: dict[str, Any] = {}
    tags: list[str] = []


class LangGraphOptions(AgentOptions, frozen=True, kw_only=True):
    url: str = ""
    """The URL of a LangGraph server: LangGraph Platform or `langgraph dev`."""
    graph: Any = None
    """`module:attribute` of a graph that runs in this process, instead of `url`."""
    agents: tuple[str, ...] = ()
    """The server's assistants to offer, by name or graph id. Without it, the one with the name of this table, else
    all."""
    api_key: str | None = None
    """The server's key, sent as `X-Api-Key`."""
    refresh: float = 60
    """Seconds after which the list of assistants is fetched again."""
    config: GraphRunConfig = GraphRunConfig()
    """`recursion_limit`, `configurable` and `tags` of each run."""
    stream_subgraphs: bool = False
    """Whether the nodes of subgraphs are reported as steps too."""


class Graph(Protocol):
    """A graph that can run: an assistant of a server, or a compiled graph in this process."""

    errors: PeerErrors
    stream_subgraphs: bool

    async def fetch_schema(self, turn: Turn, /) -> GraphSchema: ...
    async def fetch_state(self, thread: uuid.UUID, turn: Turn, /) -> GraphThreadState | None: ...
    async def create_thread(self, thread: uuid.UUID, turn: Turn, /) -> None: ...
    async def is_thread_owner(self, thread: uuid.UUID, turn: Turn, /) -> bool: ...
    async def update_state(self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /) -> None: ...
    def stream_run(
        self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /
    ) -> AsyncIterator[ServerSentEvent]: ...


class GraphAgent:
    """An Agent. `get_graph` returns the graph or raises why it cannot. The AgentSource sets `unavailable_reason`."""

    can_ask = True

    def __init__(self, name: str, get_graph: Callable[[], Awaitable[Graph]], options: LangGraphOptions) -> None:
        self.name = name
        self.title = options.title
        self.description = options.description
        self.unavailable_reason = ""
        self._get_graph = get_graph
        self._config = {key: value for key, value in asdict(options.config).items() if value}

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        check_agent_depth(turn)
        graph = await self._get_graph()
        thread = await self._resolve_thread(graph, turn)
        state = await graph.fetch_state(thread, turn)
        schema = await graph.fetch_schema(turn)
        run_request = build_run_request(turn, state or GraphThreadState(), schema, self._config)
        if run_request.declined:
            yield RunFinished("stop")
            return
        if state is None:
            await graph.create_thread(thread, turn)
        if run_request.update is not None:
            await graph.update_state(thread, run_request, turn)
        # Messages of the thread and posted ones are not emitted again.
        known_ids = {message.id for message in turn.messages if message.id}
        known_ids |= {str(item["id"]) for item in state.messages if item.get("id")} if state else set()
        open_calls = find_open_calls(state, run_request) if state else ()
        mapper = LangGraphEventMapper(
            graph.errors,
            thread,
            ModelOutputs((tool.name for tool in turn.tools), known_ids, open_calls),
            GraphStateTracker(schema.outputs, stream_subgraphs=graph.stream_subgraphs),
            asks_in_chat=turn.client.shows_interrupts,
            is_delegated=turn.depth > 0,
            language=turn.get_language(),
        )
        async with closing(graph.stream_run(thread, run_request, turn)) as frames:
            async for frame in frames:
                for event in mapper.feed(frame.event, frame.data):
                    yield event
        for event in await self._read_final_state(graph, thread, turn, mapper):
            yield event
        for event in mapper.finish():
            yield event

    async def _read_final_state(
        self, graph: Graph, thread: uuid.UUID, turn: Turn, mapper: LangGraphEventMapper
    ) -> list[Event]:
        """Read from the thread's state what the stream lacks: a breakpoint, or the rest of a cut stream."""
        if mapper.interrupts or (mapper.graph_finished and not mapper.at_breakpoint):
            return []
        state = await graph.fetch_state(thread, turn)
        if state is None:
            return []
        for item in state.interrupts:
            mapper.interrupts.setdefault(item.id, item)
        return [] if mapper.graph_finished else list(mapper.on_values(state.values))

    async def get_thread_state(self, owner: Owner, thread: str, /) -> AgentThreadState | None:
        graph = await self._get_graph()
        state = await graph.fetch_state(self._make_thread_id(owner, thread), Turn(messages=(), owner=owner))
        if state is None:
            return None
        visible = GraphStateTracker().select_visible(state.values)
        return AgentThreadState(visible, tuple(messages_from_state(state.values)))

    def _make_thread_id(self, owner: Owner, thread: str) -> uuid.UUID:
        """Derive the UUID of an owner's thread: LangGraph accepts only UUIDs; owners never share one."""
        return uuid.uuid5(THREAD_NAMESPACE, "\0".join((owner.name, self.name, thread)))

    async def _resolve_thread(self, graph: Graph, turn: Turn) -> uuid.UUID:
        """Return the turn's thread, or the thread of the interrupt that it answers: not every client sends
        its thread with an answer."""
        own = self._make_thread_id(turn.owner, turn.thread) if turn.thread else uuid.uuid4()
        for answer in turn.answers:
            parsed = parse_interrupt_id(answer.interrupt)
            if parsed and parsed[0] != own and await graph.is_thread_owner(parsed[0], turn):
                return parsed[0]
        return own
