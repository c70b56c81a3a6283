"""The assistants of a LangGraph server as agents. The agents of an unreachable server are listed as down and
probed again, in the background and at each request."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from rightseat.agents._peer.faults import PeerErrors
from rightseat.agents._peer.lookout import HealthMonitor
from rightseat.agents.langgraph.agent import Graph, GraphAgent
from rightseat.agents.langgraph.frames import ServerSentEvent
from rightseat.agents.langgraph.request import GraphRunRequest, GraphSchema, GraphThreadState
from rightseat.agents.langgraph.server import LangGraphAssistant, LangGraphServer
from rightseat.errors import DiscoveryFailed, RightseatError, UpstreamRefused
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

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

    def stream_run(
        self, thread: uuid.UUID, request: GraphRunRequest, turn: Turn, /
    ) -> AsyncIterator[ServerSentEvent]:
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

    def _select_assistants(
        self, assistants: list[LangGraphAssistant]
    ) -> dict[str, LangGraphAssistant | None]:
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

    def _update_agent(
        self, agent: GraphAgent, assistant: LangGraphAssistant | None, *, is_only_one: bool
    ) -> None:
        if assistant is None:
            self._graphs.pop(agent.name, None)
            agent.unavailable_reason = (
                f"The server of agent {self.name!r} has no assistant called {agent.name!r}."
            )
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
