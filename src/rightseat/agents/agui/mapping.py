"""AG-UI events → our events, without I/O: `feed` takes one decoded event, `finish` returns the last events.

RAW and unknown events are dropped. A messages snapshot yields only what was not streamed. Subagents become
steps.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from rightseat.agents._peer.faults import Faults
from rightseat.agents.agui.fields import name, plain, usage, without_messages
from rightseat.agents.agui.ledger import Ledger
from rightseat.agents.agui.predicted import Predicted
from rightseat.agents.agui.questions import asked, asked_before
from rightseat.agents.agui.request import callable_tools
from rightseat.agents.agui.snapshot import Snapshot
from rightseat.types.events import (
    Custom,
    Event,
    Interrupt,
    Reason,
    RunFinished,
    StateDelta,
    StateSnapshot,
)
from rightseat.types.turn import Turn

Wire = dict[str, Any]
# Event types that do not end a chunked message.
_ASIDE = ("RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE")
_THOUGHT = "reasoning"


class Mapping:
    """Mapper of one run. `sent_ids` are the ids of the turn's messages in the peer's `thread`."""

    def __init__(self, turn: Turn, thread: uuid.UUID, sent: list[str], faults: Faults) -> None:
        self.thread = thread
        self.ledger = Ledger({tool.name for tool in callable_tools(turn)})
        self.faults = faults
        self.snapshot = Snapshot(turn, sent, self.ledger)
        self.predicted = Predicted(turn.state)
        answered = {message.call_id for message in turn.messages}
        self.waiting = {c.id for m in turn.messages for c in m.calls if c.id not in answered}
        """Unanswered calls of an earlier run: their results may come in this one. Others are repetitions."""
        self.results = self.snapshot.answered
        """The peer's message ids of its tool results, by call."""
        self.unsaid: set[str] = set()
        """Messages of other roles than the assistant's."""
        self.chunks: dict[str, str] = {}
        """The open chunked message or call, by event type."""
        self.questions: list[Interrupt] = []
        self.asked: list[str] = []
        """Ids of the interrupts that the run ended with."""
        self.subagents: dict[str, str] = {}
        self.finished: Wire | None = None

    def feed(self, event: Wire) -> list[Event]:
        kind = event.get("type")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if not self.chunks or kind in _ASIDE:
            return handler(self, event) if handler else []
        found = self.end_chunks(str(kind))
        return found + handler(self, event) if handler else found

    # Texts.

    def text_start(self, event: Wire) -> list[Event]:
        if event.get("role") not in (None, "assistant"):
            self.unsaid.add(name(event, "messageId"))
        return []

    def text(self, event: Wire) -> list[Event]:
        id = name(event, "messageId")
        if id in self.unsaid or id in self.snapshot.told:
            return []
        return self.ledger.say(id, name(event, "delta"))

    def text_chunk(self, event: Wire) -> list[Event]:
        id = name(event, "messageId")
        open_ = self.chunks.get("TEXT_MESSAGE_CHUNK")
        found: list[Event] = []
        if id and open_ is not None and id != open_:
            found = self.ledger.end_text(open_)
        id = self.chunks["TEXT_MESSAGE_CHUNK"] = id or open_ or ""
        self.text_start({**event, "messageId": id})
        return found + self.text({**event, "messageId": id})

    def end_chunks(self, kind: str) -> list[Event]:
        """End the chunked messages and calls of other types than `kind`."""
        found: list[Event] = []
        for type_ in [type_ for type_ in self.chunks if type_ != kind]:
            id = self.chunks.pop(type_)
            ends = self.ledger.end_text if type_ == "TEXT_MESSAGE_CHUNK" else self.ledger.end_call
            found += ends(id)
        return found

    def thought(self, event: Wire) -> list[Event]:
        return self.ledger.think(name(event, "messageId") or self.thinking, name(event, "delta"))

    def thought_over(self, event: Wire) -> list[Event]:
        return self.ledger.end_thought(name(event, "messageId") or self.thinking)

    @property
    def thinking(self) -> str:
        """The reasoning that a delta without an id belongs to."""
        return next(reversed(self.ledger.thoughts), _THOUGHT)

    # Calls.

    def call_start(self, event: Wire) -> list[Event]:
        id, tool = name(event, "toolCallId"), name(event, "toolCallName")
        if not id or not tool or id in self.snapshot.told:
            return []
        self.predicted.begin(id, tool)
        return self.ledger.begin_call(id, tool, name(event, "parentMessageId"))

    def call_args(self, event: Wire) -> list[Event]:
        id, json = name(event, "toolCallId"), name(event, "delta")
        return [*self.ledger.argue(id, json), *self.predicted.see(id, json)]

    def call_end(self, event: Wire) -> list[Event]:
        return self.ledger.end_call(name(event, "toolCallId"))

    def call_chunk(self, event: Wire) -> list[Event]:
        id = name(event, "toolCallId")
        open_ = self.chunks.get("TOOL_CALL_CHUNK")
        found: list[Event] = []
        if id and open_ is not None and id != open_:
            found = self.ledger.end_call(open_)
        id = self.chunks["TOOL_CALL_CHUNK"] = id or open_ or ""
        told = {**event, "toolCallId": id}
        return [*found, *self.call_start(told), *self.call_args(told)]

    def call_result(self, event: Wire) -> list[Event]:
        id = name(event, "toolCallId")
        if id not in self.ledger.calls and id not in self.waiting:
            return []
        self.waiting.discard(id)
        if message := name(event, "messageId"):
            self.results[id] = message
        return self.ledger.answer(id, plain(event.get("content")))

    # State, activities, subagents, custom events.

    def state(self, event: Wire) -> list[Event]:
        self.predicted.known = True
        return [StateSnapshot(without_messages(event.get("snapshot")))]

    def state_delta(self, event: Wire) -> list[Event]:
        patch = event.get("delta")
        if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
            return []
        return [*self.predicted.ground(), StateDelta(patch)]

    def activity(self, event: Wire) -> list[Event]:
        kept = {key: event[key] for key in ("messageId", "activityType", "content", "patch") if key in event}
        return [Custom("activity", kept)]

    def subagent(self, event: Wire) -> list[Event]:
        called = self.subagents[name(event, "subagentRunId")] = name(event, "name") or "subagent"
        return self.ledger.begin_step(called)

    def subagent_over(self, event: Wire) -> list[Event]:
        return self.ledger.end_step(self.subagents.pop(name(event, "subagentRunId"), ""))

    def custom(self, event: Wire) -> list[Event]:
        value = event.get("value")
        match event.get("name"):
            case "on_interrupt":
                self.questions.append(asked_before(value, self.thread))
                return []
            case "PredictState":
                self.predicted.expect(value)
                return []
            case "copilotkit_manually_emit_message":
                return self.snapshot.emitted(value)
            case "copilotkit_manually_emit_tool_call":
                return self.snapshot.called(value)
            case "copilotkit_manually_emit_intermediate_state":
                return self.state({"snapshot": value})
            case str(called):
                return [Custom(called, value)]
            case _:
                return []

    # The run.

    def run_started(self, event: Wire) -> list[Event]:
        self.finished = None
        return []

    def run_finished(self, event: Wire) -> list[Event]:
        self.finished = event
        return []

    def run_error(self, event: Wire) -> list[Event]:
        raise self.faults.failed(name(event, "code"))

    def end(self) -> list[Event]:
        """Return the run's last events; raises if the stream ended without RUN_FINISHED."""
        if self.finished is None:
            raise self.faults.incomplete()
        outcome = self.finished.get("outcome")
        told = outcome if isinstance(outcome, dict) else {}
        listed = told.get("interrupts")
        named = (
            [question for item in listed if (question := asked(item, self.thread))]
            if isinstance(listed, list)
            else []
        )
        # A peer that speaks both dialects sends each interrupt twice.
        questions = named or self.questions
        found = [*self.end_chunks(""), *self.ledger.close({question.call or "" for question in questions})]
        # pendingToolCallIds is ignored: it lists these calls, or calls that nobody here can run.
        pending = self.ledger.waiting
        reason: Reason = "interrupt" if questions else "calls" if pending else self.reason()
        if any(call.open for call in self.ledger.calls.values()):
            raise self.faults.garbled("a call with half of its arguments")
        self.asked = [question.id for question in questions]
        return [*found, *questions, RunFinished(reason, usage(self.finished.get("usage")), pending)]

    def reason(self) -> Reason:
        match self.finished:
            case {"result": {"finishReason": ("length" | "content_filter") as reason}}:
                return "length" if reason == "length" else "content_filter"
            case _:
                return "stop"


