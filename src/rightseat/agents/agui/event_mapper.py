"""AG-UI events → our events, without I/O: `feed` takes one decoded event, `finish` returns the last events.

RAW and unknown events are dropped. A messages snapshot yields only what was not streamed. Subagents become
steps.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents._peer.json_text import SHAPE_ERRORS, dict_items, to_text
from rightseat.agents.agui.interrupts import interrupt_from_custom, interrupt_from_outcome
from rightseat.agents.agui.peer_output import PeerOutput, UnstreamedOutput
from rightseat.agents.agui.request import select_client_tools
from rightseat.types.events import (
    Custom,
    Event,
    Interrupt,
    RunFinished,
    RunFinishReason,
    StateDelta,
    StateSnapshot,
    Usage,
)
from rightseat.types.partial_json import make_add_operation, parse_partial_json
from rightseat.types.turn import Turn

AGUIEvent = dict[str, Any]
# Event types that do not end a chunked message.
_NON_CLOSING_TYPES = ("RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE")
_DEFAULT_REASONING_ID = "reasoning"
_EMIT_EVENTS = ("copilotkit_manually_emit_message", "copilotkit_manually_emit_tool_call")
_USAGE_KEYS = ("inputTokens", "outputTokens", "cachedInputTokens")


def parse_usage(items: Any) -> Usage | None:
    """Sum the token counts of all models of a run."""
    if not isinstance(items, list) or not items:
        return None
    counts = (Usage(*(read_count(item, key) for key in _USAGE_KEYS)) for item in dict_items(items))
    return sum(counts, Usage())


def read_count(item: dict[str, Any], key: str) -> int:
    value = item.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def read_text(event: dict[str, Any], key: str) -> str:
    """Return a text field; empty if it is missing or no text."""
    value = event.get(key)
    return value if isinstance(value, str) else ""


def strip_messages(state: Any) -> Any:
    """Remove the conversation from a graph's state: it is sent as messages, and the state would repeat it
    with each of them."""
    messages = state.get("messages") if isinstance(state, dict) else None
    if not isinstance(messages, list):
        return state
    if not all(isinstance(item, dict) and ("role" in item or "type" in item) for item in messages):
        return state
    return {key: value for key, value in state.items() if key not in ("messages", "tools", "copilotkit", "ag-ui")}


def content_to_text(content: Any) -> str:
    """Convert a tool result (text, text parts or any JSON value) to text."""
    match content:
        case None:
            return ""
        case [*parts] if parts and all(isinstance(part, dict) and "text" in part for part in parts):
            return "".join(str(part["text"]) for part in parts)
        case _:
            return to_text(content)


class StatePrediction:
    """Predicted state: a peer's PredictState event names tool arguments that become state keys, and their partial
    values are sent as state deltas while the arguments stream."""

    def __init__(self, state: Any) -> None:
        self.has_state = isinstance(state, dict)
        """Whether the client has a state that a delta can change."""
        self.rules: list[dict[str, Any]] = []
        self.calls: dict[str, tuple[str, list[str]]] = {}
        self.last_values: dict[str, Any] = {}

    def set_rules(self, value: Any) -> None:
        self.rules = [rule for rule in dict_items(value) if isinstance(rule.get("tool"), str)]

    def start_call(self, id: str, tool: str) -> None:
        if any(rule["tool"] == tool for rule in self.rules):
            self.calls.setdefault(id, (tool, []))

    def append_arguments(self, id: str, json: str) -> list[Event]:
        if not json or id not in self.calls:
            return []
        tool, pieces = self.calls[id]
        pieces.append(json)
        arguments = parse_partial_json("".join(pieces))
        if not isinstance(arguments, dict):
            return []
        patch: list[dict[str, Any]] = []
        for rule in self.rules:
            key, argument = rule.get("state_key"), rule.get("tool_argument")
            value = arguments.get(argument) if argument else arguments
            if rule["tool"] != tool or not isinstance(key, str) or value in (None, self.last_values.get(key)):
                continue
            self.last_values[key] = value
            patch.append(make_add_operation(key, value))
        return [*self.ensure_state(), StateDelta(patch)] if patch else []

    def ensure_state(self) -> list[Event]:
        """Return an empty snapshot if the client has no state yet: a delta needs one."""
        if self.has_state:
            return []
        self.has_state = True
        return [StateSnapshot({})]


class AGUIEventMapper:
    """Mapper of one run. `sent_ids` are the ids of the turn's messages in the peer's `thread`."""

    def __init__(self, turn: Turn, thread: uuid.UUID, sent_ids: list[str], errors: PeerErrors) -> None:
        self.thread = thread
        self.language = turn.get_language()
        self.output = PeerOutput({tool.name for tool in select_client_tools(turn)})
        self.errors = errors
        self.unstreamed = UnstreamedOutput(turn, sent_ids, self.output)
        self.prediction = StatePrediction(turn.state)
        answered = {message.call_id for message in turn.messages}
        self.open_call_ids = {c.id for m in turn.messages for c in m.calls if c.id not in answered}
        """Unanswered calls of an earlier run: their results may come in this one. Others are repetitions."""
        self.result_message_ids = self.unstreamed.result_message_ids
        """The peer's message ids of its tool results, by call."""
        self.ignored_message_ids: set[str] = set()
        """Messages of other roles than the assistant's."""
        self.open_chunks: dict[str, str] = {}
        """The open chunked message or call, by event type."""
        self.legacy_interrupts: list[Interrupt] = []
        self.interrupt_ids: list[str] = []
        """Ids of the interrupts that the run ended with."""
        self.subagents: dict[str, str] = {}
        self.finish_event: AGUIEvent | None = None

    def feed(self, event: AGUIEvent) -> list[Event]:
        """Return the events that one event of the peer becomes; raises for one of a wrong shape."""
        try:
            return self._map_event(event)
        except SHAPE_ERRORS as error:
            raise self.errors.invalid_response("an event that is none of AG-UI's") from error

    def _map_event(self, event: AGUIEvent) -> list[Event]:
        kind = event.get("type")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if not self.open_chunks or kind in _NON_CLOSING_TYPES:
            return handler(self, event) if handler else []
        events = self.end_chunks(str(kind))
        return events + handler(self, event) if handler else events

    # Texts.

    def on_text_start(self, event: AGUIEvent) -> list[Event]:
        if event.get("role") not in (None, "assistant"):
            self.ignored_message_ids.add(read_text(event, "messageId"))
        return []

    def on_text_content(self, event: AGUIEvent) -> list[Event]:
        id = read_text(event, "messageId")
        if id in self.ignored_message_ids or id in self.unstreamed.emitted_ids:
            return []
        return self.output.append_text(id, read_text(event, "delta"))

    def on_text_chunk(self, event: AGUIEvent) -> list[Event]:
        id, events = self.continue_chunk("TEXT_MESSAGE_CHUNK", read_text(event, "messageId"))
        self.on_text_start({**event, "messageId": id})
        return events + self.on_text_content({**event, "messageId": id})

    def end_chunks(self, kind: str) -> list[Event]:
        """End the chunked messages and calls of other types than `kind`."""
        events: list[Event] = []
        for type_ in [type_ for type_ in self.open_chunks if type_ != kind]:
            events += self.end_chunk(type_)
        return events

    def end_chunk(self, kind: str) -> list[Event]:
        id = self.open_chunks.pop(kind)
        return self.output.end_text(id) if kind == "TEXT_MESSAGE_CHUNK" else self.output.end_call(id)

    def continue_chunk(self, kind: str, id: str) -> tuple[str, list[Event]]:
        """Return the id of a chunk, by default that of the open one, and the end of another open one."""
        open_id = self.open_chunks.get(kind)
        events = self.end_chunk(kind) if id and open_id is not None and id != open_id else []
        id = self.open_chunks[kind] = id or open_id or ""
        return id, events

    def on_reasoning_content(self, event: AGUIEvent) -> list[Event]:
        return self.output.append_reasoning(
            read_text(event, "messageId") or self.current_reasoning_id, read_text(event, "delta")
        )

    def on_reasoning_end(self, event: AGUIEvent) -> list[Event]:
        return self.output.end_reasoning(read_text(event, "messageId") or self.current_reasoning_id)

    @property
    def current_reasoning_id(self) -> str:
        """The reasoning that a delta without an id belongs to."""
        return next(reversed(self.output.open_reasoning), _DEFAULT_REASONING_ID)

    # Calls.

    def on_call_start(self, event: AGUIEvent) -> list[Event]:
        id, tool = read_text(event, "toolCallId"), read_text(event, "toolCallName")
        if not id or not tool or id in self.unstreamed.emitted_ids:
            return []
        self.prediction.start_call(id, tool)
        return self.output.start_call(id, tool, read_text(event, "parentMessageId"))

    def on_call_args(self, event: AGUIEvent) -> list[Event]:
        id, json = read_text(event, "toolCallId"), read_text(event, "delta")
        return [*self.output.append_arguments(id, json), *self.prediction.append_arguments(id, json)]

    def on_call_chunk(self, event: AGUIEvent) -> list[Event]:
        id, events = self.continue_chunk("TOOL_CALL_CHUNK", read_text(event, "toolCallId"))
        call_event = {**event, "toolCallId": id}
        return [*events, *self.on_call_start(call_event), *self.on_call_args(call_event)]

    def on_call_result(self, event: AGUIEvent) -> list[Event]:
        id = read_text(event, "toolCallId")
        if id not in self.output.calls and id not in self.open_call_ids:
            return []
        self.open_call_ids.discard(id)
        if message := read_text(event, "messageId"):
            self.result_message_ids[id] = message
        return self.output.add_result(id, content_to_text(event.get("content")))

    # State, activities, subagents, custom events.

    def on_state_snapshot(self, event: AGUIEvent) -> list[Event]:
        self.prediction.has_state = True
        return [StateSnapshot(strip_messages(event.get("snapshot")))]

    def on_state_delta(self, event: AGUIEvent) -> list[Event]:
        patch = event.get("delta")
        if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
            return []
        return [*self.prediction.ensure_state(), StateDelta(patch)]

    def on_activity(self, event: AGUIEvent) -> list[Event]:
        content = {key: event[key] for key in ("messageId", "activityType", "content", "patch") if key in event}
        return [Custom("activity", content)]

    def on_subagent_start(self, event: AGUIEvent) -> list[Event]:
        step = self.subagents[read_text(event, "subagentRunId")] = read_text(event, "name") or "subagent"
        return self.output.start_step(step)

    def on_subagent_end(self, event: AGUIEvent) -> list[Event]:
        return self.output.end_step(self.subagents.pop(read_text(event, "subagentRunId"), ""))

    def on_custom(self, event: AGUIEvent) -> list[Event]:
        value = event.get("value")
        match event.get("name"), value:
            case "on_interrupt", _:
                self.legacy_interrupts.append(interrupt_from_custom(value, self.thread))
            case "PredictState", _:
                self.prediction.set_rules(value)
            case "copilotkit_manually_emit_message", {"message": str(text), "message_id": str(id)}:
                return self.unstreamed.add_text(id, text)
            case "copilotkit_manually_emit_tool_call", {"name": str(tool), "args": args, "id": str(id)}:
                if id not in self.output.calls:
                    return self.unstreamed.add_complete_call(id, tool, to_text(args), id)
            case "copilotkit_manually_emit_intermediate_state", _:
                return self.on_state_snapshot({"snapshot": value})
            case str(name), _ if name not in _EMIT_EVENTS:
                return [Custom(name, value)]
        return []

    # The run.

    def on_run(self, event: AGUIEvent) -> list[Event]:
        self.finish_event = event if event["type"] == "RUN_FINISHED" else None
        return []

    def on_run_error(self, event: AGUIEvent) -> list[Event]:
        raise self.errors.run_failed(read_text(event, "code"))

    def finish(self) -> list[Event]:
        """Return the run's last events; raises if the stream ended without RUN_FINISHED."""
        if self.finish_event is None:
            raise self.errors.incomplete_stream()
        try:
            return self._finish_run(self.finish_event)
        except SHAPE_ERRORS as error:
            raise self.errors.invalid_response("a RUN_FINISHED that is none of AG-UI's") from error

    def _finish_run(self, finish_event: AGUIEvent) -> list[Event]:
        outcome = finish_event.get("outcome")
        items = dict_items(outcome.get("interrupts")) if isinstance(outcome, dict) else []
        outcome_interrupts = [
            question for item in items if (question := interrupt_from_outcome(item, self.thread, self.language))
        ]
        # A peer that speaks both dialects sends each interrupt twice.
        interrupts = outcome_interrupts or self.legacy_interrupts
        events = [*self.end_chunks(""), *self.output.close({question.call or "" for question in interrupts})]
        # pendingToolCallIds is ignored: it lists these calls, or calls that nobody here can run.
        pending = self.output.pending_call_ids
        reason: RunFinishReason = "interrupt" if interrupts else "calls" if pending else self.read_finish_reason()
        if any(call.open for call in self.output.calls.values()):
            raise self.errors.invalid_response("a call with half of its arguments")
        self.interrupt_ids = [question.id for question in interrupts]
        return [*events, *interrupts, RunFinished(reason, parse_usage(finish_event.get("usage")), pending)]

    def read_finish_reason(self) -> RunFinishReason:
        match self.finish_event:
            case {"result": {"finishReason": ("length" | "content_filter") as reason}}:
                return "length" if reason == "length" else "content_filter"
            case _:
                return "stop"


