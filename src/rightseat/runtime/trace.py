"""RunTrace: how long each part of a run took, kept with its thread as one event before the run's end.

Times are milliseconds since the run's begin. The event is a Custom named `trace`: AG-UI clients get it as CUSTOM,
other doors ignore it. A run whose process died has none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import time
from typing import Any

from rightseat.types.events import (
    CallEnd,
    CallResult,
    CallStart,
    Custom,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnd,
    StepStart,
    SubRunEvent,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.replies import parse_consent
from rightseat.types.threads import TRACE_EVENT
from rightseat.types.turn import InterruptAnswer, Turn

MAX_SPANS = 1000
"""Spans, and model calls, of one run that are kept. A flow may loop many times."""
current_trace: ContextVar[RunTrace | None] = ContextVar("trace of the run", default=None)
Span = dict[str, Any]


class ModelCallTrace:
    """One call of a model: when it began, when its first chunk came, when it ended, and what it used."""

    __slots__ = ("fields", "now")

    def __init__(self, model: str, now: Callable[[], float]) -> None:
        self.now = now
        self.fields: Span = {"model": model, "began": now()}

    def on_first_chunk(self) -> None:
        self.fields["first"] = self.now()

    def on_usage(self, usage: Usage) -> None:
        fields = self.fields
        for name in ("input", "output", "cached", "cost"):
            fields[name] = fields.get(name, 0) + getattr(usage, name)

    def on_end(self, outcome: str) -> None:
        self.fields["ended"] = self.now()
        if outcome != "ok":
            self.fields["error"] = outcome


class RunTrace:
    """Observes the events of one run, and its model calls by `current_trace`."""

    def __init__(self, turn: Turn, clock: Callable[[], float] = time) -> None:
        self.turn = turn
        self.clock = clock
        self.began = clock()
        self.models: list[Span] = []
        self.spans: list[Span] = []
        self.open: dict[tuple[str, str], list[Span]] = {}
        """Open spans by kind and id; steps of parallel calls may share a name."""
        self.awaits_text = ""
        """Id of the message whose first text has not come yet."""

    def now(self) -> float:
        return round((self.clock() - self.began) * 1000, 1)

    def begin_model_call(self, model: str) -> ModelCallTrace:
        call = ModelCallTrace(model, self.now)
        if len(self.models) < MAX_SPANS:
            self.models.append(call.fields)
        return call

    def on_first_text(self) -> None:
        self.set_time("message", self.awaits_text, "first")
        self.awaits_text = ""

    def on_event(self, event: Event) -> None:
        """Note an event that is no text delta."""
        match event:
            case TextStart(id):
                self.begin("message", id)
                self.awaits_text = id
            case TextEnd(id):
                self.end("message", id)
            case ReasoningStart(id):
                self.begin("reasoning", id)
            case ReasoningDelta(id):
                self.set_time("reasoning", id, "first")
            case ReasoningEnd(id):
                self.end("reasoning", id)
            case StepStart(name):
                self.begin("step", name, name=name)
            case StepEnd(name):
                self.end("step", name)
            case SubRunEvent():
                self.on_nested(event)
            case _:
                self.on_call(event)

    def on_call(self, event: Event, agent: str = "") -> None:
        """Note an event of a tool call, of this run or of the sub-run `agent`."""
        match event:
            case CallStart(id, name):
                self.begin("call", agent + id, id=id, name=name, **({"agent": agent} if agent else {}))
            case CallEnd(id):
                self.set_time("call", agent + id, "called")
            case CallResult(id, _, failed):
                if ("call", agent + id) not in self.open:
                    # A call of an earlier run, which waited for a person or a client.
                    self.begin("call", agent + id, id=id, began=0, called=0)
                self.end("call", agent + id, **({"failed": True} if failed else {}))
            case _:
                pass

    def on_nested(self, nested: SubRunEvent) -> None:
        match nested.event:
            case RunStarted():
                self.begin("agent", nested.run, id=nested.run, name=nested.agent, call=nested.call)
            case RunFinished():
                self.end("agent", nested.run)
            case RunFailed(code):
                self.end("agent", nested.run, failed=True, error=code)
            case event:
                self.on_call(event, nested.run)

    def begin(self, kind: str, key: str, **fields: Any) -> None:
        if len(self.spans) >= MAX_SPANS:
            return
        span: Span = {"kind": kind, "began": self.now(), **({} if kind == "step" else {"id": key}), **fields}
        self.spans.append(span)
        self.open.setdefault((kind, key), []).append(span)

    def set_time(self, kind: str, key: str, name: str) -> None:
        for span in self.open.get((kind, key), ()):
            span.setdefault(name, self.now())

    def end(self, kind: str, key: str, **fields: Any) -> None:
        if spans := self.open.get((kind, key)):
            spans.pop().update(ended=self.now(), **fields)
            if not spans:
                del self.open[kind, key]

    def to_event(self, last: Event) -> Custom:
        answers = [{"id": answer.interrupt, "outcome": name_outcome(answer)} for answer in self.turn.answers]
        value = {
            "run": self.turn.run,
            "assistant": self.turn.assistant or "",
            "began": round(self.began * 1000),
            "took": self.now(),
            # Copies: a model call may end after its run.
            "models": [dict(call) for call in self.models],
            "spans": [dict(span) for span in self.spans],
            **({"answers": answers} if answers else {}),
            **({"error": last.code} if isinstance(last, RunFailed) else {}),
        }
        return Custom(TRACE_EVENT, value)


def name_outcome(answer: InterruptAnswer) -> str:
    """Return what a person's answer says: allowed, declined, cancelled, or answered with a value."""
    if answer.status == "cancelled":
        return "cancelled"
    value = answer.payload.get("approved") if isinstance(answer.payload, dict) else answer.payload
    if answer.text is not None:
        value = parse_consent(answer.text)
    return {True: "allowed", False: "declined"}[value] if isinstance(value, bool) else "answered"


def trace_model_call(model: str) -> ModelCallTrace | None:
    """Begin to trace a model call; None where the run is not kept."""
    trace = current_trace.get()
    return None if trace is None else trace.begin_model_call(model)
