"""Responder and Layer, the central types; Agent and AgentSource, remote Responders and the endpoints that have them.

An [agents.NAME] table makes one AgentSource. Its agents may change at run time: an unreachable server is
listed as unavailable and retried, and a remote endpoint may add or remove agents.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from rightseat.types.agent_card import NO_CARD, AgentCard
from rightseat.types.events import Event
from rightseat.types.messages import Message
from rightseat.types.stores import SharedCheckpointStore
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn


class AgentThreadState(Struct, frozen=True):
    """State and messages that an agent keeps of a thread."""

    state: Any = None
    messages: tuple[Message, ...] = ()


class Agent(Protocol):
    """Responder with a name. `unavailable_reason` is empty while it can be called."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def unavailable_reason(self) -> str: ...

    def __call__(self, turn: Turn, /) -> AsyncIterator[Event]: ...

    async def get_thread_state(self, owner: Owner, thread: str, /) -> AgentThreadState | None:
        """Return the agent's own state of a thread; None if it keeps none."""
        ...


@dataclass(frozen=True, slots=True)
class RemoteAgentInfo:
    """Description of a remote agent for doors; its capabilities are not known here."""

    agent: Agent
    image: str = ""
    card: AgentCard = NO_CARD
    tools: tuple[Tool, ...] = ()
    context: int | None = None
    context_window: int | None = None
    suggestions: tuple[str, ...] = ()
    server_tools: tuple[str, ...] = ()
    groups: dict[str, str] = field(default_factory=dict)
    supports_images: bool = True
    needs_rules: bool = False
    has_file_tools: bool = True

    @property
    def title(self) -> str:
        return self.agent.title

    @property
    def description(self) -> str:
        text, reason = self.agent.description, self.agent.unavailable_reason
        return f"{text} (Cannot be asked now: {reason})".strip() if reason else text


class AgentSource(Protocol):
    @property
    def agents(self) -> Mapping[str, Agent]:
        """Agents known now, by the names that clients use."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Actions of the remote endpoint, as server tools."""
        ...

    async def start(self) -> None:
        """Discover the agents. Unreachable ones are retried in the background."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class RememberingSource(Protocol):
    """AgentSource that remembers something of its agents' threads. Where workers share a store, the Runtime sets it."""

    store: SharedCheckpointStore | None


Responder = Callable[[Turn], AsyncIterator[Event]]
Layer = Callable[[Responder], Responder]


def make_layer(applies_to: Callable[[Turn], bool], stream: Callable[[Responder, Turn], AsyncIterator[Event]]) -> Layer:
    """Return a Layer that passes some turns through `stream`. For any other it returns the inner stream itself, which
    then costs nothing per token."""

    def layer(inner: Responder) -> Responder:
        return lambda turn: stream(inner, turn) if applies_to(turn) else inner(turn)

    return layer
