"""The assistants of a LangGraph server as agents. The agents of an unreachable server are listed as down and
probed again, in the background and at each request."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from rightseat.agents._peer.faults import Faults
from rightseat.agents._peer.lookout import Lookout
from rightseat.agents.langgraph.agent import Graph, GraphAgent
from rightseat.agents.langgraph.frames import Frame
from rightseat.agents.langgraph.request import Request, Schema, Standing
from rightseat.agents.langgraph.server import Assistant, Server
from rightseat.errors import DiscoveryFailed, RightseatError, UpstreamRefused
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

Lost = Callable[[UpstreamRefused], None]


class Remote:
    """A Graph: one assistant of a server. `on_connection_lost` is called if the server is unreachable."""

    def __init__(self, server: Server, assistant: Assistant, lost: Lost) -> None:
        self.server = server
        self.assistant = assistant
        self.lost = lost
        self.faults: Faults = server.faults
        self.nested = server.nested
        self._schema: Schema | None = None

    async def schema(self, turn: Turn, /) -> Schema:
        if self._schema is None:
            self._schema = await self.server.schema(self.assistant.id, turn)
        return self._schema

    async def standing(
        self, thread: uuid.UUID, /, *, turn: Turn | None = None, owner: Owner | None = None
    ) -> Standing | None:
        """Fetch the thread's state. Each run begins with this request, so it detects a lost server."""
        try:
            return await self.server.standing(thread, turn=turn, owner=owner)
        except UpstreamRefused as error:
            self.lost(error)
            raise

    async def create(self, thread: uuid.UUID, turn: Turn, /) -> None:
        await self.server.create(thread, turn)

    async def owned(self, thread: uuid.UUID, turn: Turn, /) -> bool:
        return await self.server.owned(thread, turn)

    async def update(self, thread: uuid.UUID, asked: Request, turn: Turn, /) -> None:
        await self.server.update(thread, asked, turn)

    def stream(self, thread: uuid.UUID, asked: Request, turn: Turn, /) -> AsyncIterator[Frame]:
        return self.server.stream(self.assistant.id, thread, asked, turn)


class ServerSource:
    """An AgentSource. `wanted` are names or graph ids; empty: the assistant called `name`, else all."""

    def __init__(
        self,
        name: str,
        server: Server,
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
        self._remotes: dict[str, Remote] = {}
        self._agents: dict[str, GraphAgent] = {}
        self._lookout = Lookout(name, self._look, every=refresh)
        self._refuse("It was not looked for yet.")

    @property
    def agents(self) -> Mapping[str, GraphAgent]:
        return self._agents

    @property
    def tools(self) -> tuple[Tool, ...]:
        return ()

    async def start(self) -> None:
        await self._lookout.start()

    async def close(self) -> None:
        await self._lookout.close()
        await self.server.close()

    async def _look(self) -> None:
        """Update the agents from the server; raises if the server or a wanted assistant is missing."""
        try:
            found = self._chosen(await self.server.assistants())
        except RightseatError as error:
            self._refuse(error.message)
            raise
        before, self._agents = self._agents, {}
        for name, assistant in found.items():
            agent = self._agents[name] = before.get(name) or self._agent(name)
            self._describe(agent, assistant, alone=len(found) == 1)
        missing = [agent.down for agent in self._agents.values() if agent.down]
        if missing:
            raise DiscoveryFailed(missing[0])

    def _lost(self, error: UpstreamRefused) -> None:
        self._refuse(error.message)
        self._lookout.lost(error)

    def _chosen(self, listed: list[Assistant]) -> dict[str, Assistant | None]:
        """Return the assistants by the names that clients use; None for a wanted but missing one."""
        if self.wanted:
            return {name: called(name, listed) for name in self.wanted}
        if not listed:
            return {self.name: None}
        if (own := called(self.name, listed)) is not None:
            return {self.name: own}
        names = [assistant.name for assistant in listed]
        return {one.name if names.count(one.name) == 1 else one.id: one for one in listed}

    def _refuse(self, why: str) -> None:
        """Set `down` of all known or wanted agents."""
        for name in self._agents or self.wanted or (self.name,):
            self._agents.setdefault(name, self._agent(name)).down = why

    def _agent(self, name: str) -> GraphAgent:
        async def find() -> Graph:
            return await self.find(name)

        return GraphAgent(name, find, title=self._title, description=self._description, config=self._config)

    def _describe(self, agent: GraphAgent, assistant: Assistant | None, *, alone: bool) -> None:
        if assistant is None:
            self._remotes.pop(agent.name, None)
            agent.down = f"The server of agent {self.name!r} has no assistant called {agent.name!r}."
            return
        agent.down = ""
        agent.title = self._title if alone else assistant.name
        agent.description = (self._description if alone else "") or assistant.description
        known = self._remotes.get(agent.name)
        if known is None or known.assistant != assistant:
            self._remotes[agent.name] = Remote(self.server, assistant, self._lost)

    async def find(self, name: str) -> Graph:
        agent = self._agents.get(name)
        if agent is None or agent.down or name not in self._remotes:
            with contextlib.suppress(RightseatError):
                await self._look()
                self._lookout.seen()
            agent = self._agents.get(name)
        if agent is None or agent.down:
            gone = f"The server of agent {self.name!r} no longer has {name!r}."
            raise DiscoveryFailed(agent.down if agent else gone)
        return self._remotes[name]


def called(name: str, listed: list[Assistant]) -> Assistant | None:
    """Find an assistant by its name, graph or id, in this order."""
    for key in ("name", "graph", "id"):
        for assistant in listed:
            if getattr(assistant, key) == name:
                return assistant
    return None
