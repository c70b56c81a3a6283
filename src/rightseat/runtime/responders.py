"""ResponderRegistry: assistants, flows, other Responders and remote agents by name."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from rightseat.engine.loop import Assistant
from rightseat.errors import AgentNotFound
from rightseat.runtime.runs import DEFAULT_ASSISTANT
from rightseat.tools.delegate import make_responder_tool
from rightseat.types.agents import Agent, AgentSource, Layer, Responder
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Turn


class ResponderRegistry(Mapping[str, Responder]):
    """Mapping of names to responders; iteration skips hidden ones. A local name wins over a remote agent's,
    and the first agent source over later ones. `find_default` returns the name of the agent or
    flow that the name "default" means."""

    def __init__(
        self,
        responders: Mapping[str, Responder],
        hidden: Set[str] = frozenset(),
        sources: Sequence[AgentSource] = (),
        layers: Iterable[Layer] = (),
        *,
        find_default: Callable[[], str] | None = None,
    ) -> None:
        self.find_default = find_default
        self.layers = tuple(layers)
        self.unlayered = responders
        self.sources = tuple(sources)
        self.layered = {name: apply_layers(responder, self.layers) for name, responder in responders.items()}
        self.visible_names = [name for name in responders if name not in hidden]
        self._remote_agents: dict[str, tuple[Agent, Responder]] = {}

    def resolve(self, name: str | None) -> str:
        """Return the responder's own name where the default one is meant; any other name is as it is."""
        if name is not None and name != DEFAULT_ASSISTANT:
            return name
        return self.find_default() if self.find_default is not None else DEFAULT_ASSISTANT

    def find_agent(self, name: str) -> Agent | None:
        """Return the remote agent that has this name now."""
        name = self.resolve(name)
        if name in self.layered:
            return None
        return next((source.agents[name] for source in self.sources if name in source.agents), None)

    def get_unlayered(self, name: str) -> Responder:
        """Return the responder without request layers, for a handoff inside a run."""
        return self.unlayered.get(self.resolve(name)) or self.find_agent(name) or self[name]

    def __getitem__(self, name: str) -> Responder:
        name = self.resolve(name)
        if name in self.layered:
            return self.layered[name]
        agent = self.find_agent(name)
        if agent is None:
            raise KeyError(name)
        cached = self._remote_agents.get(name)
        if cached is None or cached[0] is not agent:
            cached = self._remote_agents[name] = (agent, apply_layers(agent, self.layers))
        return cached[1]

    def __contains__(self, name: object) -> bool:
        if name == DEFAULT_ASSISTANT:
            name = self.resolve(None)
        return name in self.layered or any(name in source.agents for source in self.sources)

    def __iter__(self) -> Iterator[str]:
        remote = (name for source in self.sources for name in source.agents if name not in self.layered)
        # Clients look for the default one in lists.
        default = (DEFAULT_ASSISTANT,) if self.find_default is not None and DEFAULT_ASSISTANT in self else ()
        return iter(dict.fromkeys((*default, *self.visible_names, *remote)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class LayeredResponder:
    """Responder wrapped in a layer. It keeps `can_ask`, so that an outer layer without work for it can step
    aside and costs nothing per token."""

    responder: Responder
    can_ask: bool

    def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        return self.responder(turn)


def apply_layers(responder: Responder, layers: Iterable[Layer]) -> Responder:
    """Wrap a responder in layers; the first is the outermost."""
    can_ask = bool(getattr(responder, "can_ask", True))
    for layer in reversed(list(layers)):
        responder = LayeredResponder(layer(responder), can_ask)
    return responder


def add_handoff_tools(
    assistant: Assistant, descriptions: Mapping[str, str], get_responders: Callable[[], ResponderRegistry]
) -> Assistant:
    """Return the assistant with a tool for each agent that it may hand requests over to. Names are resolved at call
    time: agents come and go, and two assistants may name each other."""
    tools = (make_handoff_tool(name, descriptions.get(name, ""), get_responders) for name in assistant.agents)
    return replace(assistant, tools=(*assistant.tools, *tools))


def make_handoff_tool(name: str, description: str, get_responders: Callable[[], ResponderRegistry]) -> Tool:
    async def respond(turn: Turn) -> AsyncIterator[Event]:
        responders = get_responders()
        if name not in responders:
            raise AgentNotFound(f"There is no agent {name!r} now. Those that exist: {', '.join(responders)}")
        async with closing(responders.get_unlayered(name)(turn)) as events:
            async for event in events:
                yield event

    tool_name = f"ask_{re.sub(r'[^A-Za-z0-9_-]+', '_', name)}"[:64]
    text = description or f"Hand a request over to {name}, and get its answer."
    return make_responder_tool(tool_name, text, respond, agent=name)
