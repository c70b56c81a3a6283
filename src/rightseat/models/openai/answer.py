"""Chat completion payloads → ModelChunks, without I/O."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rightseat.errors import UpstreamGarbled
from rightseat.models.openai import faults
from rightseat.models.openai.calls import Calls
from rightseat.models.openai.wire import CHUNK, Choice, Chunk, Delta, ToolCall
from rightseat.types.chunks import Finish, Fragment, Reasoning, Refusal, Text, Used
from rightseat.types.events import Usage

Reason = Literal["stop", "length", "content_filter", "calls"]

_REASONS: dict[str, Reason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "tool_calls": "calls",
    "function_call": "calls",
}
# Finish reasons by which servers report that generation failed.
_BROKEN_OFF = {"error", "abort", "cancelled", "insufficient_system_resource"}


class Answer:
    """Parses one answer. `enforced`: tools whose arguments the server guarantees to fit their schema."""

    def __init__(self, enforced: frozenset[str] = frozenset()) -> None:
        self._calls = Calls(enforced)
        self._finish: str | None = None
        self._usage: Usage | None = None
        self.done = False
        self.plain = False
        """Whether the last payload held one text delta and nothing else."""

    @property
    def finished(self) -> bool:
        """Whether a finish reason has arrived; only usage may follow."""
        return self.done or self._finish in _REASONS

    def feed(self, payload: bytes) -> list[Fragment]:
        self.plain = False
        if payload == b"[DONE]":
            self.done = True
            return []
        if self.done:
            return []
        try:
            chunk = CHUNK.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if not payload.strip():
                return []
            raise faults.garbled("not the JSON of a chat completion") from error
        except RecursionError:
            # `from None`: the traceback of a RecursionError has a thousand useless frames.
            raise faults.garbled("JSON that is too deep") from None
        choices = chunk.choices
        if choices and len(choices) == 1 and chunk.usage is None and chunk.error is None:
            out = self._choice(choices[0])
            self.plain = _plain(choices[0], out)
            return out
        return self._rare(chunk, payload)

    def tail(self, payload: bytes) -> list[Fragment]:
        """Parse an event that the end of the stream left open; raise Incomplete if it is truncated."""
        try:
            return self.feed(payload)
        except UpstreamGarbled as error:
            raise faults.incomplete() from error

    def end(self) -> list[Fragment]:
        """Return the closing chunks. Raises Incomplete unless a finish reason has arrived."""
        if not self.finished or self._finish in _BROKEN_OFF:
            raise faults.incomplete()
        reason = _REASONS.get(self._finish or "", "stop")
        if reason in ("stop", "calls"):
            if self._calls.nameless:
                raise faults.garbled("a call without a name")
            # OpenAI ends a forced call with "stop", so the calls received decide.
            reason = "calls" if self._calls else "stop"
        out: list[Fragment] = [] if self._usage is None else [Used(self._usage)]
        out.append(Finish(reason))
        return out

    def _rare(self, chunk: Chunk, payload: bytes) -> list[Fragment]:
        if chunk.error:
            raise faults.of_payload(chunk.error)
        if chunk.choices is None:
            # An old error format: the whole payload is the error object.
            bare = faults.error_of(payload)
            if isinstance(bare, dict) and bare.get("object") == "error":
                raise faults.of_payload(bare)
        if chunk.usage is not None:
            # Some servers send cumulative usage in every chunk: the last one counts.
            usage = chunk.usage
            self._usage = Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0)
        return self._choices(chunk.choices or [])

    def _choices(self, choices: list[Choice]) -> list[Fragment]:
        return [fragment for choice in choices for fragment in self._choice(choice)]

    def _choice(self, choice: Choice) -> list[Fragment]:
        if choice.index:
            return []
        if choice.finish_reason:
            self._finish = choice.finish_reason
        delta = choice.delta or choice.message
        if delta is None:
            return []
        out: list[Fragment] = []
        thought = delta.reasoning_content or delta.reasoning
        if thought and isinstance(thought, str):
            out.append(Reasoning(thought))
        content = delta.content
        if content is not None:
            text = content if isinstance(content, str) else _joined(content)
            # A token that is part of a character has no text yet, but has logprobs.
            if text or choice.logprobs is not None:
                out.append(Text(text, choice.logprobs))
        if delta.refusal:
            out.append(Refusal(delta.refusal))
        if delta.tool_calls or delta.function_call:
            out.extend(self._called(delta))
        return out

    def _called(self, delta: Delta) -> list[Fragment]:
        pieces = delta.tool_calls or []
        if delta.function_call is not None:
            pieces = [*pieces, ToolCall(index=0, function=delta.function_call)]
        return [fragment for piece in pieces for fragment in self._calls.take(piece)]


def _plain(choice: Choice, out: list[Fragment]) -> bool:
    """Whether the choice holds one text delta and nothing else."""
    delta = choice.delta
    return (
        len(out) == 1
        and type(out[0]) is Text
        and delta is not None
        and isinstance(delta.content, str)
        and choice.logprobs is None
        and choice.finish_reason is None
    )


def _joined(content: list[Any]) -> str:
    """Join the text of content parts, which some servers send instead of a string."""
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))
