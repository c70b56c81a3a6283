"""What happens in a run, as small frozen values.

Shaped after AG-UI 1.0 (start / delta / end, snapshot / delta) but owned by us: no wire library's class is
known here. Every door writes these in its own words; every Responder yields them.

Grammar: RunStarted, then anything, then exactly one of RunFinished and RunFailed, and nothing after it.
What is started is ended, except on RunFailed and on a call that was cut: **a call exists at CallEnd**.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Reason = Literal["stop", "length", "content_filter", "calls", "interrupt"]


class Usage(Struct, frozen=True, gc=False):
    """Tokens. `cached` ones are part of the input: they were known already and not read again. `cost` is what
    they cost by the configuration, 0 where it says nothing."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.cost + other.cost,
        )


class RunStarted(Struct, frozen=True, tag=True):
    thread: str
    run: str


class TextStart(Struct, frozen=True, tag=True):
    id: str
    refusal: bool = False


class TextDelta(Struct, frozen=True, tag=True):
    id: str
    text: str
    logprobs: Any = None


class TextEnd(Struct, frozen=True, tag=True):
    id: str


class ReasoningStart(Struct, frozen=True, tag=True):
    id: str


class ReasoningDelta(Struct, frozen=True, tag=True):
    id: str
    text: str


class ReasoningEnd(Struct, frozen=True, tag=True):
    id: str


class CallStart(Struct, frozen=True, tag=True):
    """`client` tells who runs it: a client's call ends the run, any other is answered by a CallResult."""

    id: str
    name: str
    message: str
    client: bool = False


class CallArgs(Struct, frozen=True, tag=True):
    id: str
    json: str


class CallEnd(Struct, frozen=True, tag=True):
    id: str


class CallResult(Struct, frozen=True, tag=True):
    id: str
    content: str
    failed: bool = False


class StateSnapshot(Struct, frozen=True, tag=True):
    state: Any


class StateDelta(Struct, frozen=True, tag=True):
    patch: list[dict[str, Any]]


class StepStart(Struct, frozen=True, tag=True):
    name: str


class StepEnd(Struct, frozen=True, tag=True):
    name: str


class Interrupt(Struct, frozen=True, tag=True):
    """The run stops for a person: a question (ask), an approval (confirm) or missing values (form)."""

    id: str
    kind: Literal["ask", "confirm", "form"]
    message: str
    schema: dict[str, Any]
    call: str | None = None
    expires: float | None = None
    value: Any = None
    """What an agent asked with, in its own shape: for clients that were made for this agent."""


class Artifact(Struct, frozen=True, tag=True):
    id: str
    kind: Literal["table", "chart", "file", "text"]
    name: str
    content: Any


class Citations(Struct, frozen=True, tag=True):
    items: list[dict[str, Any]]


class Suggestions(Struct, frozen=True, tag=True):
    prompts: tuple[str, ...]


class Custom(Struct, frozen=True, tag=True):
    name: str
    value: Any


class Nested(Struct, frozen=True, tag=True):
    """Something that a run inside this one does: an agent that a tool call handed over to. Its RunStarted and
    its end are in here too; its state, steps and artifacts are not, they are this run's."""

    run: str
    agent: str
    call: str
    event: Event


class RunFinished(Struct, frozen=True, tag=True):
    """`pending` are the client's calls that the run waits for, `usage` is all of the run's model calls."""

    reason: Reason
    usage: Usage | None = None
    pending: tuple[str, ...] = ()


class RunFailed(Struct, frozen=True, tag=True):
    code: str
    message: str
    status: int = 500
    fault: Literal["ours", "caller", "upstream"] = "ours"
    retry_after: float | None = None
    param: str | None = None


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
    | Nested
    | RunFinished
    | RunFailed
)
