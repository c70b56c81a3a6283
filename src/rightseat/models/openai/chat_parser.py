"""Chat completion chunks as servers send them. Any field may be missing or null.

Assemble streamed tool calls by index, else by id, else by order. Chat completion payloads → ModelChunks, without
I/O.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Decoder

from rightseat.errors import UpstreamGarbled
from rightseat.models.openai import faults
from rightseat.models.openai.faults import ERRORS
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage


class UpstreamFunctionDelta(Struct, gc=False):
    name: str | None = None
    # A string by the spec, an object at some servers; raw bytes, so that numbers keep their exact spelling.
    arguments: Raw | UnsetType = UNSET


class UpstreamToolCallDelta(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: UpstreamFunctionDelta | None = None


class UpstreamChatDelta(Struct, gc=False):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[UpstreamToolCallDelta] | None = None
    function_call: UpstreamFunctionDelta | None = None


class UpstreamChatChoice(Struct, gc=False):
    index: int | None = None
    delta: UpstreamChatDelta | None = None
    message: UpstreamChatDelta | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class UpstreamChatUsage(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class UpstreamChatChunk(Struct, gc=False):
    """A streamed chunk, a whole chat.completion, or an error, distinguished by the fields present."""

    choices: list[UpstreamChatChoice] | None = None
    usage: UpstreamChatUsage | None = None
    error: Any = None


CHUNK_DECODER = Decoder(UpstreamChatChunk)
STRING_DECODER = Decoder(str)


class _OpenChatCall(Struct):
    number: int
    id: str | None
    name: str | None = None
    arguments: list[str] = []


class ChatCallAssembler:
    """Numbers calls in order of appearance. Emits each name once, before its arguments."""

    def __init__(self, enforced: frozenset[str]) -> None:
        self._enforced = enforced
        self._open: list[_OpenChatCall] = []
        self._by_index: dict[int, _OpenChatCall] = {}
        self._by_id: dict[str, _OpenChatCall] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def has_nameless_call(self) -> bool:
        return any(call.name is None for call in self._open)

    def feed(self, piece: UpstreamToolCallDelta) -> list[ModelChunk]:
        function = piece.function or UpstreamFunctionDelta()
        name, arguments = function.name or None, _decode_arguments(function)
        if not (name or arguments or piece.id):
            return []
        call = self._find_call(piece, name)
        call.id = call.id or piece.id
        if arguments:
            call.arguments.append(arguments)
        if call.name is not None:
            return [ToolCallArgs(call.number, arguments)] if arguments else []
        if name is None:
            return []
        call.name = name
        out: list[ModelChunk] = [ToolCallStart(call.number, name, name in self._enforced)]
        if call.arguments:
            out.append(ToolCallArgs(call.number, "".join(call.arguments)))
        return out

    def _find_call(self, piece: UpstreamToolCallDelta, name: str | None) -> _OpenChatCall:
        if piece.index is not None:
            call = self._by_index.get(piece.index)
            # Some servers send index 0 for every call: then a new id starts a new call.
            if call is None or (piece.id and call.id and piece.id != call.id and _starts_new_call(call, name)):
                call = self._by_index[piece.index] = self._open_call(piece.id)
            return call
        if piece.id:
            return self._by_id.get(piece.id) or self._open_call(piece.id)
        if not self._open or _starts_new_call(self._open[-1], name):
            return self._open_call(None)
        return self._open[-1]

    def _open_call(self, id: str | None) -> _OpenChatCall:
        call = _OpenChatCall(len(self._open), id)
        self._open.append(call)
        if id:
            self._by_id[id] = call
        return call


def _starts_new_call(call: _OpenChatCall, name: str | None) -> bool:
    """Whether a piece with `name` starts a new call instead of repeating the name of `call`."""
    if name is None or call.name is None:
        return False
    return name != call.name or _is_json("".join(call.arguments))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _decode_arguments(function: UpstreamFunctionDelta) -> str:
    if not isinstance(function.arguments, msgspec.Raw):
        return ""
    raw = bytes(function.arguments)
    if raw.startswith(b'"'):
        return STRING_DECODER.decode(raw)
    return "" if raw == b"null" else raw.decode()


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
            raise ERRORS.invalid_response("not the JSON of a chat completion") from error
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise ERRORS.invalid_response("JSON that is too deep") from None
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
            raise ERRORS.incomplete_stream() from error

    def finish(self) -> list[ModelChunk]:
        """Return the closing chunks. Raises Incomplete unless a finish reason has arrived."""
        if not self.finished or self._finish in _ABORT_REASONS:
            raise ERRORS.incomplete_stream()
        reason = _FINISH_REASONS.get(self._finish or "", "stop")
        if reason in ("stop", "calls"):
            if self._calls.has_nameless_call:
                raise ERRORS.invalid_response("a call without a name")
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
