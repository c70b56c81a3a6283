"""Texts, reasoning and calls of a graph's models → events. Model runs are tracked separately, because nodes
run in parallel; calls are tracked by index, because one answer may have several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.json_text import join_content_text, to_text
from rightseat.agents.langgraph.wire import (
    LangChainCallChunk,
    LangChainChunk,
    LangGraphMetadata,
    join_content_reasoning,
)
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
    text_events,
)
from rightseat.types.partial_json import parse_partial_json


class ModelOutputs:
    """Model outputs of one run. `client_tools` are the names of the client's tools, `known_ids` the ids of
    the thread's earlier messages, `open_calls` their calls without a result."""

    def __init__(
        self, client_tools: Iterable[str] = (), known_ids: Iterable[str] = (), open_calls: Iterable[str] = ()
    ) -> None:
        self.client_tools = frozenset(client_tools)
        self.known_ids = set(known_ids)
        self.open_calls = set(open_calls)
        self.calls: dict[str, bool] = {}
        """Calls emitted and ended in this run: by id, whether the client runs it."""
        self.emitted_texts: set[str] = set()
        """Emitted texts: a node may return a new message with its model's text."""
        self.answered_calls: set[str] = set()
        self.usage: Usage | None = None
        self.running: dict[str, ModelOutput] = {}

    def start_output(self, run: str, metadata: LangGraphMetadata) -> None:
        self.running[run] = ModelOutput(self, metadata)

    def on_chunk(self, run: str, metadata: LangGraphMetadata, chunk: LangChainChunk) -> list[Event]:
        if run not in self.running:
            # A rejoined stream may begin within an output.
            self.start_output(run, metadata)
        return self.running[run].on_chunk(chunk)

    def end_output(self, run: str, metadata: LangGraphMetadata, result: Any) -> Iterator[Event]:
        model_output = self.running.pop(run, None) or ModelOutput(self, metadata)
        yield from model_output.close()
        message = extract_final_message(result)
        if message is None:
            return
        if isinstance(id := message.get("id"), str):
            self.known_ids.add(id)
        self.add_usage(message.get("usage_metadata"))
        if model_output.is_empty:
            yield from self.emit_message(message, metadata)

    def emit_message(self, message: dict[str, Any], metadata: LangGraphMetadata) -> Iterator[Event]:
        """Emit a message that was not streamed."""
        id = str(message.get("id") or f"message-{len(self.known_ids)}")
        text = join_content_text(message.get("content"))
        if text and metadata.emit_messages is not False:
            self.emitted_texts.add(text)
            yield from text_events(id, text)
        for call in message.get("tool_calls") or ():
            match call:
                case {"id": str(call_id), "name": str(name)} if metadata.shows_call(name):
                    yield from self.emit_call(call_id, name, call.get("args"), id)

    def emit_call(self, id: str, name: str, args: Any, message: str) -> Iterator[Event]:
        """Emit a complete call, unless it was emitted before."""
        if id in self.calls:
            return
        client = self.calls[id] = name in self.client_tools
        yield from (CallStart(id, name, message, client), CallArgs(id, to_text(args or {})), CallEnd(id))

    def emit_text(self, id: str, text: str) -> list[Event]:
        """Emit a text that the graph sends explicitly."""
        if not text or id in self.known_ids:
            return []
        self.known_ids.add(id)
        self.emitted_texts.add(text)
        return text_events(id, text)

    def on_state_message(self, message: Any) -> Iterator[Event]:
        """Emit a message that a node added to the state: a tool result, or a text that was not streamed."""
        match message:
            case {"type": "tool", "tool_call_id": str()}:
                yield from self.emit_result(message)
            case {"type": "ai", "id": str(id)} if id not in self.known_ids:
                self.known_ids.add(id)
                if join_content_text(message.get("content")) in self.emitted_texts:
                    message = {**message, "content": ""}
                yield from self.emit_message(message, LangGraphMetadata())

    def emit_result(self, message: Any) -> Iterator[Event]:
        match message:
            case {"tool_call_id": str(id)} if id in self.calls or id in self.open_calls:
                if id not in self.answered_calls:
                    self.answered_calls.add(id)
                    yield CallResult(id, content_to_text(message.get("content")), message.get("status") == "error")

    def close(self) -> Iterator[Event]:
        for output in self.running.values():
            yield from output.close()
        self.running.clear()

    def emit_missing_results(self) -> Iterator[Event]:
        """Emit empty results for the graph's own calls that it left unanswered."""
        for id, client in self.calls.items():
            if not client and id not in self.answered_calls:
                yield CallResult(id, "")

    @property
    def pending_call_ids(self) -> tuple[str, ...]:
        return tuple(id for id, client in self.calls.items() if client and id not in self.answered_calls)

    def add_usage(self, usage: Any) -> None:
        match usage:
            case {"input_tokens": int(read), "output_tokens": int(written)}:
                details = usage.get("input_token_details")
                cached = details.get("cache_read") if isinstance(details, dict) else 0
                self.usage = (self.usage or Usage()) + Usage(read, written, cached or 0)


