"""Agents as values: a Responder that lives elsewhere, and the place that has one or more of them.

An [agents.NAME] table makes one AgentSource. What it has may change while it runs: a server that is down is
listed as down and found again later, and a remote endpoint may have another agent tomorrow.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec import Struct

from rightseat.types.events import Event
from rightseat.types.messages import Message
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn


class Recalled(Struct, frozen=True):
    """What an agent itself remembers of a thread."""

    state: Any = None
    messages: tuple[Message, ...] = ()


class Agent(Protocol):
    """A Responder with a name. `down` says why it cannot be asked now; empty, it can."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def down(self) -> str: ...

    def __call__(self, turn: Turn, /) -> AsyncIterator[Event]: ...

    async def recall(self, owner: Owner, thread: str, /) -> Recalled | None:
        """None where it remembers no such thread, or nothing at all."""
        ...


@dataclass(frozen=True, slots=True)
class Guest:
    """An agent as doors describe it: what it can do is its own matter."""

    agent: Agent
    image: str = ""
    tools: tuple[Tool, ...] = ()
    context: int | None = None
    room: int | None = None
    suggestions: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    groups: dict[str, str] = field(default_factory=dict)
    sees: bool = True
    equipped: bool = True

    @property
    def title(self) -> str:
        return self.agent.title

    @property
    def description(self) -> str:
        words, down = self.agent.description, self.agent.down
        return f"{words} (Cannot be asked now: {down})".strip() if down else words


class AgentSource(Protocol):
    @property
    def agents(self) -> Mapping[str, Agent]:
        """Those that are known now, by the names that clients ask for."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What it can do besides: a remote endpoint's actions, as tools that run here."""
        ...

    async def start(self) -> None:
        """Look what is there. What cannot be reached is looked for again, in the background."""
        ...

    async def close(self) -> None: ...
