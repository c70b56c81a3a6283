"""Messages API stream events → ModelChunks, without I/O. Any field of an event may be missing or null."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder

from rightseat.models._vendor.parser import FinishReason, StreamParser
from rightseat.models.anthropic.conversation import PROVIDER
from rightseat.models.anthropic.errors import ERRORS
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ProviderDataChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage


class AnthropicContentBlock(Struct, gc=False):
    """A content_block_start: text, thinking, redacted_thinking, tool_use, or a server tool block."""

    type: str = ""
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    # Raw bytes, so that numbers keep their exact spelling.
    input: Raw | UnsetType = UNSET


class AnthropicDelta(Struct, gc=False):
    """A delta of a content block, or of the message (with `stop_reason`)."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class AnthropicUsage(Struct, gc=False):
    """Cumulative token counts; null means unchanged."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class AnthropicMessageStart(Struct, gc=False):
    usage: AnthropicUsage | None = None


class AnthropicEvent(Struct, gc=False):
    type: str
    index: int | None = None
    message: AnthropicMessageStart | None = None
    content_block: AnthropicContentBlock | None = None
    delta: AnthropicDelta | None = None
    usage: AnthropicUsage | None = None
    error: Any = None


_EVENT_DECODER = Decoder(AnthropicEvent)

# Stop reasons that are not listed, also future ones, count as a normal end.
_FINISH_REASONS: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    # Only server tools pause a turn, and none are requested: report a truncated answer.
    "pause_turn": "length",
    "refusal": "content_filter",
}


class _OpenContentBlock(Struct):
    """A started content block. `text`: thinking text, or call arguments that came with the start event."""

    kind: str
    number: int = 0
    text: str = ""
    signature: str = ""
    data: str = ""
    length: int = 0


class MessageStreamParser(StreamParser):
    """Parses one answer. `tool_names` maps names as sent to the API to the original tool names.

    `started` is True once a content block has started, even if it is thinking that is not shown.
    `on_finish` receives all chunks of a complete answer.
    """

    errors = ERRORS
    event_name = "a message's event"

    def __init__(
        self,
        model_name: str,
        tool_names: Mapping[str, str],
        enforced: frozenset[str] = frozenset(),
        on_finish: Callable[[list[ModelChunk]], None] | None = None,
    ) -> None:
        super().__init__()
        self._model_name = model_name
        self._tool_names = tool_names
        self._enforced = enforced
        self._on_finish = on_finish
        self._answer: list[ModelChunk] = []
        self._blocks: dict[int, _OpenContentBlock] = {}
        self._calls = 0
        self._reason: str | None = None
        self._counts = AnthropicUsage()

    def feed(self, payload: bytes) -> list[ModelChunk]:
        if self.done or not payload.strip():
            return []
        event = self._decode(payload, _EVENT_DECODER)
        if event.type == "content_block_delta" and event.delta is not None:
            out = self._handle_delta(event.index or 0, event.delta)
        else:
            out = self._handle_event(event)
        self._answer += out
        return out

    def finish(self) -> list[ModelChunk]:
        if not self.done or self._reason is None:
            raise ERRORS.incomplete_stream()
        out: list[ModelChunk] = [*self._make_opaque_chunks(), *self._make_usage_chunks()]
        out.append(FinishChunk(_FINISH_REASONS.get(self._reason) or ("calls" if self._calls else "stop")))
        if self._on_finish is not None:
            self._on_finish(self._answer + out)
        return out

    def _handle_event(self, event: AnthropicEvent) -> list[ModelChunk]:
        match event.type:
            case "content_block_start" if event.content_block is not None:
                self.started = True
                return self._start_block(event.index or 0, event.content_block)
            case "content_block_stop":
                return self._stop_block(event.index or 0)
            case "message_start" if event.message is not None:
                self._update_counts(event.message.usage)
            case "message_delta":
                self._update_counts(event.usage)
                if event.delta is not None:
                    self._reason = event.delta.stop_reason or self._reason
            case "message_stop":
                self.done = True
            case "error":
                raise ERRORS.from_payload(event.error)
            case _:
                # A ping, or an event type added later.
                pass
        return []

    def _start_block(self, index: int, block: AnthropicContentBlock) -> list[ModelChunk]:
        opened = self._blocks[index] = _OpenContentBlock(block.type)
        match block.type:
            case "text":
                return self._append_text(opened, block.text)
            case "thinking":
                opened.signature = block.signature or ""
                return self._append_thinking(opened, block.thinking)
            case "redacted_thinking":
                opened.data = block.data or ""
            case "tool_use":
                return self._start_call(opened, block)
            case _:
                # A block of a server tool is not part of the answer.
                pass
        return []

    def _start_call(self, opened: _OpenContentBlock, block: AnthropicContentBlock) -> list[ModelChunk]:
        if not block.name:
            raise ERRORS.invalid_response("a call without a name")
        opened.number = self._calls
        self._calls += 1
        # The start event holds `{}`, or the whole arguments if no deltas follow.
        opened.text = bytes(block.input).decode() if isinstance(block.input, Raw) else "{}"
        name = self._tool_names.get(block.name, block.name)
        return [ToolCallStart(opened.number, name, block.name in self._enforced)]

    def _handle_delta(self, index: int, delta: AnthropicDelta) -> list[ModelChunk]:
        opened = self._blocks.get(index)
        if opened is None:
            raise ERRORS.invalid_response("a piece of a block that did not begin")
        kind = opened.kind
        if kind == "text":
            return self._append_text(opened, delta.text)
        if kind == "tool_use" and delta.partial_json:
            opened.length += 1
            return [ToolCallArgs(opened.number, delta.partial_json)]
        if kind == "thinking":
            opened.signature += delta.signature or ""
            return self._append_thinking(opened, delta.thinking)
        return []

    def _stop_block(self, index: int) -> list[ModelChunk]:
        opened = self._blocks.get(index)
        if opened is None or opened.kind != "tool_use" or opened.length:
            return []
        opened.length += 1
        return [ToolCallArgs(opened.number, opened.text)]

    def _append_text(self, opened: _OpenContentBlock, text: str | None) -> list[ModelChunk]:
        if not text:
            return []
        opened.length += len(text)
        return [TextChunk(text)]

    def _append_thinking(self, opened: _OpenContentBlock, text: str | None) -> list[ModelChunk]:
        if not text:
            return []
        opened.text += text
        return [ReasoningChunk(text)]

    def _update_counts(self, counts: AnthropicUsage | None) -> None:
        for field in AnthropicUsage.__struct_fields__:
            if (value := getattr(counts, field, None)) is not None:
                setattr(self._counts, field, value)

    def _make_usage_chunks(self) -> list[ModelChunk]:
        counts = self._counts
        if counts.input_tokens is None and counts.output_tokens is None:
            return []
        cached = counts.cache_read_input_tokens or 0
        fresh = (counts.input_tokens or 0) + (counts.cache_creation_input_tokens or 0)
        return [UsageChunk(Usage(fresh + cached, counts.output_tokens or 0, cached))]

    def _make_opaque_chunks(self) -> list[ModelChunk]:
        """Return an opaque chunk with the signed thinking blocks and their positions among text and calls."""
        steps = [step for _, opened in sorted(self._blocks.items()) if (step := _make_step(opened)) is not None]
        if not any("block" in step for step in steps):
            return []
        return [ProviderDataChunk(PROVIDER, {"model": self._model_name, "steps": steps})]


def _make_step(opened: _OpenContentBlock) -> dict[str, Any] | None:
    match opened.kind:
        case "text":
            return {"text": opened.length}
        case "tool_use":
            return {"call": opened.number}
        case "thinking" if opened.signature:
            thought = {"type": "thinking", "thinking": opened.text, "signature": opened.signature}
            return {"block": thought}
        case "redacted_thinking":
            return {"block": {"type": "redacted_thinking", "data": opened.data}}
        case _:
            return None
