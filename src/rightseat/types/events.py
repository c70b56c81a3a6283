"""Events of a run, as small frozen values.

Modelled on AG-UI 1.0 (start / delta / end, snapshot / delta), without its classes. Every Responder yields
them; every door translates them to its wire format.

Order: RunStarted, then any events, then exactly one RunFinished or RunFailed as the last event. Every start
has an end, except after RunFailed and for a call that is truncated or proves invalid: **a call exists once CallEnd is
sent**. The truncated call has nothing more, the invalid one a CallResult, which the model gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

RunFinishReason = Literal["stop", "length", "content_filter", "calls", "interrupt"]


class Usage(Struct, frozen=True, gc=False):
    """Token usage. `cached` tokens are part of `input`. `cost` follows the configured prices, else 0."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input, self.output + other.output, self.cached + other.cached, self.cost + other.cost
        )


class RunStarted(Struct, frozen=True, tag="RunStarted"):
    thread: str
    run: str


class TextStart(Struct, frozen=True, tag="TextStart"):
    id: str
    refusal: bool = False


class TextDelta(Struct, frozen=True, tag="TextDelta"):
    id: str
    text: str
    logprobs: Any = None


class TextEnd(Struct, frozen=True, tag="TextEnd"):
    id: str


class ReasoningStart(Struct, frozen=True, tag="ReasoningStart"):
    id: str


class ReasoningDelta(Struct, frozen=True, tag="ReasoningDelta"):
    id: str
    text: str


class ReasoningEnd(Struct, frozen=True, tag="ReasoningEnd"):
    id: str


class CallStart(Struct, frozen=True, tag="CallStart"):
    """Start of a tool call. A `client` call ends the run; any other is followed by a CallResult."""

    id: str
    name: str
    message: str
    client: bool = False


class CallArgs(Struct, frozen=True, tag="CallArgs"):
    id: str
    json: str


class CallEnd(Struct, frozen=True, tag="CallEnd"):
    id: str


class CallResult(Struct, frozen=True, tag="CallResult"):
    id: str
    content: str
    failed: bool = False


class StateSnapshot(Struct, frozen=True, tag="StateSnapshot"):
    state: Any


class StateDelta(Struct, frozen=True, tag="StateDelta"):
    patch: list[dict[str, Any]]


class StepStart(Struct, frozen=True, tag="StepStart"):
    name: str


class StepEnd(Struct, frozen=True, tag="StepEnd"):
    name: str


class Interrupt(Struct, frozen=True, tag="Interrupt"):
    """Interrupt: the run waits for a person: a question (ask), an approval (confirm) or values (form)."""

    id: str
    kind: Literal["ask", "confirm", "form"]
    message: str
    schema: dict[str, Any]
    call: str | None = None
    expires: float | None = None
    value: Any = None
    """Original value of the agent's interrupt, for clients made for this agent."""


EXIT = "Exit"
"""Name of the Custom event by which an agent says that it has ended, although it waits for an answer or a result."""


class Artifact(Struct, frozen=True, tag="Artifact", omit_defaults=True):
    """Artifact of an answer. Content of a table: a list of objects, or `columns` and `rows`; of a chart: rows with
    `chart` (type, x, y), or an ECharts option; of a file: `media_type` and `data`; of html and text: a string."""

    id: str
    kind: Literal["table", "chart", "file", "text", "html"]
    name: str
    content: Any
    description: str = ""


class Citations(Struct, frozen=True, tag="Citations"):
    """Citations of an answer. Each has a `title` or `name`, and perhaps `url`, `description`, `details` (a list of
    objects) and `quote_bounding_boxes`: for each quote a list of {text, page, x0, top, x1, bottom} in a PDF."""

    items: list[dict[str, Any]]


class Suggestions(Struct, frozen=True, tag="Suggestions"):
    prompts: tuple[str, ...]


class Custom(Struct, frozen=True, tag="Custom"):
    name: str
    value: Any


class SubRunEvent(Struct, frozen=True, tag="Nested"):
    """Event of a sub-run: an agent that a tool call handed over to. Its RunStarted and final event are
    wrapped too; its state, steps and artifacts are not: they appear as events of the outer run."""

    run: str
    agent: str
    call: str
    event: Event


class RunFinished(Struct, frozen=True, tag="RunFinished"):
    """End of a run. `pending`: client calls that it waits for. `usage`: total of its model calls. `report`: what a
    local engine tells of the last answer, where the request asked for it."""

    reason: RunFinishReason
    usage: Usage | None = None
    pending: tuple[str, ...] = ()
    report: Any = None


class RunFailed(Struct, frozen=True, tag="RunFailed"):
    code: str
    message: str
    status: int = 500
    fault: Literal["ours", "caller", "upstream"] = "ours"
    retry_after: float | None = None
    param: str | None = None
    after_effect: bool = False
    """Whether a tool may have had an effect before: a client must not send the request again by itself."""


Event = (
    RunStarted
    | TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | CallStart
    | CallArgs
    | CallEnd
    | CallResult
    | StateSnapshot
    | StateDelta
    | StepStart
    | StepEnd
    | Interrupt
    | Artifact
    | Citations
    | Suggestions
    | Custom
    | SubRunEvent
    | RunFinished
    | RunFailed
)


def text_events(id: str, text: str) -> list[Event]:
    """Return the three events of a complete text."""
    return [TextStart(id), TextDelta(id, text), TextEnd(id)]


StatusDetail = dict[str, Any] | str


def status_update(
    message: str, *, details: StatusDetail | Sequence[StatusDetail] = (), warning: bool = False
) -> Custom:
    """Return the event of a status update: a line that clients show beside the answer, with details to unfold.
    A single detail needs no list."""
    fields: dict[str, Any] = {"message": message}
    if details:
        fields["details"] = [details] if isinstance(details, dict | str) else list(details)
    if warning:
        fields["warning"] = True
    return Custom("progress", fields)


def response_extensions(values: Mapping[str, Any]) -> Custom:
    """Return the event that sets `extensions` of CopilotKit's response, as its type says: `openaiAssistantAPI` with
    `threadId` and `runId`. The client sends them back with its next request."""
    return Custom("extensions", dict(values))


class OpenMessageTracker:
    """Tracks the open messages of a run, so that a failure can end them for the front end."""

    def __init__(self) -> None:
        self.ids: dict[str, type[TextEnd] | type[ReasoningEnd]] = {}

    def track(self, event: Event) -> None:
        match event:
            case TextStart(id):
                self.ids[id] = TextEnd
            case ReasoningStart(id):
                self.ids[id] = ReasoningEnd
            case TextEnd(id) | ReasoningEnd(id):
                self.ids.pop(id, None)

    def end_events(self) -> list[Event]:
        return [end(id) for id, end in self.ids.items()]
