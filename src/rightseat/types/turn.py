"""Turn: one request of a conversation, independent of the door's wire format."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.types.language import Language, find_language
from rightseat.types.messages import Message
from rightseat.types.model import RawPrompt, SamplingSettings, ToolChoice, ToolSpec

MAX_AGENT_DEPTH = 5
ConfirmAfterUntrusted = Literal["off", "dangerous", "writes", "all"]
"""Effects of calls that need approval once untrusted content is in the conversation."""
Truncation = Literal["auto", "disabled"]
"""What happens to a conversation that does not fit the model: its oldest turns are dropped, or it is refused."""


class Owner(Struct, frozen=True):
    """Owner of a turn: the first part of every store key. Threads of other owners are invisible."""

    name: str = "local"


class InterruptAnswer(Struct, frozen=True):
    """Answer of a person to an Interrupt: a value, or plain text where the door has only text."""

    interrupt: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None
    text: str | None = None


class AppContext(Struct, frozen=True):
    """Context item of the application (AG-UI context, a widget's data)."""

    description: str
    value: str


class ForwardedProps(Struct, frozen=True):
    """Properties that an application sends beside the conversation, for agents and tools. The client wrote
    them: they never decide about permissions."""

    properties: dict[str, Any] = {}
    """CopilotKit's `properties`, AG-UI's `forwardedProps`."""
    extensions: dict[str, Any] = {}
    config: dict[str, Any] = {}
    """Configuration of the called agent."""
    node: str = ""
    """Node at which the client believes the agent to wait; a waiting agent resumes there."""


class ClientTopics(Struct, frozen=True):
    """Topic rules of the client. They only tighten the operator's."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class TurnClient(Struct, frozen=True, kw_only=True):
    """Client of a turn: what it can display, and what it sends beside the conversation."""

    shows_interrupts: bool = True
    shows_artifacts: bool = True
    """Whether the client displays tables, charts and files; otherwise they become text and links."""
    shows_suggestions: bool = True
    """Whether the client displays suggested questions; otherwise those of a flow become text."""
    is_workspace: bool = False
    """Whether the client is a workspace (OpenBB), whose own data each conversation is about."""
    returns_call_ids: bool = True
    """Whether the client sends our call ids back with the results of its calls."""
    base_url: str = ""
    """URL under which the client reaches this server, for links."""
    headers: dict[str, str] = {}
    """Trace headers, and the headers that `forward_headers` lets through."""
    forwarded: ForwardedProps = ForwardedProps()
    topics: ClientTopics = ClientTopics()
    session: str | None = None
    """The client's name for its conversation. A cache key only: nothing is stored or looked up by it."""
    parent: str | None = None
    """Session that this one was forked from."""


class Turn(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    assistant: str | None = None
    model: str | None = None
    """Model that the client chooses, among those that the assistant offers."""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    plugins: tuple[str, ...] = ()
    """Plugins whose tools may be used; empty: all. The assistant's and the client's own tools stay."""
    output_schema: dict[str, Any] | None = None
    settings: SamplingSettings = SamplingSettings()
    context: tuple[AppContext, ...] = ()
    state: Any = None
    answers: tuple[InterruptAnswer, ...] = ()
    repeats_answer: bool = False
    """Whether its last message answers a question that was answered already."""
    thread: str = ""
    run: str = ""
    owner: Owner = Owner()
    client: TurnClient = TurnClient()
    confirm_after_untrusted: ConfirmAfterUntrusted = "off"
    has_untrusted_input: bool = False
    """Whether the caller of this sub-run has untrusted content in its conversation (prompt injection)."""
    recording: Literal["no", "asked", "never"] = "no"
    """Whether the client may ask for the conversation later; "never": a thread log has it or none may."""
    deadline: float | None = None
    depth: int = 0
    conversation: str | None = None
    raw: RawPrompt | None = None
    truncation: Truncation | None = None
    """The client's wish; None: as the assistant is set up."""
    caller_language: Language | None = None
    """Language of the person in a sub-run, whose messages a model wrote."""

    def get_language(self, default: Language = "en") -> Language:
        """Return the language of the person; `default` where the person has written nothing."""
        return self.caller_language or find_language(self.messages, default)


def check_agent_depth(turn: Turn) -> None:
    """Raise CallerError for a turn of assistants that call each other in a cycle."""
    if turn.depth > MAX_AGENT_DEPTH:
        raise CallerError(
            f"Assistants call each other more than {MAX_AGENT_DEPTH} levels deep. Remove the cycle in `agents`."
        )