_HANDLERS: dict[str, Callable[[Mapping, Wire], list[Event]]] = {
    "TEXT_MESSAGE_START": Mapping.text_start,
    "TEXT_MESSAGE_CONTENT": Mapping.text,
    "TEXT_MESSAGE_END": lambda run, event: run.ledger.end_text(name(event, "messageId")),
    "TEXT_MESSAGE_CHUNK": Mapping.text_chunk,
    "TOOL_CALL_START": Mapping.call_start,
    "TOOL_CALL_ARGS": Mapping.call_args,
    "TOOL_CALL_END": Mapping.call_end,
    "TOOL_CALL_CHUNK": Mapping.call_chunk,
    "TOOL_CALL_RESULT": Mapping.call_result,
    "STATE_SNAPSHOT": Mapping.state,
    "STATE_DELTA": Mapping.state_delta,
    "MESSAGES_SNAPSHOT": lambda run, event: run.snapshot.take(event.get("messages")),
    "STEP_STARTED": lambda run, event: run.ledger.begin_step(name(event, "stepName")),
    "STEP_FINISHED": lambda run, event: run.ledger.end_step(name(event, "stepName")),
    "ACTIVITY_SNAPSHOT": Mapping.activity,
    "ACTIVITY_DELTA": Mapping.activity,
    "CUSTOM": Mapping.custom,
    "RUN_STARTED": Mapping.run_started,
    "RUN_FINISHED": Mapping.run_finished,
    "RUN_ERROR": Mapping.run_error,
    "SUBAGENT_STARTED": Mapping.subagent,
    "SUBAGENT_FINISHED": Mapping.subagent_over,
    "SUBAGENT_ERROR": Mapping.subagent_over,
    "REASONING_MESSAGE_CONTENT": Mapping.thought,
    "REASONING_MESSAGE_CHUNK": Mapping.thought,
    "REASONING_MESSAGE_END": Mapping.thought_over,
    "REASONING_END": Mapping.thought_over,
    # Before protocol 1.0, without ids.
    "THINKING_TEXT_MESSAGE_CONTENT": Mapping.thought,
    "THINKING_TEXT_MESSAGE_END": Mapping.thought_over,
    "THINKING_END": Mapping.thought_over,
}
