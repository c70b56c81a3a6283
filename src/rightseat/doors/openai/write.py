"""Encode events as OpenAI completions, streamed or as one object; one run for each choice.

A failure before the first byte is an HTTP error; after it, a final `data:` error without [DONE]. A refusal by
the vendor or by a guardrail is `content_filter`: an error, or the finish reason of a text that has begun.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from rightseat.doors.openai.read import OpenAIRequest
from rightseat.doors.openai.tools import CallShape
from rightseat.errors import (
    INTERNAL_ERROR,
    ContentRefused,
    ContextTooLong,
    GuardrailRefused,
    OutputGuarded,
    RightseatError,
)
from rightseat.http.endpoint import SSE_HEADERS, format_error_headers, get_error_url, make_full_response
from rightseat.http.reply import EarlyStart, Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallStart,
    Custom,
    Event,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextStart,
    Usage,
)
from rightseat.types.messages import ToolCall
from rightseat.types.output import RunOutput
from rightseat.types.streams import closing

encode = msgspec.json.Encoder().encode
PARAGRAPH = "\n\n"


class ChatChunkWriter:
    """Encoder of one choice's chunks. `encode_text` is the hot path: it encodes nothing but the text."""

    def __init__(self, head: bytes, index: int, call_shape: CallShape) -> None:
        self.head = head
        self.index = index
        self.call_shape = call_shape
        self.has_text = False
        self.in_refusal = False
        self.held = RunOutput()
        """Calls that are sent when they are complete."""
        self.call_indexes: dict[str, int] = {}
        self.finish_fields: dict[str, Any] = {}
        """Fields of ours in the last chunk."""
        self.text_prefix = b'data: %b,"choices":[{"index":%d,"delta":{"content":' % (head, index)
        self.text_suffix = b'},"logprobs":null,"finish_reason":null}]}\n\n'

    def encode_text(self, text: str) -> bytes:
        if self.in_refusal:
            return self.encode_delta({"refusal": text})
        return self.text_prefix + encode(text) + self.text_suffix

    def encode_start(self) -> bytes:
        return self.encode_delta({"role": "assistant", "content": ""})

    def encode_with_logprobs(self, text: str, logprobs: Any) -> bytes:
        return self.encode_delta({"content": text}, logprobs=logprobs)

    def encode_finish(self, reason: str) -> bytes:
        return self.encode_delta({}, reason)

    def encode_delta(self, delta: dict[str, Any], finish: str | None = None, logprobs: Any = None) -> bytes:
        choice = {"index": self.index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return encode_chunk(self.head, [choice], **(self.finish_fields if finish else {}))

    def encode_event(self, event: Event) -> bytes:
        match event:
            case TextStart(refusal=refusal):
                self.in_refusal = refusal
                again, self.has_text = self.has_text, True
                return self.encode_text(PARAGRAPH) if again else b""
            case TextDelta(text=text, logprobs=logprobs):
                return self.encode_with_logprobs(text, logprobs) if logprobs else self.encode_text(text)
            case RunFinished(reason):
                return self.encode_finish(self.call_shape.name_finish_reason(reason))
            case _:
                return self.encode_other(event)

    def encode_other(self, event: Event) -> bytes:
        match event:
            case ReasoningDelta(text=text):
                return self.encode_delta(format_reasoning(text))
            case CallStart(id, name, client=True) if self.call_shape.is_streamed(name):
                self.call_indexes[id] = len(self.call_indexes)
                function = {"name": name, "arguments": ""}
                start = {"index": self.call_indexes[id], "id": id, "type": "function", "function": function}
                return self.encode_delta({"tool_calls": [start]})
            case CallArgs(id, json) if id in self.call_indexes:
                arguments = {"index": self.call_indexes[id], "function": {"arguments": json}}
                return self.encode_delta({"tool_calls": [arguments]})
            case CallStart(client=True) | CallArgs():
                self.held.add_event(event)
                return b""
            case CallEnd(id) if id in self.held.calls:
                return self.encode_call(self.held.calls[id].call)
            case _:
                return b""

    def encode_call(self, call: ToolCall) -> bytes:
        """Encode a complete call. Its arguments are not sent before: some clients (LangChain, LlamaIndex) close the
        JSON of a call that the token limit cut, and run it."""
        index = self.call_indexes[call.id] = len(self.call_indexes)
        return b"".join(map(self.encode_delta, self.call_shape.list_deltas(call, index)))


class CompletionChunkWriter(ChatChunkWriter):
    """Encoder of a legacy completion's chunks, which have only text."""

    def __init__(self, head: bytes, index: int, call_shape: CallShape) -> None:
        super().__init__(head, index, call_shape)
        self.text_offset = 0

    def encode_start(self) -> bytes:
        return b""

    def encode_text(self, text: str) -> bytes:
        return self.encode_choice(text)

    def encode_choice(self, text: str, finish: str | None = None, logprobs: Any = None) -> bytes:
        choice = {"text": text, "index": self.index, "logprobs": logprobs, "finish_reason": finish}
        return encode_chunk(self.head, [choice], **(self.finish_fields if finish else {}))

    def encode_with_logprobs(self, text: str, logprobs: Any) -> bytes:
        legacy = to_legacy_logprobs(logprobs.get("content") or [], self.text_offset)
        self.text_offset += len(text)
        return self.encode_choice(text, logprobs=legacy)

    def encode_finish(self, reason: str) -> bytes:
        return self.encode_choice("", reason)

    def encode_other(self, event: Event) -> bytes:
        return b""


def format_reasoning(text: str) -> dict[str, str]:
    """Return thoughts by both names that clients look for: DeepSeek's, and that of OpenRouter and newer servers."""
    return {"reasoning_content": text, "reasoning": text}


def to_legacy_logprobs(entries: list[dict[str, Any]], offset: int = 0) -> dict[str, list[Any]]:
    """Convert chat logprobs to the legacy completions form: parallel lists."""
    tokens = [entry.get("token", "") for entry in entries]
    tops = (entry.get("top_logprobs") or [] for entry in entries)
    return {
        "tokens": tokens,
        "token_logprobs": [entry.get("logprob") for entry in entries],
        "top_logprobs": [{top.get("token", ""): top.get("logprob") for top in entry_tops} for entry_tops in tops],
        "text_offset": list(itertools.accumulate(map(len, tokens), initial=offset))[: len(tokens)],
    }


def encode_chunk(head: bytes, choices: list[dict[str, Any]], **extra: Any) -> bytes:
    """Encode one SSE chunk. `head` is the encoded object that all chunks share, without its closing brace."""
    return format_event(head + b"," + encode({"choices": choices, **extra})[1:])


def format_choice(index: int, output: RunOutput, reason: str, call_shape: CallShape, *, legacy: bool) -> dict[str, Any]:
    """Format a choice of a non-streamed response."""
    finish = call_shape.name_finish_reason(reason)
    logprobs = [entry for text in output.texts.values() for entry in text.logprobs]
    if legacy:
        legacy_logprobs = to_legacy_logprobs(logprobs) if logprobs else None
        text = output.join_texts()
        return {"text": text, "index": index, "logprobs": legacy_logprobs, "finish_reason": finish}
    text, refusal = output.join_texts(refusal=False), output.join_texts(refusal=True)
    calls = [item.call for item in output.ended_calls if item.start.client]
    content = text if text or not (calls or refusal) else None
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": refusal or None}
    if reasoning := "".join(output.reasoning):
        message |= format_reasoning(reasoning)
    message |= call_shape.format_calls(calls)
    encoded_logprobs = {"content": logprobs} if logprobs else None
    return {"index": index, "message": message, "logprobs": encoded_logprobs, "finish_reason": finish}


ERROR_TYPES = {"caller": "invalid_request_error", "upstream": "upstream_error", "ours": "server_error"}
OPENAI_CODES = {ContextTooLong.code: "context_length_exceeded"}
FILTERED_CODES = (ContentRefused.code, GuardrailRefused.code, OutputGuarded.code)
NumberedEvents = AsyncIterator[Event | tuple[int, Event]]


def encode_error(error: RunFailed | RightseatError) -> bytes:
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(error.status, ERROR_TYPES[error.fault])
    # Clients shorten a conversation by OpenAI's own code.
    code = OPENAI_CODES.get(error.code, error.code)
    detail: dict[str, Any] = {"message": error.message, "type": kind, "param": error.param, "code": code}
    if error.code in FILTERED_CODES:
        detail |= {"type": ERROR_TYPES["caller"], "code": "content_filter", "innererror": {"code": error.code}}
    if url := get_error_url(error):
        detail["doc_url"] = url
    return encode({"error": detail})


FAILURE_FRAME = format_event(encode_error(INTERNAL_ERROR))


def make_error_response(error: RunFailed | RightseatError) -> ResponseStart:
    # Not a 5xx: clients would retry a request that stays refused.
    status = 400 if error.code in FILTERED_CODES else error.status
    return make_full_response(status, encode_error(error), *format_error_headers(error))


async def refuse(error: RightseatError) -> Reply:
    yield make_error_response(error)


def format_usage(usage: Usage) -> dict[str, Any]:
    total = usage.input + usage.output
    body: dict[str, Any] = {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": total}
    cached = {"prompt_tokens_details": {"cached_tokens": usage.cached}} if usage.cached else {}
    return body | cached | ({"cost": usage.cost} if usage.cost else {})


def make_response_head(request: OpenAIRequest, *, streamed: bool) -> dict[str, object]:
    kind = "text_completion" if request.legacy else "chat.completion" + (".chunk" if streamed else "")
    id = f"{'cmpl' if request.legacy else 'chatcmpl'}-{request.turns[0].run}"
    return {
        "id": id,
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": request.fingerprint,
    }


def find_history_cut(event: Event) -> dict[str, Any]:
    """Return the field that tells of dropped messages, if this event does. The wire has no place for it."""
    return {"history_cut": event.value} if isinstance(event, Custom) and event.name == "history_cut" else {}


def format_cut_header(fields: dict[str, Any]) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((b"x-history-cut", b"%d" % value["dropped"]) for value in fields.values())


async def stream_completion(events: NumberedEvents, request: OpenAIRequest) -> Reply:
    head = encode(make_response_head(request, streamed=True))[:-1]
    kind = CompletionChunkWriter if request.legacy else ChatChunkWriter
    choices = [kind(head, index, request.call_shape) for index in range(len(request.turns))]
    started, running, usage = False, len(choices), Usage()
    first_choice = choices[0]
    yield (early := EarlyStart(ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT, failure=FAILURE_FRAME)))
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
                in_stream = started or early.sent
                yield format_event(encode_error(event)) if in_stream else make_error_response(event)
                return
            first_choice.finish_fields = first_choice.finish_fields or find_history_cut(event)
            if not started:
                started = True
                headers = (*SSE_HEADERS, *format_cut_header(first_choice.finish_fields))
                yield ResponseStart(200, headers, KEEP_ALIVE_COMMENT, failure=FAILURE_FRAME)
                yield b"".join(choice.encode_start() for choice in choices)
            if data := choices[index].encode_event(event):
                yield data
            if isinstance(event, RunFinished):
                running -= 1
                usage += event.usage or Usage()
    assert running == 0, "every run ends with RunFinished or RunFailed"
    if request.include_usage and usage != Usage():
        yield encode_chunk(head, [], usage=format_usage(usage))
    yield b"data: [DONE]\n\n"


async def reply_completion(events: NumberedEvents, request: OpenAIRequest) -> Reply:
    """Collect all runs and send one completion object."""
    outputs = [RunOutput() for _ in request.turns]
    choices: dict[int, object] = {}
    usage = Usage()
    cut: dict[str, Any] = {}
    async with closing(events):
        async for item in events:
            index, event = item if isinstance(item, tuple) else (0, item)
            cut = cut or find_history_cut(event)
            if isinstance(event, RunFailed):
                has_text = outputs[index].join_texts(refusal=None if request.legacy else False)
                if event.code not in FILTERED_CODES or not has_text:
                    yield make_error_response(event)
                    return
                event = RunFinished("content_filter")
            if isinstance(event, RunFinished):
                choices[index] = format_choice(
                    index, outputs[index], event.reason, request.call_shape, legacy=request.legacy
                )
                usage += event.usage or Usage()
            outputs[index].add_event(event)
    body = make_response_head(request, streamed=False) | {"choices": [choices[index] for index in sorted(choices)]}
    # Always present: some clients (such as the `llm` command) fail without `usage`.
    body |= {"usage": format_usage(usage)} | cut
    yield make_full_response(200, encode(body), *format_cut_header(cut))
