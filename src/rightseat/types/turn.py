"""One turn of a conversation as a door has read it, free of any door's wire."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from rightseat.types.messages import Message
from rightseat.types.model import Raw, Settings, ToolChoice, ToolSpec

MAX_DEPTH = 5
Caution = Literal["off", "dangerous", "writes", "all"]
"""Which calls a person must agree to once something from outside was read."""


class Owner(Struct, frozen=True):
    """Whose turn it is: the first part of every store key. Another owner's thread does not exist."""

    name: str = "local"


class Answer(Struct, frozen=True):
    """A person's answer to an Interrupt: a value, or plain text where a door has only text."""

    interrupt: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None
    text: str | None = None


class Context(Struct, frozen=True):
    """Something the application says about itself (AG-UI context, a widget's data)."""

    description: str
    value: str


class Forwarded(Struct, frozen=True):
    """What an application sends beside the conversation, for agents and tools to read. Its client wrote it:
    nothing here may decide what somebody is allowed to do."""

    properties: dict[str, Any] = {}
    """CopilotKit's `properties`, AG-UI's `forwardedProps`."""
    extensions: dict[str, Any] = {}
    config: dict[str, Any] = {}
    """The configuration of the agent that is asked."""
    node: str = ""
    """Where the client believes the agent to be: it goes on from there, if it waits."""


class Topics(Struct, frozen=True):
    """What a client itself wants to be kept to, beside the operator's rules: it only makes them stricter."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Turn(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    assistant: str | None = None
    model: str | None = None
    """What the client would have it answered with, of the models that the assistant lets it choose."""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    plugins: tuple[str, ...] = ()
    """Only the tools of these plugins, besides the assistant's own and the client's; none is all."""
    output_schema: dict[str, Any] | None = None
    settings: Settings = Settings()
    context: tuple[Context, ...] = ()
    state: Any = None
    answers: tuple[Answer, ...] = ()
    thread: str = ""
    run: str = ""
    owner: Owner = Owner()
    headers: dict[str, str] = {}
    """By whose trace it is, and of the client's what the rules let through (`forwarding.py`)."""
    forwarded: Forwarded = Forwarded()
    topics: Topics = Topics()
    caution: Caution = "off"
    exposed: bool = False
    """Whoever calls this one has read something from outside, which may have put words into its mouth."""
    keep: Literal["no", "asked", "never"] = "no"
    """Whether its client may come back for the conversation; never, if a log has it or none should."""
    deadline: float | None = None
    depth: int = 0
    shows_interrupts: bool = True
    shows_artifacts: bool = True
    """The client draws tables and charts and gives files; else they are said in words and links."""
    base: str = ""
    """Where the client finds this server, for links."""
    echoes: bool = True
    """The client brings our ids back with the results of its calls."""
    conversation: str | None = None
    session: str | None = None
    """What the client calls its conversation, for caches only: nothing is looked up or stored by it."""
    parent: str | None = None
    """The session that this one was forked from."""
    raw: Raw | None = None
