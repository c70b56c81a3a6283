"""Events as OpenAI's chat completion, streamed chunk by chunk or whole.

Only the client's own calls are shown: what ran on the server is the server's business, and this wire has no
place for it. A failure before the first byte is an HTTP status; after it, a final `data:` error, no [DONE].
"""

from __future__ import annotations

import io
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from rightseat.door import SSE, retry_header, whole
from rightseat.doors.openai.read import Asked
from rightseat.errors import RightseatError
from rightseat.events import (
    CallArgs,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextStart,
    Usage,
)
from rightseat.pump import Head, Reply
from rightseat.sse import COMMENT, frame
from rightseat.streams import closing

encode = msgspec.json.Encoder().encode
FINISH = {"calls": "tool_calls", "interrupt": "stop"}
TYPES = {"caller": "invalid_request_error", "upstream": "upstream_error", "ours": "server_error"}
PARAGRAPH = "\n\n"


def error_body(error: RunFailed | RightseatError) -> bytes:
    kind = "authentication_error" if error.status == 401 else TYPES[error.fault]
    detail = {"message": error.message, "type": kind, "param": error.param, "code": error.code}
    return encode({"error": detail})


def refuse(error: RunFailed | RightseatError) -> Reply:
    return whole(error.status, error_body(error), *retry_header(error))


def usage_body(usage: Usage) -> dict[str, int]:
    total = usage.input + usage.output
    return {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": total}


async def stream(events: AsyncIterator[Event], asked: Asked) -> Reply:
    chunks = Chunks(asked)
    async with closing(events):
        async for event in events:
            if type(event) is TextDelta and event.logprobs is None and chunks.started:
                yield chunks.text(event.text)
                continue
            if isinstance(event, RunStarted):
                continue
            if not chunks.started:
                if isinstance(event, RunFailed):
                    async for part in refuse(event):
                        yield part
                    return
                yield Head(200, SSE, COMMENT)
                yield chunks.start()
            data = chunks.write(event)
            if data:
                yield data


class Chunks:
    """One answer's chunks. What is the same in all of them is encoded once."""

    def __init__(self, asked: Asked) -> None:
        self.id = f"chatcmpl-{asked.turn.run}"
        self.usage = asked.usage
        self.started = False
        self.spoke = False
        self.refusing = False
        self.calls: dict[str, int] = {}
        head = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": asked.model,
        }
        self.head = encode(head)[:-1]
        self.before = b"data: " + self.head + b',"choices":[{"index":0,"delta":{"content":'
        self.after = b'},"logprobs":null,"finish_reason":null}]}\n\n'

    def text(self, text: str) -> bytes:
        if self.refusing:
            return self.delta({"refusal": text})
        return self.before + encode(text) + self.after

    def start(self) -> bytes:
        self.started = True
        return self.delta({"role": "assistant", "content": ""})

    def chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        return frame(self.head + b"," + encode({"choices": choices, **more})[1:])

    def delta(self, delta: dict[str, Any], finish: str | None = None, logprobs: Any = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return self.chunk([choice])

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
            case RunFinished():
                return self.finish(event)
            case RunFailed():
                return frame(error_body(event))
            case _:
                return b""

    def finish(self, event: RunFinished) -> bytes:
        last = self.delta({}, FINISH.get(event.reason, event.reason))
        if self.usage and event.usage is not None:
            last += self.chunk([], usage=usage_body(event.usage))
        return last + b"data: [DONE]\n\n"


async def complete(events: AsyncIterator[Event], asked: Asked) -> Reply:
    """The whole answer as one JSON; a call is in it once it has ended."""
    answer = Completion(asked)
    async with closing(events):
        async for event in events:
            if isinstance(event, RunFailed):
                async for part in refuse(event):
                    yield part
            elif isinstance(event, RunFinished):
                async for part in whole(200, encode(answer.body(event))):
                    yield part
            else:
                answer.see(event)


class Completion:
    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.texts = io.StringIO()
        self.refusals = io.StringIO()
        self.reasoning: list[str] = []
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
                self.reasoning.append(text)
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
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        if self.calls:
            message["tool_calls"] = self.calls
        choice = {
            "index": 0,
            "message": message,
            "logprobs": {"content": self.logprobs} if self.logprobs else None,
            "finish_reason": FINISH.get(event.reason, event.reason),
        }
        body = {
            "id": f"chatcmpl-{self.asked.turn.run}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.asked.model,
            "choices": [choice],
        }
        # Not told is not zero.
        return body if event.usage is None else body | {"usage": usage_body(event.usage)}
