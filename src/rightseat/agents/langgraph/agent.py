"""A graph as an Agent, on a server or in this process."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from rightseat.agents._peer.faults import Faults
from rightseat.agents.langgraph.frames import Frame
from rightseat.agents.langgraph.mapping import Mapping
from rightseat.agents.langgraph.messages import recalled
from rightseat.agents.langgraph.questions import place
from rightseat.agents.langgraph.request import Request, Schema, Standing, open_calls, request
from rightseat.agents.langgraph.states import States
from rightseat.errors import CallerError
from rightseat.types.agents import Recalled
from rightseat.types.events import Event, RunFinished
from rightseat.types.streams import closing
from rightseat.types.turn import MAX_DEPTH, Owner, Turn

SPACE = uuid.UUID("5f0c1c1e-6a3b-5b0e-9a55-2f9d7c9b3e11")


class Graph(Protocol):
    """A graph that can run: an assistant of a server, or a compiled graph in this process."""

    faults: Faults
    nested: bool

    async def schema(self, turn: Turn, /) -> Schema: ...
    async def standing(
        self, thread: uuid.UUID, /, *, turn: Turn | None = None, owner: Owner | None = None
    ) -> Standing | None: ...
    async def create(self, thread: uuid.UUID, turn: Turn, /) -> None: ...
    async def owned(self, thread: uuid.UUID, turn: Turn, /) -> bool: ...
    async def update(self, thread: uuid.UUID, asked: Request, turn: Turn, /) -> None: ...
    def stream(self, thread: uuid.UUID, asked: Request, turn: Turn, /) -> AsyncIterator[Frame]: ...


class GraphAgent:
    """An Agent. `get_graph` returns the graph or raises why it cannot. The AgentSource sets `down`."""

    can_ask = True

    def __init__(
        self,
        name: str,
        find: Callable[[], Awaitable[Graph]],
        *,
        title: str = "",
        description: str = "",
        config: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self.down = ""
        self._find = find
        self._config = config or {}

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        if turn.depth > MAX_DEPTH:
            raise CallerError(f"Assistants call each other more than {MAX_DEPTH} deep. Break the circle.")
        graph = await self._find()
        thread = await self._thread(graph, turn)
        at = await graph.standing(thread, turn=turn)
        schema = await graph.schema(turn)
        asked = request(turn, at or Standing(), schema, self._config)
        if asked.declined:
            yield RunFinished("stop")
            return
        if at is None:
            await graph.create(thread, turn)
        if asked.update is not None:
            await graph.update(thread, asked, turn)
        mapping = Mapping(
            graph.faults,
            thread,
            clients=[tool.name for tool in turn.tools],
            known=ids(at, turn),
            waiting=open_calls(at, asked) if at else (),
            outputs=schema.outputs,
            nested=graph.nested,
            talks=turn.shows_interrupts,
            handed=turn.depth > 0,
        )
        async with closing(graph.stream(thread, asked, turn)) as frames:
            async for frame in frames:
                for event in mapping.feed(frame.event, frame.data):
                    yield event
        for event in await self._after(graph, thread, turn, mapping):
            yield event
        for event in mapping.end():
            yield event

    async def _after(self, graph: Graph, thread: uuid.UUID, turn: Turn, mapping: Mapping) -> list[Event]:
        """Read from the thread's state what the stream lacks: a breakpoint, or the rest of a cut stream."""
        if mapping.interrupts or (mapping.over and not mapping.paused):
            return []
        at = await graph.standing(thread, turn=turn)
        if at is None:
            return []
        for item in at.waiting:
            mapping.interrupts.setdefault(item.id, item)
        return [] if mapping.over else list(mapping.values(at.values))

    async def recall(self, owner: Owner, thread: str, /) -> Recalled | None:
        graph = await self._find()
        at = await graph.standing(self._own(owner, thread), owner=owner)
        if at is None:
            return None
        return Recalled(States().visible(at.values), tuple(recalled(at.values)))

    def _own(self, owner: Owner, thread: str) -> uuid.UUID:
        """Derive the UUID of an owner's thread: LangGraph accepts only UUIDs; owners never share one."""
        return uuid.uuid5(SPACE, "\0".join((owner.name, self.name, thread)))

    async def _thread(self, graph: Graph, turn: Turn) -> uuid.UUID:
        """Return the turn's thread, or the thread of the interrupt that it answers: not every client sends
        its thread with an answer."""
        own = self._own(turn.owner, turn.thread) if turn.thread else uuid.uuid4()
        for answer in turn.answers:
            found = place(answer.interrupt)
            if found and found[0] != own and await graph.owned(found[0], turn):
                return found[0]
        return own


def ids(at: Standing | None, turn: Turn) -> set[str]:
    """Return the ids of messages that are not emitted: the thread's and the posted ones."""
    held = {str(item["id"]) for item in at.messages if item.get("id")} if at else set()
    return held | {message.id for message in turn.messages if message.id}
