"""Streamed choices: events as chat completion chunks or as legacy completion chunks.

Only calls of the client's own tools are sent: the protocol has no shape for tools that run on the server.
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol

import msgspec

from rightseat.http.sse import frame
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
FINISH = {"calls": "tool_calls", "interrupt": "stop"}
PARAGRAPH = "\n\n"


class Choice(Protocol):
    """Encoder of one choice's chunks. `encode_text` is the hot path: it encodes nothing but the text."""

    def start(self) -> bytes: ...
    def text(self, text: str) -> bytes: ...
    def write(self, event: Event) -> bytes: ...


class ChatChoice:
    def __init__(self, head: bytes, index: int) -> None:
        self.head = head
        self.index = index
        self.spoke = False
        self.refusing = False
        self.calls: dict[str, int] = {}
        self.before = b'data: %b,"choices":[{"index":%d,"delta":{"content":' % (head, index)
        self.after = b'},"logprobs":null,"finish_reason":null}]}\n\n'

    def text(self, text: str) -> bytes:
        if self.refusing:
            return self.delta({"refusal": text})
        return self.before + encode(text) + self.after

    def start(self) -> bytes:
        return self.delta({"role": "assistant", "content": ""})

    def delta(self, delta: dict[str, Any], finish: str | None = None, logprobs: Any = None) -> bytes:
        choice = {"index": self.index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return chunk(self.head, [choice])

    def write(self, event: Event) -> bytes:
        match event:
            case TextStart(refusal=refusal):
                self.refusing = refusal
                again, self.spoke = self.spoke, True
                return self.text(PARAGRAPH) if again else b""
            case TextDelta(text=text, logprobs=logprobs):
                return self.delta({"content": text}, logprobs=logprobs) if logprobs else self.text(text)
            case ReasoningDelta(text=text):
                return self.delta({"reasoning_content": text})
            case CallStart(id, name, client=True):
                self.calls[id] = len(self.calls)
                function = {"name": name, "arguments": ""}
                call = {"index": self.calls[id], "id": id, "type": "function", "function": function}
                return self.delta({"tool_calls": [call]})
            case CallArgs(id, json) if id in self.calls:
                call = {"index": self.calls[id], "function": {"arguments": json}}
                return self.delta({"tool_calls": [call]})
            case RunFinished(reason):
                return self.delta({}, FINISH.get(reason, reason))
            case _:
                return b""


class TextChoice:
    def __init__(self, head: bytes, index: int) -> None:
        self.head = head
        self.index = index
        self.spoke = False
        self.offset = 0

    def start(self) -> bytes:
        return b""

    def text(self, text: str) -> bytes:
        return self.piece(text, None)

    def piece(self, text: str, finish: str | None, logprobs: Any = None) -> bytes:
        choice = {"text": text, "index": self.index, "logprobs": logprobs, "finish_reason": finish}
        return chunk(self.head, [choice])

    def probable(self, text: str, logprobs: Any) -> bytes:
        told = older((logprobs or {}).get("content") or [], self.offset)
        self.offset += len(text)
        return self.piece(text, None, told)

    def write(self, event: Event) -> bytes:
        match event:
            case TextStart():
                again, self.spoke = self.spoke, True
                return self.text(PARAGRAPH) if again else b""
            case TextDelta(text=text, logprobs=logprobs):
                return self.probable(text, logprobs) if logprobs else self.text(text)
            case RunFinished(reason):
                return self.piece("", FINISH.get(reason, reason))
            case _:
                return b""


def older(found: list[dict[str, Any]], offset: int = 0) -> dict[str, list[Any]]:
    """Convert chat logprobs to the legacy completions form: parallel lists."""
    tokens = [one.get("token", "") for one in found]
    places = list(itertools.accumulate(map(len, tokens), initial=offset))[: len(tokens)]
    return {
        "tokens": tokens,
        "token_logprobs": [one.get("logprob") for one in found],
        "top_logprobs": [
            {top.get("token", ""): top.get("logprob") for top in one.get("top_logprobs") or []}
            for one in found
        ],
        "text_offset": places,
    }


def chunk(head: bytes, choices: list[dict[str, Any]], **more: Any) -> bytes:
    """Encode one SSE chunk. `head` is the encoded object that all chunks share, without its closing brace."""
    return frame(head + b"," + encode({"choices": choices, **more})[1:])
