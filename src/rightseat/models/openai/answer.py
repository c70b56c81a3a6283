"""Chat completion payloads → ModelChunks, without I/O."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rightseat.errors import UpstreamGarbled
from rightseat.models.openai import faults
from rightseat.models.openai.calls import ChatCallAssembler
from rightseat.models.openai.wire import (
    CHUNK_DECODER,
    UpstreamChatChoice,
    UpstreamChatChunk,
    UpstreamChatDelta,
    UpstreamToolCallDelta,
)
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    UsageChunk,
)
from rightseat.types.events import Usage

FinishReason = Literal["stop", "length", "content_filter", "calls"]

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "tool_calls": "calls",
    "function_call": "calls",
}
# Finish reasons by which servers report that generation failed.
_ABORT_REASONS = {"error", "abort", "cancelled", "insufficient_system_resource"}


class ChatStreamParser:
    """Parses one answer. `enforced`: tools whose arguments the server guarantees to fit their schema."""

    def __init__(self, enforced: frozenset[str] = frozenset()) -> None:
        self._calls = ChatCallAssembler(enforced)
        self._finish: str | None = None
        self._usage: Usage | None = None
        self.done = False
        self.last_was_text = False
        """Whether the last payload held one text delta and nothing else."""

    @property
    def finished(self) -> bool:
        """Whether a finish reason has arrived; only usage may follow."""
        return self.done or self._finish in _FINISH_REASONS

    def feed(self, payload: bytes) -> list[ModelChunk]:
        self.last_was_text = False
        if payload == b"[DONE]":
            self.done = True
            return []
        if self.done:
            return []
        try:
            chunk = CHUNK_DECODER.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if not payload.strip():
                return []
            raise faults.garbled_error("not the JSON of a chat completion") from error
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise faults.garbled_error("JSON that is too deep") from None
        choices = chunk.choices
        if choices and len(choices) == 1 and chunk.usage is None and chunk.error is None:
            out = self._parse_choice(choices[0])
            self.last_was_text = _is_plain_text(choices[0], out)
            return out
        return self._handle_rare_chunk(chunk, payload)

    def feed_tail(self, payload: bytes) -> list[ModelChunk]:
        """Parse an event that the end of the stream left open; raise Incomplete if it is truncated."""
        try:
            return self.feed(payload)
        except UpstreamGarbled as error:
            raise faults.incomplete_error() from error

    def finish(self) -> list[ModelChunk]:
        """Return the closing chunks. Raises Incomplete unless a finish reason has arrived."""
        if not self.finished or self._finish in _ABORT_REASONS:
            raise faults.incomplete_error()
        reason = _FINISH_REASONS.get(self._finish or "", "stop")
        if reason in ("stop", "calls"):
            if self._calls.has_nameless_call:
                raise faults.garbled_error("a call without a name")
            # OpenAI ends a forced call with "stop", so the calls received decide.
            reason = "calls" if self._calls else "stop"
        out: list[ModelChunk] = [] if self._usage is None else [UsageChunk(self._usage)]
        out.append(FinishChunk(reason))
        return out

    def _handle_rare_chunk(self, chunk: UpstreamChatChunk, payload: bytes) -> list[ModelChunk]:
        if chunk.error:
            raise faults.from_payload(chunk.error)
        if chunk.choices is None:
            # An old error format: the whole payload is the error object.
            error = faults.parse_error(payload)
            if isinstance(error, dict) and error.get("object") == "error":
                raise faults.from_payload(error)
        if chunk.usage is not None:
            # Some servers send cumulative usage in every chunk: the last one counts.
            usage = chunk.usage
            self._usage = Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0)
        return self._parse_choices(chunk.choices or [])

    def _parse_choices(self, choices: list[UpstreamChatChoice]) -> list[ModelChunk]:
        return [fragment for choice in choices for fragment in self._parse_choice(choice)]

    def _parse_choice(self, choice: UpstreamChatChoice) -> list[ModelChunk]:
        if choice.index:
            return []
        if choice.finish_reason:
            self._finish = choice.finish_reason
        delta = choice.delta or choice.message
        if delta is None:
            return []
        out: list[ModelChunk] = []
        thought = delta.reasoning_content or delta.reasoning
        if thought and isinstance(thought, str):
            out.append(ReasoningChunk(thought))
        content = delta.content
        if content is not None:
            text = content if isinstance(content, str) else _join_parts(content)
            # A token that is part of a character has no text yet, but has logprobs.
            if text or choice.logprobs is not None:
                out.append(TextChunk(text, choice.logprobs))
        if delta.refusal:
            out.append(RefusalChunk(delta.refusal))
        if delta.tool_calls or delta.function_call:
            out.extend(self._parse_calls(delta))
        return out

    def _parse_calls(self, delta: UpstreamChatDelta) -> list[ModelChunk]:
        pieces = delta.tool_calls or []
        if delta.function_call is not None:
            pieces = [*pieces, UpstreamToolCallDelta(index=0, function=delta.function_call)]
        return [fragment for piece in pieces for fragment in self._calls.feed(piece)]


def _is_plain_text(choice: UpstreamChatChoice, out: list[ModelChunk]) -> bool:
    """Whether the choice holds one text delta and nothing else."""
    delta = choice.delta
    return (
        len(out) == 1
        and type(out[0]) is TextChunk
        and delta is not None
        and isinstance(delta.content, str)
        and choice.logprobs is None
        and choice.finish_reason is None
    )


def _join_parts(content: list[Any]) -> str:
    """Join the text of content parts, which some servers send instead of a string."""
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))
