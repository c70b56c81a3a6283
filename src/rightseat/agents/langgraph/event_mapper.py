"""LangGraph's stream → our events, without I/O: for a server, a graph in this process, and CopilotKit's
remote endpoints, which send the same events (`on_event`)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents._peer.json_text import SHAPE_ERRORS
from rightseat.agents.langgraph import wire
from rightseat.agents.langgraph.interrupts import GraphInterrupt, format_question, parse_interrupts, to_interrupt_event
from rightseat.agents.langgraph.model_outputs import ModelOutput, ModelOutputs
from rightseat.agents.langgraph.wire import LangChainEvent
from rightseat.types.events import (
    Custom,
    Event,
    RunFinished,
    RunFinishReason,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    TextDelta,
)
from rightseat.types.language import Language
from rightseat.types.partial_json import make_add_operation

_CONTENT_KEY = b'"content":'
_decode_string = msgspec.json.Decoder(str).decode
_encode = msgspec.json.encode
INTERRUPT_KEY = "__interrupt__"
# Messages have their own events; the other keys are the client's own input.
HIDDEN_KEYS = frozenset(("messages", "copilotkit", "tools", "ag-ui", INTERRUPT_KEY))
_NEVER_EMITTED = object()
_SYNCED_STEP = "synced"


class LangGraphDeltaFastPath:
    """Fast path for text deltas: most events equal the previous one except for the text, and only that is decoded.
    Holds the bytes before and after the delta of the last event, valid while its text is open."""

    __slots__ = ("_after", "_before", "_output", "_text")

    def __init__(self) -> None:
        self._before = b""
        self._after = b""
        self._text = ""
        self._output: ModelOutput | None = None

    def learn_template(self, data: bytes, word: str, output: ModelOutput) -> None:
        self._output = None
        before, match, after = data.partition(_CONTENT_KEY + _encode(word))
        # The key must be unique, so that no other part of the event can match.
        if match and word and data.count(_CONTENT_KEY) == 1:
            self._before, self._after = before + _CONTENT_KEY, after
            self._text, self._output = output.open_text_id, output

    def match_delta(self, data: bytes) -> list[Event] | None:
        """Return the event's text delta, or None if the event does not match the template."""
        output = self._output
        if output is None or output.open_text_id != self._text:
            return None
        before, after = self._before, self._after
        if not (data.startswith(before) and data.endswith(after)):
            return None
        try:
            word = _decode_string(data[len(before) : len(data) - len(after)])
        except msgspec.DecodeError:
            # Not a single string.
            return None
        output.text_parts.append(word)
        return [TextDelta(self._text, word)] if word else []


