"""One graph as an Agent: a turn in, events out, wherever the graph runs."""

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
    """Where a graph runs: on a server, or here."""

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
    """`find` gives the graph, or raises what is in its way. `down` is kept by whoever looks for it."""

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
        """What the stream did not say: a breakpoint, or all of its rest where it was cut off for good."""
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
        """An owner's thread. LangGraph takes only UUIDs; two owners never get the same one."""
        return uuid.uuid5(SPACE, "\0".join((owner.name, self.name, thread)))

    async def _thread(self, graph: Graph, turn: Turn) -> uuid.UUID:
        """The turn's own, or where a question was asked that it answers: not every client brings its thread
        along."""
        own = self._own(turn.owner, turn.thread) if turn.thread else uuid.uuid4()
        for answer in turn.answers:
            found = place(answer.interrupt)
            if found and found[0] != own and await graph.owned(found[0], turn):
                return found[0]
        return own


def ids(at: Standing | None, turn: Turn) -> set[str]:
    """Of the messages that need not be told: the thread's and the posted ones."""
    held = {str(item["id"]) for item in at.messages if item.get("id")} if at else set()
    return held | {message.id for message in turn.messages if message.id}
