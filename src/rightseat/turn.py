"""One turn of a conversation as a door has read it, free of any door's wire."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from rightseat.messages import Message
from rightseat.prompt import Raw, Settings, ToolChoice, ToolSpec

MAX_DEPTH = 5


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


class Turn(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    assistant: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    output_schema: dict[str, Any] | None = None
    settings: Settings = Settings()
    context: tuple[Context, ...] = ()
    state: Any = None
    answers: tuple[Answer, ...] = ()
    thread: str = ""
    run: str = ""
    owner: Owner = Owner()
    headers: dict[str, str] = {}
    deadline: float | None = None
    depth: int = 0
    shows_interrupts: bool = True
    conversation: str | None = None
    session: str | None = None
    """What the client calls its conversation, for caches only: nothing is looked up or stored by it."""
    parent: str | None = None
    """The session that this one was forked from."""
    raw: Raw | None = None
