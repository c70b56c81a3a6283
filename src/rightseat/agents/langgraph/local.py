"""A compiled graph in this process, streamed as the same server-sent events as a server's.

Its checkpointer stores the threads. Without one, each turn is a new thread with all posted messages, and
interrupts cannot be answered.
"""

from __future__ import annotations

import importlib
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from rightseat.agents._peer.faults import Faults
from rightseat.agents.langgraph.agent import Graph, GraphAgent
from rightseat.agents.langgraph.frames import Frame
from rightseat.agents.langgraph.request import Request, Schema, Standing, standing
from rightseat.agents.langgraph.server import MODES, keys
from rightseat.errors import ConfigError, Misused
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

# The data fields that the mapper reads; others hold whole inputs and are not encoded.
_READ = {
    "on_chat_model_stream": "chunk",
    "on_chat_model_end": "output",
    "on_tool_end": "output",
}


def plain(value: Any) -> Any:
    """Convert LangChain's messages to their fields, anything else to its text."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None else dump()


encode = msgspec.json.Encoder(enc_hook=plain).encode


class Local:
    """A Graph of this process. `graph` is the result of `StateGraph.compile()`."""

    def __init__(self, name: str, compiled: Any, *, nested: bool = False) -> None:
        self.faults = Faults(name)
        self.nested = nested
        self._graph = compiled
        self._remembers = getattr(compiled, "checkpointer", None) is not None
        self._schema: Schema | None = None

    async def schema(self, turn: Turn, /) -> Schema:
        if self._schema is None:
            graph = self._graph
            self._schema = Schema(
                inputs=keys(graph.get_input_jsonschema()),
                outputs=keys(graph.get_output_jsonschema()),
                settings=keys(graph.get_config_jsonschema()) or frozenset(),
            )
        return self._schema

    async def standing(
        self, thread: uuid.UUID, /, *, turn: Turn | None = None, owner: Owner | None = None
    ) -> Standing | None:
        if not self._remembers:
            return None
        state = await self._graph.aget_state(self._config(thread, {}))
        if not state.values and not state.next:
            return None
        told = {"values": state.values, "next": state.next, "tasks": [task_of(task) for task in state.tasks]}
        return standing(msgspec.json.decode(encode(told)))

    async def create(self, thread: uuid.UUID, turn: Turn, /) -> None:
        """Do nothing: the checkpointer creates a thread at its first run."""

    async def owned(self, thread: uuid.UUID, turn: Turn, /) -> bool:
        state = await self._graph.aget_state(self._config(thread, {})) if self._remembers else None
        return bool(state and state.metadata and state.metadata.get("rightseat_owner") == turn.owner.name)

    async def update(self, thread: uuid.UUID, asked: Request, turn: Turn, /) -> None:
        await self._graph.aupdate_state(self._config(thread, {}), asked.update, as_node=asked.node)

    async def stream(self, thread: uuid.UUID, asked: Request, turn: Turn, /) -> AsyncIterator[Frame]:
        config = self._config(thread, asked.config)
        config["metadata"] = {"rightseat_owner": turn.owner.name}
        given: Any = asked.input
        if asked.resume is not None:
            if not self._remembers:
                raise Misused(
                    "This graph has no checkpointer: compile it with one, so that it can be answered."
                )
            # Imported only here: rightseat itself does not depend on langgraph.
            given = importlib.import_module("langgraph.types").Command(resume=messages(asked.resume))
        events = self._graph.astream_events(
            given, config, version="v2", stream_mode=list(MODES[1:]), subgraphs=self.nested
        )
        async with closing(events):
            async for event in events:
                yield framed(event)

    def _config(self, thread: uuid.UUID, given: Mapping[str, Any]) -> dict[str, Any]:
        return {**given, "configurable": {**given.get("configurable", {}), "thread_id": str(thread)}}


def framed(event: dict[str, Any]) -> Frame:
    kind, data = event["event"], event.get("data") or {}
    if kind == "on_chain_stream" and not event.get("parent_ids"):
        # The top-level graph: the output of its stream modes.
        told = data.get("chunk")
        if isinstance(told, tuple) and len(told) >= 2:
            # With subgraphs, the namespace comes first; only the top-level state counts.
            inside = len(told) == 3 and bool(told[0])
            return Frame("inside" if inside else str(told[-2]), encode(told[-1]))
    part = _READ.get(kind)
    kept = {part: data.get(part)} if part else data if kind == "on_custom_event" else None
    metadata = {
        k: v for k, v in event.get("metadata", {}).items() if k.startswith(("langgraph_", "copilotkit:"))
    }
    names = ("event", "name", "run_id", "tags", "parent_ids")
    return Frame(
        "events", encode({**{k: event[k] for k in names if k in event}, "metadata": metadata, "data": kept})
    )


def messages(resume: Any) -> Any:
    """Convert a list of message dicts to LangChain messages; return any other value unchanged."""
    if isinstance(resume, list) and all(isinstance(item, dict) and "type" in item for item in resume):
        return importlib.import_module("langchain_core.messages").convert_to_messages(resume)
    return resume


def task_of(task: Any) -> dict[str, Any]:
    return {"interrupts": [{"id": item.id, "value": item.value} for item in task.interrupts]}


class LocalSource:
    def __init__(self, name: str, graph: Local, **more: Any) -> None:
        async def find() -> Graph:
            return graph

        self._agents = {name: GraphAgent(name, find, **more)}

    @property
    def agents(self) -> Mapping[str, GraphAgent]:
        return self._agents

    @property
    def tools(self) -> tuple[Tool, ...]:
        return ()

    async def start(self) -> None:
        """Do nothing: the graph is in this process."""

    async def close(self) -> None:
        """Do nothing: the graph ends with this process."""


def compiled(found: Any, option: str) -> Any:
    """Return a runnable graph, compiling it if needed; raises ConfigError for anything else."""
    if hasattr(found, "astream_events"):
        return found
    if hasattr(found, "compile"):
        return found.compile()
    raise ConfigError(f"graph: {option!r} is no LangGraph graph.", param="graph")
