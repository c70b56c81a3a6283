"""Choices of a non-streamed response, built from events. A call is added when it has ended."""

from __future__ import annotations

import io
from typing import Any, Protocol

from rightseat.doors.openai.chunks import FINISH, PARAGRAPH, older
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


class Choice(Protocol):
    texts: io.StringIO

    def see(self, event: Event) -> None: ...
    def body(self, event: RunFinished) -> dict[str, Any]: ...


class ChatChoice:
    def __init__(self, index: int) -> None:
        self.index = index
        self.texts = io.StringIO()
        self.refusals = io.StringIO()
        self.reasoning = io.StringIO()
        self.logprobs: list[Any] = []
        self.refusing = False
        self.open: dict[str, tuple[str, list[str]]] = {}
        self.calls: list[dict[str, Any]] = []

    def see(self, event: Event) -> None:
        match event:
            case TextStart(refusal=refusal):
                self.refusing = refusal
                if self.spoken.tell():
                    self.spoken.write(PARAGRAPH)
            case TextDelta(text=text, logprobs=logprobs):
                self.spoken.write(text)
                self.logprobs += (logprobs or {}).get("content") or []
            case ReasoningDelta(text=text):
                self.reasoning.write(text)
            case CallStart(id, name, client=True):
                self.open[id] = (name, [])
            case CallArgs(id, json) if id in self.open:
                self.open[id][1].append(json)
            case CallEnd(id) if id in self.open:
                name, arguments = self.open.pop(id)
                function = {"name": name, "arguments": "".join(arguments)}
                self.calls.append({"id": id, "type": "function", "function": function})
            case _:
                pass

    @property
    def spoken(self) -> io.StringIO:
        return self.refusals if self.refusing else self.texts

    def body(self, event: RunFinished) -> dict[str, Any]:
        text, refusal = self.texts.getvalue(), self.refusals.getvalue()
        content = text if text or not (self.calls or refusal) else None
        message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal or None}
        if self.reasoning.tell():
            message["reasoning_content"] = self.reasoning.getvalue()
        if self.calls:
            message["tool_calls"] = self.calls
        return {
            "index": self.index,
            "message": message,
            "logprobs": {"content": self.logprobs} if self.logprobs else None,
            "finish_reason": FINISH.get(event.reason, event.reason),
        }


class TextChoice:
    def __init__(self, index: int) -> None:
        self.index = index
        self.texts = io.StringIO()
        self.logprobs: list[Any] = []

    def see(self, event: Event) -> None:
        match event:
            case TextStart() if self.texts.tell():
                self.texts.write(PARAGRAPH)
            case TextDelta(text=text, logprobs=logprobs):
                self.texts.write(text)
                self.logprobs += (logprobs or {}).get("content") or []
            case _:
                pass

    def body(self, event: RunFinished) -> dict[str, Any]:
        finish = FINISH.get(event.reason, event.reason)
        text = self.texts.getvalue()
        told = older(self.logprobs) if self.logprobs else None
        return {"text": text, "index": self.index, "logprobs": told, "finish_reason": finish}
