"""Streamed choices: events as chat completion chunks or as legacy completion chunks.

Only calls of the client's own tools are sent: the protocol has no shape for tools that run on the server.
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol

import msgspec

from rightseat.http.sse import format_event
from rightseat.types.events import (
    CallArgs,
    CallStart,
    Event,
    ReasoningDelta,
    RunFinished,
    TextDelta,
    TextStart,
)

encode = msgspec.json.Encoder().encode
FINISH_REASONS = {"calls": "tool_calls", "interrupt": "stop"}
PARAGRAPH = "\n\n"


class ChunkWriter(Protocol):
    """Encoder of one choice's chunks. `encode_text` is the hot path: it encodes nothing but the text."""

    def encode_start(self) -> bytes: ...
    def encode_text(self, text: str) -> bytes: ...
    def encode_event(self, event: Event) -> bytes: ...


class ChatChunkWriter:
    def __init__(self, head: bytes, index: int) -> None:
        self.head = head
        self.index = index
        self.has_text = False
        self.in_refusal = False
        self.call_indexes: dict[str, int] = {}
        self.text_prefix = b'data: %b,"choices":[{"index":%d,"delta":{"content":' % (head, index)
        self.text_suffix = b'},"logprobs":null,"finish_reason":null}]}\n\n'

    def encode_text(self, text: str) -> bytes:
        if self.in_refusal:
            return self.encode_delta({"refusal": text})
        return self.text_prefix + encode(text) + self.text_suffix

    def encode_start(self) -> bytes:
        return self.encode_delta({"role": "assistant", "content": ""})

    def encode_delta(self, delta: dict[str, Any], finish: str | None = None, logprobs: Any = None) -> bytes:
        choice = {"index": self.index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return encode_chunk(self.head, [choice])

    def encode_event(self, event: Event) -> bytes:
        match event:
            case TextStart(refusal=refusal):
                self.in_refusal = refusal
                again, self.has_text = self.has_text, True
                return self.encode_text(PARAGRAPH) if again else b""
            case TextDelta(text=text, logprobs=logprobs):
                return (
                    self.encode_delta({"content": text}, logprobs=logprobs)
                    if logprobs
                    else self.encode_text(text)
                )
            case ReasoningDelta(text=text):
                return self.encode_delta({"reasoning_content": text})
            case CallStart(id, name, client=True):
                self.call_indexes[id] = len(self.call_indexes)
                function = {"name": name, "arguments": ""}
                call = {"index": self.call_indexes[id], "id": id, "type": "function", "function": function}
                return self.encode_delta({"tool_calls": [call]})
            case CallArgs(id, json) if id in self.call_indexes:
                call = {"index": self.call_indexes[id], "function": {"arguments": json}}
                return self.encode_delta({"tool_calls": [call]})
            case RunFinished(reason):
                return self.encode_delta({}, FINISH_REASONS.get(reason, reason))
            case _:
                return b""


class CompletionChunkWriter:
    def __init__(self, head: bytes, index: int) -> None:
        self.head = head
        self.index = index
        self.has_text = False
        self.text_offset = 0

    def encode_start(self) -> bytes:
        return b""

    def encode_text(self, text: str) -> bytes:
        return self.encode_choice(text, None)

    def encode_choice(self, text: str, finish: str | None, logprobs: Any = None) -> bytes:
        choice = {"text": text, "index": self.index, "logprobs": logprobs, "finish_reason": finish}
        return encode_chunk(self.head, [choice])

    def encode_with_logprobs(self, text: str, logprobs: Any) -> bytes:
        legacy = to_legacy_logprobs((logprobs or {}).get("content") or [], self.text_offset)
        self.text_offset += len(text)
        return self.encode_choice(text, None, legacy)

    def encode_event(self, event: Event) -> bytes:
        match event:
            case TextStart():
                again, self.has_text = self.has_text, True
                return self.encode_text(PARAGRAPH) if again else b""
            case TextDelta(text=text, logprobs=logprobs):
                return self.encode_with_logprobs(text, logprobs) if logprobs else self.encode_text(text)
            case RunFinished(reason):
                return self.encode_choice("", FINISH_REASONS.get(reason, reason))
            case _:
                return b""


def to_legacy_logprobs(entries: list[dict[str, Any]], offset: int = 0) -> dict[str, list[Any]]:
    """Convert chat logprobs to the legacy completions form: parallel lists."""
    tokens = [one.get("token", "") for one in entries]
    offsets = list(itertools.accumulate(map(len, tokens), initial=offset))[: len(tokens)]
    return {
        "tokens": tokens,
        "token_logprobs": [one.get("logprob") for one in entries],
        "top_logprobs": [
            {top.get("token", ""): top.get("logprob") for top in one.get("top_logprobs") or []}
            for one in entries
        ],
        "text_offset": offsets,
    }


def encode_chunk(head: bytes, choices: list[dict[str, Any]], **extra: Any) -> bytes:
    """Encode one SSE chunk. `head` is the encoded object that all chunks share, without its closing brace."""
    return format_event(head + b"," + encode({"choices": choices, **extra})[1:])