class ModelOutput:
    """One streamed answer of one model. `is_empty`: no content has arrived."""

    def __init__(self, outputs: ModelOutputs, metadata: LangGraphMetadata) -> None:
        self.outputs = outputs
        self.metadata = metadata
        self.predictions = metadata.predictions
        self.predicted_state: dict[str, Any] = {}
        """Predicted state from partial call arguments; the event mapper takes and resets it."""
        self.is_empty = True
        self.message_id = ""
        self.open_text_id = ""
        self.open_reasoning_id = ""
        self.text_parts: list[str] = []
        self.part_count = 0
        self.calls: dict[int | str, StreamedCall] = {}
        self.last_call: StreamedCall | None = None

    def on_chunk(self, chunk: LangChainChunk) -> list[Event]:
        content = chunk.content
        calls = chunk.tool_call_chunks
        text = content if type(content) is str else join_content_text(content)
        if not calls and text and text is content and self.open_text_id:
            # Fast path: nearly every chunk continues the open text.
            self.text_parts.append(text)
            return [TextDelta(self.open_text_id, text)]
        events: list[Event] = []
        thought = join_content_reasoning(content, chunk.additional_kwargs)
        if thought or text or calls:
            # The last chunk is empty with an id of its own, and starts nothing.
            self.is_empty = False
            self.message_id = self.message_id or chunk.id or ""
        if thought and self.metadata.emit_messages is not False:
            events += self.append_reasoning(thought)
        if text and self.metadata.emit_messages is not False:
            events += self.append_text(text)
        for item in calls or ():
            events += self.append_call(item)
        return events

    def append_reasoning(self, text: str) -> Iterator[Event]:
        if not self.open_reasoning_id:
            self.part_count += 1
            self.open_reasoning_id = f"{self.message_id}-thought-{self.part_count}"
            yield ReasoningStart(self.open_reasoning_id)
        yield ReasoningDelta(self.open_reasoning_id, text)

    def append_text(self, text: str) -> Iterator[Event]:
        yield from self.end_reasoning()
        if not self.open_text_id:
            # Text after a call is a new text: an id is never started twice.
            taken = self.message_id in self.outputs.known_ids
            self.part_count += taken
            self.open_text_id = f"{self.message_id}-{self.part_count + 1}" if taken else self.message_id
            self.outputs.known_ids.add(self.open_text_id)
            yield TextStart(self.open_text_id)
        self.text_parts.append(text)
        yield TextDelta(self.open_text_id, text)

    def append_call(self, item: LangChainCallChunk) -> Iterator[Event]:
        call = self.find_call(item)
        if call is None:
            return
        if not call.is_started:
            call.is_started = True
            yield from self.end_reasoning()
            yield from self.end_text()
            if call.is_visible:
                yield CallStart(call.id, call.name, self.message_id, call.is_client)
        if item.args:
            call.args += item.args
            if call.is_visible:
                call.has_args = True
                yield CallArgs(call.id, item.args)
            self.update_prediction(call)

    def find_call(self, item: LangChainCallChunk) -> StreamedCall | None:
        """Return the call of a chunk: by its index, else by its id, else the last one."""
        key: int | str | None = item.index if item.index is not None else item.id
        if item.id and item.name and (key not in self.calls or self.calls[key].id != item.id):
            is_visible = self.metadata.shows_call(item.name) and item.id not in self.outputs.calls
            is_client = item.name in self.outputs.client_tools
            self.last_call = StreamedCall(item.id, item.name, is_visible, is_client)
            self.calls[item.id if key is None else key] = self.last_call
        elif key is not None and key in self.calls:
            self.last_call = self.calls[key]
        return self.last_call

    def update_prediction(self, call: StreamedCall) -> None:
        prediction = self.predictions.get(call.name)
        if prediction is None:
            return
        value = parse_partial_json(call.args)
        if prediction.argument is not None:
            value = value.get(prediction.argument) if isinstance(value, dict) else None
        if value is not None:
            self.predicted_state[prediction.key] = value

    def end_reasoning(self) -> Iterator[Event]:
        if self.open_reasoning_id:
            yield ReasoningEnd(self.open_reasoning_id)
            self.open_reasoning_id = ""

    def end_text(self) -> Iterator[Event]:
        if self.open_text_id:
            self.outputs.emitted_texts.add("".join(self.text_parts))
            self.text_parts = []
            yield TextEnd(self.open_text_id)
            self.open_text_id = ""

    def close(self) -> Iterator[Event]:
        yield from self.end_reasoning()
        yield from self.end_text()
        for call in self.calls.values():
            if call.is_visible:
                self.outputs.calls[call.id] = call.is_client
                if not call.has_args:
                    yield CallArgs(call.id, "{}")
                yield CallEnd(call.id)
        self.calls.clear()


class StreamedCall(Struct):
    id: str
    name: str
    is_visible: bool
    is_client: bool
    is_started: bool = False
    has_args: bool = False
    args: str = ""


def extract_final_message(output: Any) -> dict[str, Any] | None:
    """Return the final message of a model run, from either of LangChain's forms."""
    match output:
        case {"generations": [[{"message": dict(message)}, *_], *_]}:
            return message
        case dict():
            return output
        case _:
            return None


def content_to_text(content: Any) -> str:
    """Convert a tool result to text."""
    return join_content_text(content) or to_text(content)
