"""Encode events as OpenAI completions, streamed or as one object; one run for each choice.

Streamed choices: events as chat completion chunks or as legacy completion chunks. Choices of a non-streamed
response, built from events.

A failure before the first byte is an HTTP error; after it, a final `data:` error without [DONE]. A refusal by
the vendor or by a guardrail is `content_filter`: an error, or the finish reason of a text that has begun.
"""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import AsyncIterator
from typing import Any, Protocol

import msgspec

from rightseat.doors.openai.read import OpenAIRequest
from rightseat.errors import ContentRefused, GuardrailRefused, OutputGuarded, RightseatError
from rightseat.http.endpoint import SSE_HEADERS, format_retry_after, make_full_response, make_reply
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.events import (
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
from rightseat.types.streams import closing

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
                return self.encode_delta({"content": text}, logprobs=logprobs) if logprobs else self.encode_text(text)
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
            {top.get("token", ""): top.get("logprob") for top in one.get("top_logprobs") or []} for one in entries
        ],
        "text_offset": offsets,
    }


def encode_chunk(head: bytes, choices: list[dict[str, Any]], **extra: Any) -> bytes:
    """Encode one SSE chunk. `head` is the encoded object that all chunks share, without its closing brace."""
    return format_event(head + b"," + encode({"choices": choices, **extra})[1:])


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


ERROR_TYPES = {"caller": "invalid_request_error", "upstream": "upstream_error", "ours": "server_error"}
FILTERED_CODES = (ContentRefused.code, GuardrailRefused.code, OutputGuarded.code)
NumberedEvents = AsyncIterator[Event | tuple[int, Event]]


def encode_error(error: RunFailed | RightseatError) -> bytes:
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(error.status, ERROR_TYPES[error.fault])
    detail: dict[str, Any] = {"message": error.message, "type": kind, "param": error.param, "code": error.code}
    if error.code in FILTERED_CODES:
        detail |= {"type": ERROR_TYPES["caller"], "code": "content_filter", "innererror": {"code": error.code}}
    return encode({"error": detail})


def refuse(error: RunFailed | RightseatError) -> Reply:
    # Not a 5xx: clients would retry a request that stays refused.
    status = 400 if error.code in FILTERED_CODES else error.status
    return make_reply(status, encode_error(error), *format_retry_after(error))


def format_usage(usage: Usage) -> dict[str, Any]:
    total = usage.input + usage.output
    body: dict[str, Any] = {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": total}
    cached = {"prompt_tokens_details": {"cached_tokens": usage.cached}} if usage.cached else {}
    return body | cached | ({"cost": usage.cost} if usage.cost else {})


def make_response_head(request: OpenAIRequest, *, streamed: bool) -> dict[str, object]:
    kind = "text_completion" if request.legacy else "chat.completion" + (".chunk" if streamed else "")
    id = f"{'cmpl' if request.legacy else 'chatcmpl'}-{request.turns[0].run}"
    return {"id": id, "object": kind, "created": int(time.time()), "model": request.model}


async def stream_completion(events: NumberedEvents, request: OpenAIRequest) -> Reply:
    head = encode(make_response_head(request, streamed=True))[:-1]
    kind = CompletionChunkWriter if request.legacy else ChatChunkWriter
    choices: list[ChunkWriter] = [kind(head, index) for index in range(len(request.turns))]
    started, running, usage = False, len(choices), Usage()
    first_choice = choices[0]
    async with closing(events):
        async for item in events:
            # Hot path: an event without an index belongs to the only choice.
            if type(item) is TextDelta and started and item.logprobs is None:
                yield first_choice.encode_text(item.text)
                continue
            index, event = item if isinstance(item, tuple) else (0, item)
            if isinstance(event, RunStarted):
                continue
            if isinstance(event, RunFailed) and started and event.code in FILTERED_CODES:
                event = RunFinished("content_filter")
            if isinstance(event, RunFailed):
                async for part in stream_error(event, started):
                    yield part
                return
            if not started:
                started = True
                yield ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT)
                yield b"".join(choice.encode_start() for choice in choices)
            if data := choices[index].encode_event(event):
                yield data
            if isinstance(event, RunFinished):
                running -= 1
                usage += event.usage or Usage()
    assert running == 0, "every run ends with RunFinished or RunFailed"
    usage_chunk = (
        encode_chunk(head, [], usage=format_usage(usage)) if request.include_usage and usage != Usage() else b""
    )
    yield usage_chunk + b"data: [DONE]\n\n"


async def stream_error(event: RunFailed, started: bool) -> Reply:
    if started:
        yield format_event(encode_error(event))
        return
    async for part in refuse(event):
        yield part


async def reply_completion(events: NumberedEvents, request: OpenAIRequest) -> Reply:
    """Collect all runs and send one completion object."""
    kind = CompletionChoiceBuilder if request.legacy else ChatChoiceBuilder
    choices: list[ChoiceBuilder] = [kind(index) for index in range(len(request.turns))]
    bodies: dict[int, object] = {}
    usage = Usage()
    async with closing(events):
        async for item in events:
            index, event = item if isinstance(item, tuple) else (0, item)
            if isinstance(event, RunFailed) and choices[index].text_buffer.tell() and event.code in FILTERED_CODES:
                event = RunFinished("content_filter")
            if isinstance(event, RunFailed):
                async for part in refuse(event):
                    yield part
                return
            if isinstance(event, RunFinished):
                bodies[index] = choices[index].build(event)
                usage += event.usage or Usage()
            else:
                choices[index].add_event(event)
    body = make_response_head(request, streamed=False) | {"choices": [bodies[index] for index in sorted(bodies)]}
    # Always present: some clients (such as the `llm` command) fail without `usage`.
    yield make_full_response(200, encode(body | {"usage": format_usage(usage)}))
