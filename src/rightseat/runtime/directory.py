"""Who answers to which name: assistants, flows, Responders that were given, and what remote places have."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from rightseat.engine.loop import Assistant
from rightseat.errors import AgentNotFound
from rightseat.tools.delegate import responder_tool
from rightseat.types.agents import Agent, AgentSource
from rightseat.types.events import Event
from rightseat.types.responder import Layer, Responder
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn


class Directory(Mapping[str, Responder]):
    """Finds everybody by name, and lists all but the hidden ones. What stands here has its name before any
    that a remote place has, and of two places the first."""

    def __init__(
        self,
        every: Mapping[str, Responder],
        hidden: Set[str] = frozenset(),
        sources: Sequence[AgentSource] = (),
        layers: Iterable[Layer] = (),
    ) -> None:
        self.layers = tuple(layers)
        self.bare = every
        self.sources = tuple(sources)
        self.every = {name: wrapped(responder, self.layers) for name, responder in every.items()}
        self.listed = [name for name in every if name not in hidden]
        self._guests: dict[str, tuple[Agent, Responder]] = {}

    def agent(self, name: str) -> Agent | None:
        """One that a remote place has now."""
        if name in self.every:
            return None
        return next((source.agents[name] for source in self.sources if name in source.agents), None)

    def inner(self, name: str) -> Responder:
        """Without the layers that belong to a request: for whoever hands a part of one over."""
        return self.bare.get(name) or self.agent(name) or self[name]

    def __getitem__(self, name: str) -> Responder:
        if name in self.every:
            return self.every[name]
        agent = self.agent(name)
        if agent is None:
            raise KeyError(name)
        kept = self._guests.get(name)
        if kept is None or kept[0] is not agent:
            kept = self._guests[name] = (agent, wrapped(agent, self.layers))
        return kept[1]

    def __contains__(self, name: object) -> bool:
        return name in self.every or any(name in source.agents for source in self.sources)

    def __iter__(self) -> Iterator[str]:
        yield from self.listed
        seen = set(self.every)
        for source in self.sources:
            for name in source.agents:
                if name not in seen:
                    seen.add(name)
                    yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class Layered:
    """A Responder in a layer. What is known of it before it is asked stays known to the layers around: one
    that has nothing to do for it steps aside, and no token pays for it."""

    outer: Responder
    can_ask: bool

    def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        return self.outer(turn)


def wrapped(responder: Responder, layers: Iterable[Layer]) -> Responder:
    """The first layer is the outermost."""
    can_ask = bool(getattr(responder, "can_ask", True))
    for layer in reversed(list(layers)):
        responder = Layered(layer(responder), can_ask)
    return responder


class Handing:
    """The tools by which assistants hand requests over. Whom they name is found when they are called: agents
    come and go, and two assistants may name each other."""

    def __init__(self) -> None:
        self.directory: Directory = Directory({})

    def equipped(self, assistant: Assistant, described: Mapping[str, str]) -> Assistant:
        tools = tuple(self.tool(name, described.get(name, "")) for name in assistant.agents)
        return replace(assistant, tools=(*assistant.tools, *tools)) if tools else assistant

    def tool(self, name: str, description: str) -> Tool:
        async def respond(turn: Turn) -> AsyncIterator[Event]:
            if name not in self.directory:
                known = ", ".join(self.directory)
                raise AgentNotFound(f"There is no agent {name!r} now. Those that exist: {known}")
            async with closing(self.directory.inner(name)(turn)) as events:
                async for event in events:
                    yield event

        title = f"ask_{re.sub(r'[^A-Za-z0-9_-]+', '_', name)}"[:64]
        words = description or f"Hand a request over to {name}, and get its answer."
        return responder_tool(title, words, respond, agent=name)
