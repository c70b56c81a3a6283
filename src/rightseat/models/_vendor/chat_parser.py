"""Chat completion payloads → ModelChunks, without I/O. Servers may leave out any field or send null.

OpenAI's API and a llama-server's chat route speak this form. A subclass names its vendor's errors.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder

from rightseat.models._vendor.errors import find_error
from rightseat.models._vendor.parser import FinishReason, StreamParser, ToolCallAssembler
from rightseat.models._vendor.reasoning import InlineThoughts, ReasoningRecorder, ReasoningRules
from rightseat.tools.text_calls.thinking import ThoughtSplitter
from rightseat.types.chunks import ModelChunk, ReasoningChunk, RefusalChunk, TextChunk
from rightseat.types.events import Usage


class UpstreamFunctionDelta(Struct, gc=False):
    name: str | None = None
    # A string by the spec, an object at some servers; raw bytes, so that numbers keep their exact spelling.
    arguments: Raw | UnsetType = UNSET


class UpstreamToolCallDelta(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: UpstreamFunctionDelta | None = None
    extra_content: Any = None


class UpstreamChatDelta(Struct, gc=False):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: str | None = None
    tool_calls: list[UpstreamToolCallDelta] | None = None
    function_call: UpstreamFunctionDelta | None = None


class UpstreamChatChoice(Struct, gc=False):
    index: int | None = None
    delta: UpstreamChatDelta | None = None
    message: UpstreamChatDelta | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class UpstreamTokenDetails(Struct, gc=False):
    cached_tokens: int | None = None


class UpstreamChatUsage(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: UpstreamTokenDetails | None = None


class UpstreamChatChunk(Struct, gc=False):
    """A streamed chunk, a whole chat.completion, or an error, distinguished by the fields present."""

    choices: list[UpstreamChatChoice] | None = None
    usage: UpstreamChatUsage | None = None
    error: Any = None


NOTHING_RETURNED = ReasoningRules()
_CHUNK_DECODER = Decoder(UpstreamChatChunk)
_STRING_DECODER = Decoder(str)


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


class ChatStreamParser(StreamParser):
    """Parses one answer. `enforced`: tools whose arguments the server guarantees to fit their schema.
    `reasoning_rules`: which of its thoughts the server wants back later. `thought_splitter` takes all chunks, also
    those that were read without the parser."""

    event_name = "a chat completion"

    def __init__(
        self,
        enforced: frozenset[str] = frozenset(),
        reasoning_rules: ReasoningRules = NOTHING_RETURNED,
        inline_thoughts: InlineThoughts = "off",
    ) -> None:
        super().__init__()
        self._recorder = recorder = ReasoningRecorder(reasoning_rules)
        self.thought_splitter: ThoughtSplitter | None = None
        if inline_thoughts != "off":
            self.thought_splitter = ThoughtSplitter(
                lambda text: recorder.add_text("reasoning_content", text), opened=inline_thoughts == "opened"
            )
        self._calls = ToolCallAssembler(enforced)
        self._finish: str | None = None
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
        if self.done or not payload.strip():
            return []
        chunk = self._decode(payload, _CHUNK_DECODER)
        choices = chunk.choices
        if choices and len(choices) == 1 and chunk.usage is None and chunk.error is None:
            out = self._parse_choice(choices[0])
            self.last_was_text = _is_plain_text(choices[0], out)
            return out
        return self._handle_rare_chunk(chunk, payload)

    def finish(self) -> list[ModelChunk]:
        if not self.finished or self._finish in _ABORT_REASONS:
            raise self.errors.incomplete_stream()
        reason = _FINISH_REASONS.get(self._finish or "", "stop")
        if reason in ("stop", "calls"):
            if self._calls.has_nameless_call:
                raise self.errors.invalid_response("a call without a name")
            # OpenAI ends a forced call with "stop", so the calls received decide.
            reason = "calls" if self._calls else "stop"
        return [*self._recorder.make_chunks(bool(self._calls)), *self._end_answer(reason)]

    def _handle_rare_chunk(self, chunk: UpstreamChatChunk, payload: bytes) -> list[ModelChunk]:
        if chunk.error:
            raise self.errors.from_payload(chunk.error)
        # An old error format: the whole payload is the error object.
        if chunk.choices is None and (error := find_error(payload)).get("object") == "error":
            raise self.errors.from_payload(error)
        if chunk.usage is not None:
            # Some servers send cumulative usage in every chunk: the last one counts.
            usage, details = chunk.usage, chunk.usage.prompt_tokens_details or UpstreamTokenDetails()
            self._usage = Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, details.cached_tokens or 0)
        return [fragment for choice in chunk.choices or () for fragment in self._parse_choice(choice)]

    def _parse_choice(self, choice: UpstreamChatChoice) -> list[ModelChunk]:
        if choice.index:
            return []
        if choice.finish_reason:
            self._finish = choice.finish_reason
        delta = choice.delta or choice.message
        if delta is None:
            return []
        out: list[ModelChunk] = []
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details:
            out += self._parse_reasoning(delta)
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

    def _parse_reasoning(self, delta: UpstreamChatDelta) -> list[ModelChunk]:
        details = delta.reasoning_details if isinstance(delta.reasoning_details, list) else []
        self._recorder.add_details(details)
        for field, thought in (("reasoning_content", delta.reasoning_content), ("reasoning", delta.reasoning)):
            if thought and isinstance(thought, str):
                self._recorder.add_text(field, thought)
                return [ReasoningChunk(thought)]
        return _read_details(details)

    def _parse_calls(self, delta: UpstreamChatDelta) -> list[ModelChunk]:
        pieces = delta.tool_calls or []
        if delta.function_call is not None:
            pieces = [*pieces, UpstreamToolCallDelta(index=0, function=delta.function_call)]
        out: list[ModelChunk] = []
        for piece in pieces:
            function = piece.function or UpstreamFunctionDelta()
            out += self._calls.feed(piece.index, piece.id, function.name, self._decode_arguments(function))
            if piece.extra_content is not None:
                self._recorder.add_signature(self._calls.last_number, piece.extra_content)
        return out

    def _decode_arguments(self, function: UpstreamFunctionDelta) -> str:
        if not isinstance(function.arguments, Raw):
            return ""
        raw = bytes(function.arguments)
        if raw.startswith(b'"'):
            return self._decode(raw, _STRING_DECODER)
        try:
            return "" if raw == b"null" else raw.decode()
        except UnicodeDecodeError as error:
            # Raw bytes are not checked when the chunk is decoded.
            raise self.errors.invalid_response("arguments that are no UTF-8") from error


def _read_details(entries: list[Any]) -> list[ModelChunk]:
    """Return the readable text of `reasoning_details`, for servers that send no other thoughts."""
    texts = [entry.get("text") or entry.get("summary") for entry in entries if isinstance(entry, dict)]
    return [ReasoningChunk(text) for text in texts if isinstance(text, str)]


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
