"""SDK response chunks → ModelChunks, without I/O."""

from __future__ import annotations

import json
from typing import Literal

from rightseat.models.google import faults
from rightseat.models.google.marks import PROVIDER, Mark, blob, written
from rightseat.models.google.sdk import types
from rightseat.types.chunks import CallArgs, CallName, Finish, Fragment, Opaque, Reasoning, Text, Used
from rightseat.types.events import Usage

_REASONS: dict[str, Literal["stop", "length"]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
}


class Answer:
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

    def feed(self, chunk: types.GenerateContentResponse) -> list[Fragment]:
        if chunk.usage_metadata is not None:
            # Counts are cumulative: the last one is final.
            self._usage = _usage(chunk.usage_metadata)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            self._blocked = chunk.prompt_feedback.block_reason.value
        out: list[Fragment] = []
        for candidate in chunk.candidates or ():
            if not candidate.index:
                self._candidate(candidate, out)
        return out

    def end(self) -> list[Fragment]:
        """Return the closing chunks. Raises if the answer was blocked, stopped or not finished."""
        if self._blocked is not None:
            raise faults.blocked(self._blocked)
        if self._finish is None:
            raise faults.incomplete()
        reason = _REASONS.get(self._finish)
        if reason is None:
            raise faults.stopped(self._finish)
        out: list[Fragment] = [] if self._usage is None else [Used(self._usage)]
        out.append(Finish("calls" if reason == "stop" and self._calls else reason))
        return out

    def _candidate(self, candidate: types.Candidate, out: list[Fragment]) -> None:
        if candidate.finish_reason is not None:
            self._finish = candidate.finish_reason.value
        for part in (candidate.content and candidate.content.parts) or ():
            if part.function_call is not None:
                out += self._called(part.function_call, part.thought_signature)
            elif part.text is not None:
                out += self._said(part, part.text)

    def _said(self, part: types.Part, text: str) -> list[Fragment]:
        signature = written(part.thought_signature)
        out: list[Fragment] = []
        if part.thought:
            out += [Reasoning(_whole(text))] if text else []
            mark = Mark(signature=signature, thought=text)
        else:
            out += [Text(_whole(text))] if text else []
            mark = Mark(signature=signature, start=self._size, end=self._size + len(text))
            self._size += len(text)
        return [*out, Opaque(PROVIDER, blob(mark))] if signature else out

    def _called(self, call: types.FunctionCall, signed: bytes | None) -> list[Fragment]:
        number, name = self._calls, call.name
        if not name:
            raise faults.garbled("a call without a name")
        self._calls += 1
        arguments = _whole(json.dumps(call.args or {}, ensure_ascii=False))
        out: list[Fragment] = [CallName(number, name), CallArgs(number, arguments)]
        if call.id or signed:
            mark = Mark(signature=written(signed), call=number, name=name, id=call.id)
            out.append(Opaque(PROVIDER, blob(mark)))
        return out


def _usage(found: types.GenerateContentResponseUsageMetadata) -> Usage:
    """Convert token counts; thoughts are billed as output."""
    return Usage(
        (found.prompt_token_count or 0) + (found.tool_use_prompt_token_count or 0),
        (found.candidates_token_count or 0) + (found.thoughts_token_count or 0),
        found.cached_content_token_count or 0,
    )


def _whole(text: str) -> str:
    """Return the text; raise UpstreamGarbled if it has a lone surrogate, which cannot be encoded."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise faults.garbled("half a character") from None
    return text
