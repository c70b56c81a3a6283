"""Turn: one request of a conversation, independent of the door's wire format."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.types.language import Language, find_language
from rightseat.types.messages import DATE_LABEL, Message, measure_messages
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


ArgumentConverter = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Raises CallerError for arguments that the model must mend."""


class TurnClient(Struct, frozen=True, kw_only=True):
    """Client of a turn: what it can display, and what it sends beside the conversation."""

    shows_interrupts: bool = True
    shows_artifacts: bool = True
    """Whether the client displays tables, charts and files; otherwise they become text and links."""
    chart_kinds: tuple[str, ...] | None = None
    """Kinds of charts that the client draws; None: any, where it displays artifacts. Others become tables."""
    shows_suggestions: bool = True
    """Whether the client displays suggested questions; otherwise those of a flow become text."""
    is_workspace: bool = False
    """Whether the client is a workspace (OpenBB), whose own data each conversation is about."""
    workspace: dict[str, Any] = {}
    """What a workspace shows, as its client posted it: `widgets`, lists under `primary` (picked by the user),
    `secondary` (on the dashboard) and `extra`, and `state`, with the current dashboard."""
    returns_call_ids: bool = True
    """Whether the client sends our call ids back with the results of its calls."""
    page_url: str = ""
    """URL of the page that the person sees, as the client tells it."""
    public_key: str = ""
    """CopilotKit's public API key of the page, for a validator; empty where the header holds a key of this server."""
    base_url: str = ""
    """URL under which the client reaches this server, for links."""
    headers: dict[str, str] = {}
    """Trace headers, and the headers that `forward_headers` lets through."""
    forwarded: ForwardedProps = ForwardedProps()
    topics: ClientTopics = ClientTopics()
    convert_arguments: ArgumentConverter | None = None
    """Converts the arguments of a call to one of the client's own tools, by its name, to what the client takes."""
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
    known_answer: str = ""
    """Answer that rules have computed from the client's data; a model that needs rules gives it unchanged."""
    caller_language: Language | None = None
    """Language of the person where the messages do not tell it: in a sub-run, whose messages a model wrote, and after
    an answer in words, which is taken from them."""
    is_taken_over: bool = False
    """Whether its run goes on here after the worker that ran it has died, and had shown something."""
    take_overs: int = 0
    """Workers that its run has lost."""
    has_displaced_worker: bool = False
    """Whether the thread was taken from a worker, which may be alive again: what that one ran is free."""

    @property
    def is_continuation(self) -> bool:
        """Whether it answers a question, or brings the result of a call, of an earlier turn."""
        return bool(self.answers) or (bool(self.messages) and self.messages[-1].role == "tool")

    def get_language(self, default: Language = "en") -> Language:
        """Return the language of the person; `default` where the person has written nothing."""
        return self.caller_language or find_language(self.messages, default)


class Feedback(Struct, frozen=True, kw_only=True):
    """Vote of a person on an answer. The client wrote all but `owner`."""

    vote: Literal["thumbs_up", "thumbs_down"]
    tags: tuple[str, ...] = ()
    comment: str = ""
    question: str = ""
    answer: str = ""
    conversation: str = ""
    owner: str


def measure_turn(turn: Turn) -> int:
    """Measure the characters of a turn's messages (`measure_messages`), answers and raw prompt."""
    raw = turn.raw
    size = sum(len(answer.text or "") for answer in turn.answers)
    if raw is not None:
        size += len(raw.text)
        size += sum(len(text) for file in raw.infill.files for text in file) if raw.infill else 0
    return size + measure_messages(turn.messages)


def add_date(turn: Turn, now: datetime, zone: str = "") -> Turn:
    """Return the turn with today's date in its context, unless it is there. It is the last item and has no time of
    day: what stands before it stays in prompt caches, and all of it for a day."""
    if any(item.description == DATE_LABEL for item in turn.context):
        return turn
    value = f"{now:%Y-%m-%d}, a {now:%A}" + (f", in the user's time zone {zone}" if zone else "")
    return replace(turn, context=(*turn.context, AppContext(DATE_LABEL, value)))


def check_agent_depth(turn: Turn) -> None:
    """Raise CallerError for a turn of assistants that call each other in a cycle."""
    if turn.depth > MAX_AGENT_DEPTH:
        raise CallerError(
            f"Assistants call each other more than {MAX_AGENT_DEPTH} levels deep. Remove the cycle in `agents`."
        )
