"""Encode events as OpenAI completions, streamed or as one object; one run for each choice.

A failure before the first byte is an HTTP error; after it, a final `data:` error without [DONE]. A refusal by
the vendor or by a guardrail is `content_filter`: an error, or the finish reason of a text that has begun.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from rightseat.doors.openai import chunks, whole
from rightseat.doors.openai.chunks import encode, encode_chunk
from rightseat.doors.openai.read import OpenAIRequest
from rightseat.errors import ContentRefused, GuardrailRefused, OutputGuarded, RightseatError
from rightseat.http.endpoint import SSE_HEADERS, format_retry_after, make_full_response
from rightseat.http.endpoint import make_reply as in_one_piece
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.events import Event, RunFailed, RunFinished, RunStarted, TextDelta, Usage
from rightseat.types.streams import closing

ERROR_TYPES = {"caller": "invalid_request_error", "upstream": "upstream_error", "ours": "server_error"}
FILTERED_CODES = (ContentRefused.code, GuardrailRefused.code, OutputGuarded.code)
NumberedEvents = AsyncIterator[Event | tuple[int, Event]]


def encode_error(error: RunFailed | RightseatError) -> bytes:
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(error.status, ERROR_TYPES[error.fault])
    detail: dict[str, Any] = {
        "message": error.message,
        "type": kind,
        "param": error.param,
        "code": error.code,
    }
    if error.code in FILTERED_CODES:
        detail |= {
            "type": ERROR_TYPES["caller"],
            "code": "content_filter",
            "innererror": {"code": error.code},
        }
    return encode({"error": detail})


def refuse(error: RunFailed | RightseatError) -> Reply:
    # Not a 5xx: clients would retry a request that stays refused.
    status = 400 if error.code in FILTERED_CODES else error.status
    return in_one_piece(status, encode_error(error), *format_retry_after(error))


def format_usage(usage: Usage) -> dict[str, Any]:
    total = usage.input + usage.output
    body: dict[str, Any] = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": total,
    }
    cached = {"prompt_tokens_details": {"cached_tokens": usage.cached}} if usage.cached else {}
    return body | cached | ({"cost": usage.cost} if usage.cost else {})


def make_response_head(request: OpenAIRequest, *, streamed: bool) -> dict[str, object]:
    kind = "text_completion" if request.legacy else "chat.completion" + (".chunk" if streamed else "")
    id = f"{'cmpl' if request.legacy else 'chatcmpl'}-{request.turns[0].run}"
    return {"id": id, "object": kind, "created": int(time.time()), "model": request.model}


async def stream_completion(events: NumberedEvents, request: OpenAIRequest) -> Reply:
    head = encode(make_response_head(request, streamed=True))[:-1]
    kind = chunks.CompletionChunkWriter if request.legacy else chunks.ChatChunkWriter
    choices: list[chunks.ChunkWriter] = [kind(head, index) for index in range(len(request.turns))]
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
        encode_chunk(head, [], usage=format_usage(usage))
        if request.include_usage and usage != Usage()
        else b""
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
    kind = whole.CompletionChoiceBuilder if request.legacy else whole.ChatChoiceBuilder
    choices: list[whole.ChoiceBuilder] = [kind(index) for index in range(len(request.turns))]
    bodies: dict[int, object] = {}
    usage = Usage()
    async with closing(events):
        async for item in events:
            index, event = item if isinstance(item, tuple) else (0, item)
            if (
                isinstance(event, RunFailed)
                and choices[index].text_buffer.tell()
                and event.code in FILTERED_CODES
            ):
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
    body = make_response_head(request, streamed=False) | {
        "choices": [bodies[index] for index in sorted(bodies)]
    }
    # Always present: some clients (such as the `llm` command) fail without `usage`.
    yield make_full_response(200, encode(body | {"usage": format_usage(usage)}))