class GraphStateTracker:
    """Tracks steps and state. `output_keys` are the keys of the graph's output schema; None shows all keys.
    `stream_subgraphs` also shows the nodes of subgraphs."""

    def __init__(self, output_keys: Collection[str] | None = None, *, stream_subgraphs: bool = False) -> None:
        self.output_keys = None if output_keys is None else frozenset(output_keys)
        self.stream_subgraphs = stream_subgraphs
        self.last_emitted: Any = _NEVER_EMITTED
        self.current: dict[str, Any] = {}
        """The graph's last complete state."""
        self.running_steps: dict[str, str] = {}
        """Names of running nodes, by run id."""
        self.ending_steps: list[str] = []
        self.has_started = False

    def select_visible(self, state: Any) -> dict[str, Any]:
        if not isinstance(state, Mapping):
            return {}
        output_keys = self.output_keys
        return {k: v for k, v in state.items() if k not in HIDDEN_KEYS and (output_keys is None or k in output_keys)}

    def on_node_start(self, event: LangChainEvent) -> Iterator[Event]:
        if event.name and (self.stream_subgraphs or not event.metadata.is_nested):
            if self.running_steps.get(_SYNCED_STEP) == event.name:
                self.running_steps[event.run_id] = self.running_steps.pop(_SYNCED_STEP)
                return
            yield from self.end_steps()
            self.running_steps[event.run_id] = event.name
            yield StepStart(event.name)
            if not self.has_started:
                self.has_started = True
                yield from self.emit_snapshot(self.current)

    def on_node_end(self, event: LangChainEvent) -> None:
        if event.run_id in self.running_steps:
            self.ending_steps.append(event.run_id)

    def on_synced_node(self, node: str) -> Iterator[Event]:
        """Start the first node, which the graph has told of with its state and not by an event of its own yet."""
        if not self.has_started:
            self.has_started = True
            self.running_steps[_SYNCED_STEP] = node
            yield StepStart(node)

    def on_values(self, state: Any) -> Iterator[Event]:
        """Take the top-level state between steps; it is emitted only after the first node has started."""
        self.current = self.select_visible(state)
        if self.has_started:
            yield from self.emit_snapshot(self.current)
        yield from self.end_steps()

    def on_emitted_state(self, state: Any) -> Iterator[Event]:
        """Emit a state that the graph sends explicitly; the next complete state replaces it."""
        yield from self.emit_snapshot({**self.current, **self.select_visible(state)})

    def emit_prediction(self, parts: Mapping[str, Any]) -> Iterator[Event]:
        """Emit state that is predicted from partial call arguments."""
        if self.last_emitted is _NEVER_EMITTED:
            yield from self.emit_snapshot(self.current, even_empty=True)
        patch = []
        for key, value in parts.items():
            if key not in self.last_emitted or self.last_emitted[key] != value:
                self.last_emitted = {**self.last_emitted, key: value}
                patch.append(make_add_operation(key, value))
        if patch:
            yield StateDelta(patch)

    def emit_snapshot(self, state: dict[str, Any], *, even_empty: bool = False) -> Iterator[Event]:
        if state != self.last_emitted and (state or even_empty or self.last_emitted is not _NEVER_EMITTED):
            self.last_emitted = state
            yield StateSnapshot(state)

    def end_steps(self) -> Iterator[Event]:
        for run in self.ending_steps:
            yield StepEnd(self.running_steps.pop(run))
        self.ending_steps.clear()

    def close(self) -> Iterator[Event]:
        if not self.has_started and self.last_emitted is _NEVER_EMITTED:
            yield from self.emit_snapshot(self.current)
        yield from self.end_steps()
        for run in list(self.running_steps):
            yield StepEnd(self.running_steps.pop(run))


