"""A compiled graph in this process, streamed as the same server-sent events as a server's.

Its checkpointer stores the threads. Without one, each turn is a new thread with all posted messages, and
interrupts cannot be answered.
"""

from __future__ import annotations

import importlib
import logging
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents.langgraph.agent import Graph, GraphAgent, LangGraphOptions
from rightseat.agents.langgraph.request import (
    GraphRunRequest,
    GraphSchema,
    GraphThreadState,
    parse_graph_schema,
    parse_thread_state,
)
from rightseat.agents.langgraph.server import STREAM_MODES
from rightseat.agents.langgraph.wire import ServerSentEvent
from rightseat.errors import ConfigError, Misused
from rightseat.types.agents import Agent
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
# The data fields that the mapper reads; others hold whole inputs and are not encoded.
_READ_FIELDS = {"on_chat_model_stream": "chunk", "on_chat_model_end": "output", "on_tool_end": "output"}


def to_plain_value(value: Any) -> Any:
    """Convert LangChain's messages to their fields, anything else to its text."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None else dump()


encode_plain = msgspec.json.Encoder(enc_hook=to_plain_value).encode


class LocalGraph:
    """A Graph of this process. `graph` is the result of `StateGraph.compile()`."""

    def __init__(self, name: str, graph: Any, stream_subgraphs: bool) -> None:
        self.errors = PeerErrors(name)
        self.stream_subgraphs = stream_subgraphs
        self._graph = graph
        self._has_checkpointer = getattr(graph, "checkpointer", None) is not None
        self._schema: GraphSchema | None = None

    async def fetch_schema(self, turn: Turn, /) -> GraphSchema:
        if self._schema is None:
            graph = self._graph
            self._schema = parse_graph_schema(
                make_state_schema(graph, "input"), make_state_schema(graph, "output"), graph.get_config_jsonschema()
            )
        return self._schema

    async def fetch_state(self, thread: uuid.UUID, turn: Turn, /) -> GraphThreadState | None:
        if not self._has_checkpointer:
            return None
        state = await self._graph.aget_state(self._build_config(thread, {}))
        if not state.values and not state.next:
            return None
        tasks = [{"interrupts": [{"id": item.id, "value": item.value} for item in t.interrupts]} for t in state.tasks]
        state_fields = {"values": state.values, "next": state.next, "tasks": tasks}
        return parse_thread_state(msgspec.json.decode(encode_plain(state_fields)))

    async def create_thread(self, thread: uuid.UUID, turn: Turn, /) -> None:
        """Do nothing: the checkpointer creates a thread at its first run."""

    async def is_thread_owner(self, thread: uuid.UUID, turn: Turn, /) -> bool:
        state = await self._graph.aget_state(self._build_config(thread, {})) if self._has_checkpointer else None
        return bool(state and state.metadata and state.metadata.get("rightseat_owner") == turn.owner.name)

    async def update_state(self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /) -> None:
        await self._graph.aupdate_state(self._build_config(thread, {}), request.update, as_node=request.node)

    async def stream_run(
        self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /
    ) -> AsyncIterator[ServerSentEvent]:
        config = self._build_config(thread, request.config)
        config["metadata"] = {"rightseat_owner": turn.owner.name}
        graph_input: Any = request.input
        if request.resume is not None:
            if not self._has_checkpointer:
                raise Misused(
                    "This graph has no checkpointer: compile it with one, so that it can continue after a question."
                )
            # Imported only here: rightseat itself does not depend on langgraph.
            graph_input = importlib.import_module("langgraph.types").Command(resume=to_resume_value(request.resume))
        events = self._graph.astream_events(
            graph_input, config, version="v2", stream_mode=list(STREAM_MODES[1:]), subgraphs=self.stream_subgraphs
        )
        async with closing(events):
            async for event in events:
                yield to_server_sent_event(event)

    def _build_config(self, thread: uuid.UUID, config: Mapping[str, Any]) -> dict[str, Any]:
        return {**config, "configurable": {**config.get("configurable", {}), "thread_id": str(thread)}}


def make_state_schema(graph: Any, side: str) -> Any:
    """Return the JSON Schema of the graph's input or output. Pydantic refuses a `typing.TypedDict` before Python 3.12:
    then the schema has only the names of the keys."""
    try:
        return getattr(graph, f"get_{side}_jsonschema")()
    except (RuntimeError, TypeError, ValueError) as error:
        log.debug("the %s of a graph has no JSON Schema: %s", side, error)
        # `input_schema` was called `input` before LangGraph 0.5.
        builder = getattr(graph, "builder", None)
        state_type = getattr(builder, f"{side}_schema", None) or getattr(builder, side, None)
        return {"properties": {key: {} for key in getattr(state_type, "__annotations__", {})}}


def to_server_sent_event(event: dict[str, Any]) -> ServerSentEvent:
    kind, data = event["event"], event.get("data") or {}
    if kind == "on_chain_stream" and not event.get("parent_ids"):
        # The top-level graph: the output of its stream modes.
        chunk = data.get("chunk")
        if isinstance(chunk, tuple) and len(chunk) >= 2:
            # With subgraphs, the namespace comes first; only the top-level state counts.
            is_subgraph = len(chunk) == 3 and bool(chunk[0])
            return ServerSentEvent("inside" if is_subgraph else str(chunk[-2]), encode_plain(chunk[-1]))
    part = _READ_FIELDS.get(kind)
    event_data = {part: data.get(part)} if part else data if kind == "on_custom_event" else None
    metadata = {k: v for k, v in event.get("metadata", {}).items() if k.startswith(("langgraph_", "copilotkit:"))}
    names = ("event", "name", "run_id", "tags", "parent_ids")
    return ServerSentEvent(
        "events", encode_plain({**{k: event[k] for k in names if k in event}, "metadata": metadata, "data": event_data})
    )


def to_resume_value(resume: Any) -> Any:
    """Convert a list of message dicts to LangChain messages; return any other value unchanged."""
    if isinstance(resume, list) and all(isinstance(item, dict) and "type" in item for item in resume):
        return importlib.import_module("langchain_core.messages").convert_to_messages(resume)
    return resume


class LocalGraphSource:
    tools: tuple[Tool, ...] = ()

    def __init__(self, name: str, graph: LocalGraph, options: LangGraphOptions) -> None:
        async def get_graph() -> Graph:
            return graph

        self.agents: Mapping[str, Agent] = {name: GraphAgent(name, get_graph, options)}

    async def start(self) -> None:
        """Do nothing: the graph is in this process."""

    async def close(self) -> None:
        """Do nothing: the graph ends with this process."""


def compile_graph(graph: Any, option: str) -> Any:
    """Return a runnable graph, compiling it if needed; raises ConfigError for anything else."""
    if hasattr(graph, "astream_events"):
        return graph
    if hasattr(graph, "compile"):
        return graph.compile()
    raise ConfigError(
        f"graph: {option!r} is not a LangGraph graph. Name a compiled or uncompiled StateGraph as module:attribute.",
        param="graph",
    )
