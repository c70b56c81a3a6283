"""LangGraph's events as Structs. Only used fields are declared; the rest is skipped undecoded."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct, field

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents._peer.json_text import dict_items

STEP_TAG_PREFIX = "graph:step"
SILENT_TAGS = ("langsmith:nostream", "nostream")
# One event may hold the whole state of a graph with all its messages.
EVENT_SIZE_LIMIT = 32 << 20


class LangGraphMetadata(Struct, frozen=True):
    """Event metadata of LangGraph and, under names with a colon, of CopilotKit's helpers."""

    node: str | None = field(default=None, name="langgraph_node")
    checkpoint_ns: str | None = field(default=None, name="langgraph_checkpoint_ns")
    emit_messages: Any = field(default=True, name="copilotkit:emit-messages")
    emit_tool_calls: Any = field(default=True, name="copilotkit:emit-tool-calls")
    emit_state: Any = field(default=None, name="copilotkit:emit-intermediate-state")

    @property
    def is_nested(self) -> bool:
        """Whether the event comes from a subgraph."""
        return "|" in (self.checkpoint_ns or "")

    def shows_call(self, tool: str) -> bool:
        """Whether calls to this tool are emitted: all, none, or the listed ones."""
        if isinstance(self.emit_tool_calls, list):
            return tool in self.emit_tool_calls
        if isinstance(self.emit_tool_calls, str):
            return tool == self.emit_tool_calls
        return self.emit_tool_calls is not False

    @property
    def predictions(self) -> dict[str, PredictedStateKey]:
        """Predicted state keys, by the tool whose arguments predict them."""
        predictions = {}
        for item in dict_items(self.emit_state):
            match item:
                case {"state_key": str(key), "tool": str(tool)}:
                    argument = item.get("tool_argument")
                    predictions[tool] = PredictedStateKey(key, argument if isinstance(argument, str) else None)
        return predictions


class PredictedStateKey(Struct, frozen=True):
    key: str
    argument: str | None = None


class LangChainEvent(Struct, frozen=True):
    """One event of LangChain's `astream_events`."""

    event: str
    name: str | None = None
    run_id: str = ""
    tags: list[str] = []
    metadata: LangGraphMetadata = LangGraphMetadata()
    data: Raw = Raw(b"null")
    parent_ids: list[str] | None = None

    @property
    def is_node(self) -> bool:
        """Whether the event is about a node itself, not about something that runs in it."""
        named = self.name is not None and self.name == self.metadata.node and not self.name.startswith("__")
        return named and any(tag.startswith(STEP_TAG_PREFIX) for tag in self.tags)


class LangChainCallChunk(Struct, frozen=True):
    id: str | None = None
    name: str | None = None
    args: str | None = None
    index: int | str | None = None


class LangChainChunk(Struct, frozen=True):
    """A chunk of a model's answer (AIMessageChunk)."""

    id: str | None = None
    content: Any = ""
    tool_call_chunks: list[LangChainCallChunk] | None = None
    additional_kwargs: dict[str, Any] = {}


class ModelStreamData(Struct, frozen=True):
    chunk: LangChainChunk


class EndEventData(Struct, frozen=True):
    output: Any = None


decode_event = msgspec.json.Decoder(LangChainEvent).decode
decode_stream_data = msgspec.json.Decoder(ModelStreamData).decode
decode_end_data = msgspec.json.Decoder(EndEventData).decode
decode_json = msgspec.json.Decoder().decode


def join_content_reasoning(content: Any, additional_kwargs: dict[str, Any]) -> str:
    """Join the reasoning of a content, in the formats of several vendors."""
    parts = [extract_block_reasoning(block) for block in content] if isinstance(content, list) else []
    extra = additional_kwargs.get("reasoning_content")
    return "".join(parts) + (extra if isinstance(extra, str) else "")


def extract_block_reasoning(block: Any) -> str:
    match block:
        case {"type": "thinking", "thinking": str(text)} | {"type": "reasoning", "reasoning": str(text)}:
            return text
        case {"type": "reasoning", "summary": list(parts)}:
            return "".join(part["text"] for part in parts if isinstance(part, dict) and "text" in part)
        case _:
            return ""


class ServerSentEvent(NamedTuple):
    event: str
    data: bytes
    id: str = ""


class ServerSentEventParser:
    """Parses a byte stream into events, independent of how the bytes are chunked. LangGraph needs an event's name
    for its kind and the id to resume a stream; `rightseat.http.sse` parses only data."""

    def __init__(self, errors: PeerErrors) -> None:
        self._errors = errors
        self._buffer = bytearray()
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            # A line ends at LF, CRLF or CR; JSON has neither inside a string.
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer = self._buffer
        start, search_from = 0, max(len(buffer) - 1, 0)
        buffer += chunk
        events: list[ServerSentEvent] = []
        while (end := buffer.find(b"\n\n", search_from)) >= 0:
            if frame := parse_event_block(bytes(buffer[start:end])):
                events.append(frame)
            start = search_from = end + 2
        del buffer[:start]
        if len(buffer) > EVENT_SIZE_LIMIT:
            raise self._errors.response_too_large(EVENT_SIZE_LIMIT)
        return events


def parse_event_block(block: bytes) -> ServerSentEvent | None:
    """Parse one block; None if it is only a keep-alive comment."""
    event = id = ""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value.decode(errors="replace")
        elif name == b"id":
            id = value.decode(errors="replace")
    return ServerSentEvent(event, b"\n".join(data), id) if data or event else None