class LangGraphEventMapper:
    """Mapper of one run: `feed` each event, then `finish`. Raises the errors that the graph reports."""

    def __init__(
        self,
        errors: PeerErrors,
        thread: uuid.UUID,
        outputs: ModelOutputs,
        state: GraphStateTracker,
        *,
        asks_in_chat: bool = False,
        is_delegated: bool = False,
        language: Language = "en",
    ) -> None:
        """`asks_in_chat`: CopilotKit interrupts are chat texts, and the next message is the answer.
        `is_delegated`: another assistant started this run."""
        self.errors = errors
        self.thread = thread
        self.outputs = outputs
        self.state = state
        self.fast_path = LangGraphDeltaFastPath()
        self.interrupts: dict[str, GraphInterrupt] = {}
        self.asks_in_chat = asks_in_chat and not is_delegated
        self.is_delegated = is_delegated
        self.language = language
        self.graph_finished = False
        """The graph has ended, not only its stream."""
        self.at_breakpoint = False
        """The graph waits at a breakpoint."""

    def feed(self, event: str, data: bytes) -> Iterable[Event]:
        try:
            match event:
                case "events":
                    if (deltas := self.fast_path.match_delta(data)) is not None:
                        return deltas
                    # As a list, here and below: events that are made later would not be checked.
                    return list(self.on_event(wire.decode_event(data), data))
                case "values":
                    return list(self.on_values(wire.decode_json(data)))
                case "updates":
                    return list(self.on_updates(wire.decode_json(data)))
                case "error":
                    error_data = wire.decode_json(data)
                    kind = error_data.get("error") if isinstance(error_data, dict) else None
                    raise self.errors.run_failed(kind if isinstance(kind, str) else "")
        except SHAPE_ERRORS as error:
            raise self.errors.invalid_response(f"an event {event[:20]!r} that is none of LangGraph's") from error
        return ()

    # Events.

    def on_event(self, event: LangChainEvent, data: bytes = b"") -> Iterable[Event]:
        """Map one LangChain event. `data` is its encoded form, from which the fast path learns."""
        match event.event:
            case "on_chat_model_stream":
                return self.on_model_chunk(event, data)
            case "on_chat_model_start":
                self.outputs.start_output(event.run_id, event.metadata)
            case "on_chat_model_end":
                return self.on_model_end(event)
            case "on_chain_start" if event.is_node:
                return self.state.on_node_start(event)
            case "on_chain_end":
                self.graph_finished = self.graph_finished or event.parent_ids == []
                self.state.on_node_end(event)
            case "on_tool_end":
                return self.outputs.emit_result(wire.decode_end_data(event.data).output)
            case "on_custom_event":
                return self.on_custom(event.name or "", wire.decode_json(event.data))
        return ()

    def on_model_chunk(self, event: LangChainEvent, data: bytes) -> Iterable[Event]:
        if event.tags and any(tag in wire.SILENT_TAGS for tag in event.tags):
            return ()
        chunk = wire.decode_stream_data(event.data).chunk
        events = self.outputs.on_chunk(event.run_id, event.metadata, chunk)
        output = self.outputs.running[event.run_id]
        if output.open_text_id and type(chunk.content) is str and not chunk.tool_call_chunks:
            self.fast_path.learn_template(data, chunk.content, output)
        if output.predicted_state:
            parts, output.predicted_state = output.predicted_state, {}
            events += self.state.emit_prediction(parts)
        return events

    def on_model_end(self, event: LangChainEvent) -> Iterable[Event]:
        if any(tag in wire.SILENT_TAGS for tag in event.tags):
            return ()
        return self.outputs.end_output(event.run_id, event.metadata, wire.decode_end_data(event.data).output)

    def on_custom(self, name: str, data: Any) -> Iterable[Event]:
        """Map a custom event; three names belong to CopilotKit's helpers."""
        match name, data:
            case "copilotkit_manually_emit_message", {"message": str(text)}:
                return self.outputs.emit_text(str(data.get("message_id") or uuid.uuid4()), text)
            case "copilotkit_manually_emit_tool_call", {"name": str(called)}:
                id = str(data.get("id") or uuid.uuid4())
                return self.outputs.emit_call(id, called, data.get("args"), id)
            case "copilotkit_manually_emit_intermediate_state", _:
                return self.state.on_emitted_state(data)
            case _:
                return (Custom(name, data),)

    # State.

    def on_values(self, values: Any) -> Iterator[Event]:
        if isinstance(values, dict):
            self.add_interrupts(values.get(INTERRUPT_KEY))
        return self.state.on_values(values)

    def on_updates(self, updates: Any) -> Iterator[Event]:
        for node, update in updates.items() if isinstance(updates, dict) else ():
            if node == INTERRUPT_KEY:
                self.add_interrupts(update)
                continue
            # A node may return several updates as a list.
            for part in update if isinstance(update, list) else (update,):
                messages = part.get("messages") if isinstance(part, dict) else None
                for message in messages if isinstance(messages, list) else (messages,):
                    yield from self.outputs.on_state_message(message)

    def add_interrupts(self, items: Any) -> None:
        self.at_breakpoint = self.at_breakpoint or items == []
        for item in parse_interrupts(items):
            self.interrupts.setdefault(item.id, item)

    def finish(self) -> list[Event]:
        """Return the run's last events; raises for an interrupt of a wrong shape."""
        try:
            return list(self._iter_last_events())
        except SHAPE_ERRORS as error:
            raise self.errors.invalid_response("an interrupt that is none of LangGraph's") from error

    def _iter_last_events(self) -> Iterator[Event]:
        yield from self.outputs.close()
        if not self.interrupts:
            yield from self.outputs.emit_missing_results()
        yield from self.state.close()
        asks = False
        for item in self.interrupts.values():
            calls = list(item.calls)
            for call in calls:
                # A call to one of the page's tools asks; its result is the answer.
                self.outputs.client_tools |= {str(call.get("name"))}
                yield from self.outputs.emit_call(call["id"], str(call.get("name")), call.get("args"), call["id"])
            if item.is_copilotkit and self.asks_in_chat and not calls:
                # The question is a chat text, and the next message is the answer.
                yield from self.outputs.emit_text(f"question-{item.id}", format_question(item.question))
            elif not calls:
                asks = True
                yield to_interrupt_event(item, self.thread, text_only=self.is_delegated, language=self.language)
        pending = self.outputs.pending_call_ids
        reason: RunFinishReason = "interrupt" if asks else "calls" if pending else "stop"
        yield RunFinished(reason, self.outputs.usage, pending)
