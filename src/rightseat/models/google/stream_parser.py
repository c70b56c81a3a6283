"""`streamGenerateContent` payloads → ModelChunks, and the call ids and thought signatures that Google requires
back at the same position."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.json import Decoder

from rightseat.models._vendor.parser import FinishReason, StreamParser
from rightseat.models.google.errors import ERRORS
from rightseat.types.chunks import ModelChunk, ProviderDataChunk, ReasoningChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.events import Usage
from rightseat.types.messages import Message

PROVIDER = "google"
_BASE64 = re.compile(r"[\w+/-]+={0,2}", re.ASCII)


class GoogleCall(Struct, gc=False):
    name: str | None = None
    args: dict[str, Any] | None = None
    id: str | None = None


class GooglePart(Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: GoogleCall | None = None


class GoogleContent(Struct, gc=False):
    parts: list[GooglePart] | None = None


class GoogleCandidate(Struct, rename="camel", gc=False):
    content: GoogleContent | None = None
    finish_reason: str | None = None
    index: int | None = None


# Some gateways send counts as texts, as Google's JSON does for its 64-bit numbers.
TokenCount = int | str | None


class GoogleUsage(Struct, rename="camel", gc=False):
    prompt_token_count: TokenCount = None
    tool_use_prompt_token_count: TokenCount = None
    candidates_token_count: TokenCount = None
    thoughts_token_count: TokenCount = None
    cached_content_token_count: TokenCount = None


class GooglePromptFeedback(Struct, rename="camel", gc=False):
    block_reason: str | None = None


class GoogleChunk(Struct, rename="camel", gc=False):
    candidates: list[GoogleCandidate] | None = None
    usage_metadata: GoogleUsage | None = None
    prompt_feedback: GooglePromptFeedback | None = None
    error: Any = None


# An error may come in a list of one.
_CHUNK_DECODER = Decoder(GoogleChunk | list[GoogleChunk])


class PartMark(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A position in an answer: call number `call`, the text from `start` to `end`, or a `thought`."""

    signature: str | None = None
    """In base64."""
    call: int | None = None
    name: str | None = None
    """The called tool; call numbers shift if an earlier call was removed."""
    id: str | None = None
    start: int | None = None
    end: int | None = None
    thought: str | None = None

    @property
    def valid_signature(self) -> str | None:
        return self.signature if _BASE64.fullmatch(self.signature or "") else None


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


_FINISH_REASONS: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}


class GeminiStreamParser(StreamParser):
    errors = ERRORS
    event_name = "an answer"

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0
        self._size = 0
        self._finish: str | None = None
        self._blocked: str | None = None

    @property
    def finished(self) -> bool:
        """Whether a finish reason has arrived. More may follow: some models send one with every chunk."""
        return self._finish is not None

    def feed(self, payload: bytes) -> list[ModelChunk]:
        decoded = self._decode(payload, _CHUNK_DECODER)
        out: list[ModelChunk] = []
        for chunk in decoded if isinstance(decoded, list) else (decoded,):
            out += self._parse_chunk(chunk)
        return out

    def finish(self) -> list[ModelChunk]:
        """Return the closing chunks. Raises if the answer was blocked, stopped or not finished."""
        if self._blocked is not None:
            raise ERRORS.prompt_blocked(self._blocked)
        if self._finish is None:
            raise ERRORS.incomplete_stream()
        reason = _FINISH_REASONS.get(self._finish)
        if reason is None:
            raise ERRORS.stopped(self._finish)
        return self._end_answer("calls" if reason == "stop" and self._calls else reason)

    def _parse_chunk(self, chunk: GoogleChunk) -> list[ModelChunk]:
        if isinstance(chunk.error, dict):
            raise ERRORS.from_payload(chunk.error)
        if chunk.error is not None:
            raise ERRORS.invalid_response("an error that is none")
        if chunk.usage_metadata is not None:
            # Counts are cumulative: the last one is final.
            self._usage = _make_usage(chunk.usage_metadata)
        if chunk.prompt_feedback is not None:
            self._blocked = chunk.prompt_feedback.block_reason or self._blocked
        out: list[ModelChunk] = []
        for candidate in chunk.candidates or ():
            if not candidate.index:
                self._finish = candidate.finish_reason or self._finish
                for part in (candidate.content and candidate.content.parts) or ():
                    out += self._parse_part(part)
        return out

    def _parse_part(self, part: GooglePart) -> list[ModelChunk]:
        signature, text = part.thought_signature or None, part.text
        if part.function_call is not None:
            return self._parse_call(part.function_call, signature)
        if text is None:
            return []
        if part.thought:
            out: list[ModelChunk] = [ReasoningChunk(text)] if text else []
            mark = PartMark(signature=signature, thought=text)
        else:
            out = [TextChunk(text)] if text else []
            mark = PartMark(signature=signature, start=self._size, end=self._size + len(text))
            self._size += len(text)
        return [*out, _make_mark_chunk(mark)] if signature else out

    def _parse_call(self, call: GoogleCall, signature: str | None) -> list[ModelChunk]:
        number, name = self._calls, call.name
        if not name:
            raise ERRORS.invalid_response("a call without a name")
        self._calls += 1
        arguments = json.dumps(call.args or {}, ensure_ascii=False)
        out: list[ModelChunk] = [ToolCallStart(number, name), ToolCallArgs(number, arguments)]
        if call.id or signature:
            out.append(_make_mark_chunk(PartMark(signature=signature, call=number, name=name, id=call.id)))
        return out


def _make_mark_chunk(mark: PartMark) -> ProviderDataChunk:
    return ProviderDataChunk(PROVIDER, msgspec.to_builtins(mark))


def _make_usage(usage: GoogleUsage) -> Usage:
    """Convert token counts; thoughts are billed as output."""
    return Usage(
        _parse_count(usage.prompt_token_count) + _parse_count(usage.tool_use_prompt_token_count),
        _parse_count(usage.candidates_token_count) + _parse_count(usage.thoughts_token_count),
        _parse_count(usage.cached_content_token_count),
    )


def _parse_count(count: TokenCount) -> int:
    if isinstance(count, str):
        return int(count) if count.isdecimal() and len(count) < 20 else 0
    return count or 0
