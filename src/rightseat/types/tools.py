"""Tool, Toolset and the values that tools return.

A tool's `call` yields events (progress, state, steps) and ends with one Result or one Pause. `@tool` makes a
tool of a function (tools/function.py), `make_responder_tool` of a flow or an agent. A client's tool has no
`call` and ends the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import partial
from typing import Any, Literal, Protocol, get_args

import msgspec
from msgspec import Struct, field

from rightseat.types.events import Event
from rightseat.types.json_values import encode_json
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec
from rightseat.types.text import escape_invisible
from rightseat.types.turn import ArgumentConverter, Turn

Effect = Literal["reads", "writes", "dangerous"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
TEXT_SCHEMA: dict[str, Any] = {"type": "string"}
APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}


class Result(Struct, frozen=True):
    """Result of a tool call. A string is passed on unchanged, None as an empty string, all else as JSON
    (types/json_values.py: data frames, dates, numbers and models of other libraries too)."""

    content: Any = None
    failed: bool = False

    @property
    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return encode_json(self.content).decode()


def error_result(code: str, message: str) -> Result:
    """Make the Result that reports a failed call to the model and the client."""
    return Result({"error": {"code": code, "message": message}}, failed=True)


UNDEFINED_RESULT = "undefined_result"
"""Code of the error of a calculation that was read well and has no result: its message is the answer."""
RERUN_ACTION, RERUN_RETRY, RERUN_SKIP = "then", "retry", "skip"
"""Field and values of the answer to the question whether something that may have run shall run again."""
UNANSWERED = error_result("not_answered", "This call was never answered.").text
"""The result of a call that has none."""


def is_approved(answer: Any) -> bool:
    """Whether the answer to a confirm question approves; extra fields are ignored."""
    return isinstance(answer, dict) and answer.get("approved") is True


class Ask(Struct, frozen=True):
    """Question to the person: free text (ask), yes or no (confirm), or values that fit a schema (form)."""

    message: str
    kind: Literal["ask", "confirm", "form"] = "ask"
    schema: dict[str, Any] = field(default_factory=lambda: TEXT_SCHEMA)


def make_approval(text: str) -> Ask:
    """Make the question for an approval. Characters that a screen hides or reorders are shown as what they are: a
    person must see what is approved."""
    return Ask(escape_invisible(text, keep="\n"), "confirm", APPROVAL_SCHEMA)


class Pause(Struct, frozen=True):
    """Pause of a tool. It is called again with `state` and the answers, perhaps in another process."""

    asks: tuple[Ask, ...]
    state: Any = None


class AskSignal(BaseException):
    """Signal that unwinds a function that asks. Not an Exception: `except Exception` must not catch it."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask.message)
        self.ask = ask


@dataclass(slots=True)
class ToolContext:
    """Context of a tool call. After a Pause it also has `state` and `answers`."""

    turn: Turn
    call_id: str = ""
    state: Any = None
    answers: tuple[Any, ...] = ()
    turn_messages: tuple[Message, ...] = ()
    """Messages of this turn so far, after those that it began with."""
    budget: int | None = None
    """Tokens that the result may take; None if the model's context window is unknown."""
    idempotency_key: str = ""
    """Idempotency key for the peer, where the caller may have to repeat the call."""
    answers_used: int = attribute(default=0, init=False)

    @property
    def options(self) -> dict[str, Any]:
        """Options that the user has set for the assistant, by name: those of OpenBB Workspace with the author's
        defaults, at other doors the properties that the application sends. They never decide about permissions."""
        return self.turn.client.forwarded.properties

    def ask(self, message: str, schema: dict[str, Any] | None = None) -> Any:
        """Ask the person and return the answer. The run stops meanwhile, and the function restarts with the
        answer: ask before any side effect that must not happen twice."""
        return self._next_answer(Ask(message) if schema is None else Ask(message, "form", schema))

    def confirm(self, message: str) -> bool:
        """Ask the person for approval; return whether it was given."""
        return is_approved(self._next_answer(make_approval(message)))

    def _next_answer(self, ask: Ask) -> Any:
        if self.answers_used == len(self.answers):
            raise AskSignal(ask)
        self.answers_used += 1
        return self.answers[self.answers_used - 1]


ToolHandler = Callable[[dict[str, Any], ToolContext], AsyncIterator[Event | Result | Pause]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]
    call: ToolHandler | None = None
    confirm: bool = False
    timeout: float | None = None
    function: Callable[..., Any] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    strict: bool = False
    effect: Effect = "writes"
    """The strongest effect that a call may have."""
    untrusted: bool = False
    """Whether its result is untrusted content: web pages, mails, other services."""
    asks_approval: bool = False
    """Whether the tool itself asks for approval before any effect."""
    check: Callable[[Any], str | None] | None = None
    """Validates the arguments instead of the schema and returns the problem: a tool that asks for missing
    values accepts less than its schema requires."""
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Converts the arguments before they are checked; raises CallerError for what the model must mend."""
    fingerprint: str = ""
    """Hash of what a call does beyond the schema: its target or its code."""
    is_offered: Callable[[Turn], bool] | None = None
    """Decides whether a turn gets the tool; None: every turn does."""

    @property
    def runs_on_client(self) -> bool:
        return self.call is None

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.parameters, self.strict)


class Toolset(Protocol):
    """Set of further tools, such as plugins': too many for one prompt, so each turn gets a selection."""

    def __contains__(self, name: object, /) -> bool:
        """Whether one of its tools has this name, selected or not."""
        ...

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Suggested questions, shown by doors."""
        return ()

    @property
    def groups(self) -> dict[str, str]:
        """Plugins that a turn can be limited to (Turn.plugins): id → name."""
        return {}

    def with_default_question(self, turn: Turn, /) -> Turn:
        """Return the turn, with a default question if the person sent none and only one fits."""
        return turn

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, turn_messages: Sequence[Message], /) -> None:
        """Add the tools of a turn to `tools`, in a stable order. Later calls may add more, never remove."""
        ...

    async def wait_for_tools(self, names: Collection[str], /) -> None:
        """Wait for the source of these tools where it is still starting, as after a restart."""
        return

    def fingerprint(self, names: Iterable[str], /) -> str:
        """Return a hash that changes when one of these tools changes."""
        ...


def fingerprint_tools(tools: Iterable[Tool]) -> str:
    """Return a hash of the tools: an open question of a call to one of them is void when it changes."""
    hashed = [(tool.spec, tool.confirm, tool.asks_approval, tool.fingerprint) for tool in tools]
    return hashlib.sha256(msgspec.json.encode(hashed)).hexdigest()[:16]


def make_client_tool(spec: ToolSpec, convert: ArgumentConverter | None = None) -> Tool:
    """Make a tool that the client runs: the browser, OpenBB, an OpenAI client's own program."""
    return Tool(
        spec.name,
        spec.description,
        spec.parameters,
        strict=spec.strict,
        convert=partial(convert, spec.name) if convert else None,
    )
