"""Call ids and thought signatures, which Google requires back at the same position.

SDK response chunks → ModelChunks, without I/O.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.models.google import faults
from rightseat.models.google.faults import ERRORS
from rightseat.models.google.sdk import types
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
from rightseat.types.messages import Message

PROVIDER = "google"


class PartMark(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A position in an answer: call number `call`, the text from `start` to `end`, or a `thought`."""

    signature: str | None = None
    """Base64, since the blob is stored as JSON."""
    call: int | None = None
    name: str | None = None
    """The called tool; call numbers shift if an earlier call was removed."""
    id: str | None = None
    start: int | None = None
    end: int | None = None
    thought: str | None = None

    @property
    def signature_bytes(self) -> bytes | None:
        try:
            return base64.b64decode(self.signature, validate=True) if self.signature else None
        except (binascii.Error, ValueError):
            return None


def encode_signature(signature: bytes | None) -> str | None:
    return base64.b64encode(signature).decode() if signature else None


def make_blob(mark: PartMark) -> Any:
    return msgspec.to_builtins(mark)


def read_marks(message: Message) -> list[PartMark]:
    """Return the marks of a message in order; invalid blobs are skipped."""
    part_marks = []
    for opaque in message.opaque:
        if opaque.provider == PROVIDER:
            try:
                part_marks.append(msgspec.convert(opaque.blob, PartMark))
            except msgspec.ValidationError:
                continue
    return part_marks


_FINISH_REASONS: dict[str, Literal["stop", "length"]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
}


class GeminiStreamParser:
    """Parses one answer: `feed` each chunk, then `finish`."""

    def __init__(self) -> None:
        self._calls = 0
        self._size = 0
        self._finish: str | None = None
        self._blocked: str | None = None
        self._usage: Usage | None = None

    @property
    def finished(self) -> bool:
        """Whether a finish reason has arrived; only usage may follow."""
        return self._finish is not None

    def feed(self, chunk: types.GenerateContentResponse) -> list[ModelChunk]:
        if chunk.usage_metadata is not None:
            # Counts are cumulative: the last one is final.
            self._usage = _make_usage(chunk.usage_metadata)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            self._blocked = chunk.prompt_feedback.block_reason.value
        out: list[ModelChunk] = []
        for candidate in chunk.candidates or ():
            if not candidate.index:
                self._parse_candidate(candidate, out)
        return out

    def finish(self) -> list[ModelChunk]:
        """Return the closing chunks. Raises if the answer was blocked, stopped or not finished."""
        if self._blocked is not None:
            raise faults.prompt_blocked_error(self._blocked)
        if self._finish is None:
            raise ERRORS.incomplete_stream()
        reason = _FINISH_REASONS.get(self._finish)
        if reason is None:
            raise faults.stop_reason_error(self._finish)
        out: list[ModelChunk] = [] if self._usage is None else [UsageChunk(self._usage)]
        out.append(FinishChunk("calls" if reason == "stop" and self._calls else reason))
        return out

    def _parse_candidate(self, candidate: types.Candidate, out: list[ModelChunk]) -> None:
        if candidate.finish_reason is not None:
            self._finish = candidate.finish_reason.value
        for part in (candidate.content and candidate.content.parts) or ():
            if part.function_call is not None:
                out += self._parse_call(part.function_call, part.thought_signature)
            elif part.text is not None:
                out += self._parse_text(part, part.text)

    def _parse_text(self, part: types.Part, text: str) -> list[ModelChunk]:
        signature = encode_signature(part.thought_signature)
        out: list[ModelChunk] = []
        if part.thought:
            out += [ReasoningChunk(_require_valid_text(text))] if text else []
            mark = PartMark(signature=signature, thought=text)
        else:
            out += [TextChunk(_require_valid_text(text))] if text else []
            mark = PartMark(signature=signature, start=self._size, end=self._size + len(text))
            self._size += len(text)
        return [*out, ProviderDataChunk(PROVIDER, make_blob(mark))] if signature else out

    def _parse_call(self, call: types.FunctionCall, signature: bytes | None) -> list[ModelChunk]:
        number, name = self._calls, call.name
        if not name:
            raise ERRORS.invalid_response("a call without a name")
        self._calls += 1
        arguments = _require_valid_text(json.dumps(call.args or {}, ensure_ascii=False))
        out: list[ModelChunk] = [ToolCallStart(number, name), ToolCallArgs(number, arguments)]
        if call.id or signature:
            mark = PartMark(signature=encode_signature(signature), call=number, name=name, id=call.id)
            out.append(ProviderDataChunk(PROVIDER, make_blob(mark)))
        return out


def _make_usage(metadata: types.GenerateContentResponseUsageMetadata) -> Usage:
    """Convert token counts; thoughts are billed as output."""
    return Usage(
        (metadata.prompt_token_count or 0) + (metadata.tool_use_prompt_token_count or 0),
        (metadata.candidates_token_count or 0) + (metadata.thoughts_token_count or 0),
        metadata.cached_content_token_count or 0,
    )


def _require_valid_text(text: str) -> str:
    """Return the text; raise UpstreamGarbled if it has a lone surrogate, which cannot be encoded."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ERRORS.invalid_response("half a character") from None
    return text
