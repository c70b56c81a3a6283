"""Choices of a non-streamed response, built from events. A call is added when it has ended."""

from __future__ import annotations

import io
from typing import Any, Protocol

from rightseat.doors.openai.chunks import FINISH_REASONS, PARAGRAPH, to_legacy_logprobs
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    RunFinished,
    TextDelta,
    TextStart,
)


class ChoiceBuilder(Protocol):
    text_buffer: io.StringIO

    def add_event(self, event: Event) -> None: ...
    def build(self, event: RunFinished) -> dict[str, Any]: ...


class ChatChoiceBuilder:
    def __init__(self, index: int) -> None:
        self.index = index
        self.text_buffer = io.StringIO()
        self.refusal_buffer = io.StringIO()
        self.reasoning_buffer = io.StringIO()
        self.logprobs: list[Any] = []
        self.in_refusal = False
        self.open_calls: dict[str, tuple[str, list[str]]] = {}
        self.calls: list[dict[str, Any]] = []

    def add_event(self, event: Event) -> None:
        match event:
            case TextStart(refusal=refusal):
                self.in_refusal = refusal
                if self.current_buffer.tell():
                    self.current_buffer.write(PARAGRAPH)
            case TextDelta(text=text, logprobs=logprobs):
                self.current_buffer.write(text)
                self.logprobs += (logprobs or {}).get("content") or []
            case ReasoningDelta(text=text):
                self.reasoning_buffer.write(text)
            case CallStart(id, name, client=True):
                self.open_calls[id] = (name, [])
            case CallArgs(id, json) if id in self.open_calls:
                self.open_calls[id][1].append(json)
            case CallEnd(id) if id in self.open_calls:
                name, arguments = self.open_calls.pop(id)
                function = {"name": name, "arguments": "".join(arguments)}
                self.calls.append({"id": id, "type": "function", "function": function})
            case _:
                pass

    @property
    def current_buffer(self) -> io.StringIO:
        return self.refusal_buffer if self.in_refusal else self.text_buffer

    def build(self, event: RunFinished) -> dict[str, Any]:
        text, refusal = self.text_buffer.getvalue(), self.refusal_buffer.getvalue()
        content = text if text or not (self.calls or refusal) else None
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal or None}
        if self.reasoning_buffer.tell():
            message["reasoning_content"] = self.reasoning_buffer.getvalue()
        if self.calls:
            message["tool_calls"] = self.calls
        return {
            "index": self.index,
            "message": message,
            "logprobs": {"content": self.logprobs} if self.logprobs else None,
            "finish_reason": FINISH_REASONS.get(event.reason, event.reason),
        }


class CompletionChoiceBuilder:
    def __init__(self, index: int) -> None:
        self.index = index
        self.text_buffer = io.StringIO()
        self.logprobs: list[Any] = []

    def add_event(self, event: Event) -> None:
        match event:
            case TextStart() if self.text_buffer.tell():
                self.text_buffer.write(PARAGRAPH)
            case TextDelta(text=text, logprobs=logprobs):
                self.text_buffer.write(text)
                self.logprobs += (logprobs or {}).get("content") or []
            case _:
                pass

    def build(self, event: RunFinished) -> dict[str, Any]:
        finish = FINISH_REASONS.get(event.reason, event.reason)
        text = self.text_buffer.getvalue()
        logprobs = to_legacy_logprobs(self.logprobs) if self.logprobs else None
        return {"text": text, "index": self.index, "logprobs": logprobs, "finish_reason": finish}