_HANDLERS: dict[str, Callable[[AGUIEventMapper, AGUIEvent], list[Event]]] = {
    "TEXT_MESSAGE_START": AGUIEventMapper.on_text_start,
    "TEXT_MESSAGE_CONTENT": AGUIEventMapper.on_text_content,
    "TEXT_MESSAGE_END": lambda run, event: run.output.end_text(read_text(event, "messageId")),
    "TEXT_MESSAGE_CHUNK": AGUIEventMapper.on_text_chunk,
    "TOOL_CALL_START": AGUIEventMapper.on_call_start,
    "TOOL_CALL_ARGS": AGUIEventMapper.on_call_args,
    "TOOL_CALL_END": lambda run, event: run.output.end_call(read_text(event, "toolCallId")),
    "TOOL_CALL_CHUNK": AGUIEventMapper.on_call_chunk,
    "TOOL_CALL_RESULT": AGUIEventMapper.on_call_result,
    "STATE_SNAPSHOT": AGUIEventMapper.on_state_snapshot,
    "STATE_DELTA": AGUIEventMapper.on_state_delta,
    "MESSAGES_SNAPSHOT": lambda run, event: run.unstreamed.add_messages(event.get("messages")),
    "STEP_STARTED": lambda run, event: run.output.start_step(read_text(event, "stepName")),
    "STEP_FINISHED": lambda run, event: run.output.end_step(read_text(event, "stepName")),
    "ACTIVITY_SNAPSHOT": AGUIEventMapper.on_activity,
    "ACTIVITY_DELTA": AGUIEventMapper.on_activity,
    "CUSTOM": AGUIEventMapper.on_custom,
    "RUN_STARTED": AGUIEventMapper.on_run,
    "RUN_FINISHED": AGUIEventMapper.on_run,
    "RUN_ERROR": AGUIEventMapper.on_run_error,
    "SUBAGENT_STARTED": AGUIEventMapper.on_subagent_start,
    "SUBAGENT_FINISHED": AGUIEventMapper.on_subagent_end,
    "SUBAGENT_ERROR": AGUIEventMapper.on_subagent_end,
    "REASONING_MESSAGE_CONTENT": AGUIEventMapper.on_reasoning_content,
    "REASONING_MESSAGE_CHUNK": AGUIEventMapper.on_reasoning_content,
    "REASONING_MESSAGE_END": AGUIEventMapper.on_reasoning_end,
    "REASONING_END": AGUIEventMapper.on_reasoning_end,
    # Before protocol 1.0, without ids.
    "THINKING_TEXT_MESSAGE_CONTENT": AGUIEventMapper.on_reasoning_content,
    "THINKING_TEXT_MESSAGE_END": AGUIEventMapper.on_reasoning_end,
    "THINKING_END": AGUIEventMapper.on_reasoning_end,
}
