"""Values that a Runnable yields → ModelChunks, without I/O; signed thinking blocks are sent back with the next turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from rightseat.errors import Misused
from rightseat.models._vendor.parser import ToolCallAssembler
from rightseat.models.langchain.errors import ERRORS
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ProviderDataChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    UsageChunk,
)
from rightseat.types.events import Usage
from rightseat.types.messages import Message

PROVIDER = "langchain"
THINKING_TYPES = ("thinking", "redacted_thinking", "reasoning")
_SIGNATURE_KEYS = ("signature", "data", "encrypted_content", "extras")


class SignedThinkingBlocks:
    def __init__(self) -> None:
        self._blocks: dict[Any, dict[str, Any]] = {}

    def add(self, block: dict[str, Any]) -> str:
        """Merge a streamed block into its predecessor; return its text."""
        key = block.get("index", len(self._blocks))
        merged = self._blocks.setdefault(key, {})
        for name, value in block.items():
            previous = merged.get(name)
            grows = name not in ("type", "id", "index") and isinstance(previous, str) and isinstance(value, str)
            merged[name] = previous + value if grows and previous is not None else value
        return _extract_text(block)

    def make_blob(self, model: str) -> Any:
        """Return the signed blocks for an opaque part, or None if none is signed."""
        blocks = [
            {name: value for name, value in block.items() if name != "index"}
            for block in self._blocks.values()
            if any(block.get(name) for name in _SIGNATURE_KEYS)
        ]
        return {"model": model, "blocks": blocks} if blocks else None


def _extract_text(block: dict[str, Any]) -> str:
    for name in ("thinking", "reasoning", "text"):
        if isinstance(text := block.get(name), str):
            return text
    summary = block.get("summary")
    parts = [part.get("text") for part in summary if isinstance(part, dict)] if isinstance(summary, list) else []
    return "".join(part for part in parts if isinstance(part, str))


def read_signed_blocks(message: Message, model: str) -> list[dict[str, Any]]:
    """Return the signed blocks of a message, if `model` wrote it."""
    for opaque in message.opaque:
        blob = opaque.blob
        if opaque.provider == PROVIDER and isinstance(blob, dict) and blob.get("model") == model:
            blocks = blob.get("blocks")
            return [dict(block) for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    return []


FinishReason = Literal["stop", "length", "content_filter"]

# Metadata fields that hold the finish reason; unknown reasons count as a normal end.
_REASON_FIELDS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")

# Providers that always report a finish reason and name themselves in each chunk.
_ALWAYS_REPORT_REASON = ("openai", "anthropic")

_FINISH_REASONS: dict[str, FinishReason] = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("content_filter", "refusal", "safety", "blocklist", "prohibited_content"), "content_filter"),
    **dict.fromkeys(("spii", "recitation", "guardrail_intervened", "content_filtered"), "content_filter"),
}

_TEXT_TYPES = ("text", "text_delta", "output_text")
_TEXT_KEYS = ("content", "text", "output", "answer", "result")


class LangChainStreamParser:
    """Parses one answer: `feed` each value, then `finish`. `model` labels the signed thinking blocks."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls = ToolCallAssembler(trusts_ids=True)
        self._thoughts = SignedThinkingBlocks()
        self._usage: Usage | None = None
        self._reason: FinishReason = "stop"
        self._provider: object = None
        self._has_reason = False

    def feed(self, value: Any) -> list[ModelChunk]:
        if isinstance(value, AIMessage):
            return self._parse_message(value)
        if isinstance(value, str):
            return _make_text_chunks(TextChunk, value)
        if value is None or isinstance(value, BaseMessage):
            # A chain may also yield its input or results of its own tools.
            return []
        message = getattr(value, "message", None)
        if isinstance(message, AIMessage):
            return self._parse_message(message)
        if isinstance(value, Mapping):
            return self._parse_mapping(value)
        if isinstance(value, list | tuple):
            return self.feed(value[-1]) if value else []
        raise Misused(f"The Runnable yields {type(value).__name__}, which is no answer: let it yield messages or text.")

    def finish(self) -> list[ModelChunk]:
        if self._provider in _ALWAYS_REPORT_REASON and not self._has_reason:
            # Their clients do not notice a stream that is cut between two chunks.
            raise ERRORS.incomplete_stream()
        if self._calls.has_nameless_call:
            raise ERRORS.invalid_response("a call without a name")
        out: list[ModelChunk] = []
        if (blob := self._thoughts.make_blob(self._model)) is not None:
            out.append(ProviderDataChunk(PROVIDER, blob))
        if self._usage is not None:
            out.append(UsageChunk(self._usage))
        out.append(FinishChunk("calls" if self._reason == "stop" and self._calls else self._reason))
        return out

    def _parse_mapping(self, value: Mapping[Any, Any]) -> list[ModelChunk]:
        if isinstance(messages := value.get("messages"), list | tuple):
            return self.feed(messages)
        for key in _TEXT_KEYS:
            item = value.get(key)
            if isinstance(item, str | BaseMessage):
                return self.feed(item)
        return []

    def _parse_message(self, message: AIMessage) -> list[ModelChunk]:
        extra, content = message.additional_kwargs, message.content
        out = _make_text_chunks(ReasoningChunk, extra.get("reasoning_content"))
        for block in [content] if isinstance(content, str) else content:
            out += self._parse_block(block)
        out += _make_text_chunks(RefusalChunk, extra.get("refusal"))
        for piece in _list_call_pieces(message):
            arguments = piece.get("args")
            text = arguments if isinstance(arguments, str) else ""
            out += self._calls.feed(piece.get("index"), piece.get("id"), piece.get("name"), text)
        if message.usage_metadata:
            self._add_usage(message.usage_metadata)
        if message.response_metadata:
            self._read_metadata(message.response_metadata)
        return out

    def _parse_block(self, block: Any) -> list[ModelChunk]:
        if isinstance(block, str):
            return _make_text_chunks(TextChunk, block)
        kind = block.get("type")
        if kind in THINKING_TYPES:
            return _make_text_chunks(ReasoningChunk, self._thoughts.add(block))
        if kind == "refusal":
            return _make_text_chunks(RefusalChunk, block.get("refusal"))
        return _make_text_chunks(TextChunk, block.get("text")) if kind in _TEXT_TYPES else []

    def _add_usage(self, metadata: Mapping[str, Any]) -> None:
        """Add the usage of a chunk; LangChain counts per chunk, not cumulatively."""
        details = metadata.get("input_token_details") or {}
        usage = Usage(
            metadata.get("input_tokens") or 0, metadata.get("output_tokens") or 0, details.get("cache_read") or 0
        )
        self._usage = usage if self._usage is None else self._usage + usage

    def _read_metadata(self, metadata: Mapping[str, Any]) -> None:
        self._provider = metadata.get("model_provider", self._provider)
        for field in _REASON_FIELDS:
            reason = metadata.get(field)
            self._has_reason = self._has_reason or reason is not None
            if isinstance(reason, str) and reason.lower() in _FINISH_REASONS:
                self._reason = _FINISH_REASONS[reason.lower()]


def _list_call_pieces(message: AIMessage) -> list[Mapping[str, Any]]:
    if isinstance(message, AIMessageChunk):
        return list(message.tool_call_chunks)
    complete_calls = [{**call, "args": json.dumps(call["args"], ensure_ascii=False)} for call in message.tool_calls]
    return [*complete_calls, *message.invalid_tool_calls]


def _make_text_chunks(
    chunk_type: type[TextChunk] | type[ReasoningChunk] | type[RefusalChunk], text: object
) -> list[ModelChunk]:
    """Return a chunk of the text, if there is any; raise UpstreamGarbled for a lone surrogate."""
    if not isinstance(text, str) or not text:
        return []
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ERRORS.invalid_response("half a character") from None
    return [chunk_type(text)]
