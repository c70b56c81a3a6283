"""Tools as values: something with a name, a schema and perhaps a way to run it.

A tool's `call` yields events (progress, state, steps) and ends with one Result or one Pause. A plain function
becomes a tool by `@tool` (function.py); a flow or an agent is a tool by `responder_tool`; a client's tool has
no `call` and ends the run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct, field

from rightseat.types.events import Event
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec
from rightseat.types.turn import Turn

TEXT: dict[str, Any] = {"type": "string"}
APPROVAL: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}


class Result(Struct, frozen=True):
    """What a tool gave back. A string goes on as it is, None as an empty string, all else as JSON."""

    content: Any = None
    failed: bool = False

    @property
    def text(self) -> str:
        if self.content is None:
            return ""
        if isinstance(self.content, str):
            return self.content
        return msgspec.json.encode(self.content, enc_hook=plainly).decode()


def plainly(value: Any) -> Any:
    """What JSON has no form for: a pydantic model as its fields, anything else as its text."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None else dump(mode="json")


def failure(code: str, message: str) -> Result:
    """The one shape in which anything that went wrong with a call reaches the model and the client."""
    return Result({"error": {"code": code, "message": message}}, failed=True)


def approves(answer: Any) -> bool:
    """Whether an answer to a confirm is a yes; a form may send more than was asked for."""
    return isinstance(answer, dict) and answer.get("approved") is True


class Ask(Struct, frozen=True):
    """A question to the person: free text (ask), yes or no (confirm), or values that fit a schema (form)."""

    message: str
    kind: Literal["ask", "confirm", "form"] = "ask"
    schema: dict[str, Any] = field(default_factory=lambda: TEXT)


class Pause(Struct, frozen=True):
    """The tool stops here. It is called again with `state` and the answers, perhaps by another process."""

    asks: tuple[Ask, ...]
    state: Any = None


class Asked(BaseException):
    """Unwinds a function that asked. Not an Exception: a tool's own `except Exception` must not eat it."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask.message)
        self.ask = ask


@dataclass(slots=True)
class ToolContext:
    """What a tool may know of its call. Called again after a Pause, it also has `state` and `answers`."""

    turn: Turn
    call_id: str = ""
    state: Any = None
    answers: tuple[Any, ...] = ()
    said: tuple[Message, ...] = ()
    """What this turn has said and found out so far, after the messages it began with."""
    budget: int | None = None
    """Tokens that the result may take of the model's context; None where nobody knows how large that is."""
    key: str = ""
    """What a peer may know a repeated call by, where the caller may have to repeat it."""
    asked: int = attribute(default=0, init=False)

    def ask(self, message: str, schema: dict[str, Any] | None = None) -> Any:
        """Ask the person and return the answer. The run stops meanwhile and the function starts anew with the
        answer, so ask before doing anything that must not be done twice."""
        if self.asked < len(self.answers):
            self.asked += 1
            return self.answers[self.asked - 1]
        raise Asked(Ask(message) if schema is None else Ask(message, "form", schema))

    def confirm(self, message: str) -> bool:
        """Ask for a yes or no."""
        if self.asked < len(self.answers):
            self.asked += 1
            return approves(self.answers[self.asked - 1])
        raise Asked(Ask(message, "confirm", APPROVAL))


ToolCall = Callable[[dict[str, Any], ToolContext], AsyncIterator[Event | Result | Pause]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]
    call: ToolCall | None = None
    confirm: bool = False
    timeout: float | None = None
    function: Callable[..., Any] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    strict: bool = False
    effect: Literal["reads", "writes", "dangerous"] = "writes"
    """The most that a call may do."""
    outside: bool = False
    """What it gives is written by others: pages, mails, services. It may say anything."""
    asks: bool = False
    """It asks for a person's yes itself, before it does anything."""
    check: Callable[[Any], str | None] | None = None
    """Says what is wrong with arguments, in place of the schema: a tool that asks for what is missing takes
    less than its schema demands."""

    @property
    def client(self) -> bool:
        return self.call is None

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.parameters, self.strict)


class ToolSource(Protocol):
    """Tools beyond an assistant's own, such as plugins': too many to show, so each turn is offered some."""

    def __contains__(self, name: object, /) -> bool:
        """Whether one of its tools is called so, offered or not."""
        ...

    @property
    def questions(self) -> tuple[str, ...]:
        """What people could ask: doors suggest it."""
        ...

    @property
    def groups(self) -> dict[str, str]:
        """What a turn can be limited to (Turn.plugins): id → name."""
        ...

    def asked(self, turn: Turn, /) -> Turn:
        """The turn, with a question where the person said nothing and it is clear what is meant."""
        ...

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        """Add the tools of a turn, in a stable order. While it runs more may be added, none taken away."""
        ...

    def digest(self, names: Iterable[str], /) -> str:
        """Changes when one of these tools does."""
        ...


def client_tool(spec: ToolSpec) -> Tool:
    """A tool that runs where the person is: in the browser, in OpenBB, in an OpenAI client's own program."""
    return Tool(spec.name, spec.description, spec.parameters, strict=spec.strict)


def toolset(server: tuple[Tool, ...], client: tuple[ToolSpec, ...]) -> dict[str, Tool]:
    """All tools of a turn by name, server tools first; a client's tool never shadows one of the server's."""
    tools = {tool.name: tool for tool in server}
    for spec in client:
        tools.setdefault(spec.name, client_tool(spec))
    return tools
