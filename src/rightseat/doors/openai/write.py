"""Encode events as OpenAI completions, streamed or as one object; one run for each choice.

A failure before the first byte is an HTTP error; after it, a final `data:` error without [DONE]. A refusal by
the vendor or by a guardrail is `content_filter`: an error, or the finish reason of a text that has begun.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from rightseat.doors.openai import chunks, whole
from rightseat.doors.openai.chunks import chunk, encode
from rightseat.doors.openai.read import Asked
from rightseat.errors import ContentRefused, GuardrailRefused, OutputGuarded, RightseatError
from rightseat.http.endpoint import SSE, piece, retry_header
from rightseat.http.endpoint import whole as in_one_piece
from rightseat.http.reply import Head, Reply
from rightseat.http.sse import COMMENT, frame
from rightseat.types.events import Event, RunFailed, RunFinished, RunStarted, TextDelta, Usage
from rightseat.types.streams import closing

TYPES = {"caller": "invalid_request_error", "upstream": "upstream_error", "ours": "server_error"}
FILTERED = (ContentRefused.code, GuardrailRefused.code, OutputGuarded.code)
Numbered = AsyncIterator[Event | tuple[int, Event]]


def error_body(error: RunFailed | RightseatError) -> bytes:
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(error.status, TYPES[error.fault])
    detail: dict[str, Any] = {
        "message": error.message,
        "type": kind,
        "param": error.param,
        "code": error.code,
    }
    if error.code in FILTERED:
        detail |= {"type": TYPES["caller"], "code": "content_filter", "innererror": {"code": error.code}}
    return encode({"error": detail})


def refuse(error: RunFailed | RightseatError) -> Reply:
    # Not a 5xx: clients would retry a request that stays refused.
    status = 400 if error.code in FILTERED else error.status
    return in_one_piece(status, error_body(error), *retry_header(error))


def usage_body(usage: Usage) -> dict[str, Any]:
    total = usage.input + usage.output
    body: dict[str, Any] = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": total,
    }
    cached = {"prompt_tokens_details": {"cached_tokens": usage.cached}} if usage.cached else {}
    return body | cached | ({"cost": usage.cost} if usage.cost else {})


def heading(asked: Asked, *, streamed: bool) -> dict[str, object]:
    kind = "text_completion" if asked.legacy else "chat.completion" + (".chunk" if streamed else "")
    id = f"{'cmpl' if asked.legacy else 'chatcmpl'}-{asked.turns[0].run}"
    return {"id": id, "object": kind, "created": int(time.time()), "model": asked.model}


async def stream(events: Numbered, asked: Asked) -> Reply:
    head = encode(heading(asked, streamed=True))[:-1]
    kind = chunks.TextChoice if asked.legacy else chunks.ChatChoice
    choices: list[chunks.Choice] = [kind(head, index) for index in range(len(asked.turns))]
    started, left, usage = False, len(choices), Usage()
    only = choices[0]
    async with closing(events):
        async for item in events:
            # Hot path: an event without an index belongs to the only choice.
            if type(item) is TextDelta and started and item.logprobs is None:
                yield only.text(item.text)
                continue
            index, event = item if isinstance(item, tuple) else (0, item)
            if isinstance(event, RunStarted):
                continue
            if isinstance(event, RunFailed) and started and event.code in FILTERED:
                event = RunFinished("content_filter")
            if isinstance(event, RunFailed):
                async for part in failed(event, started):
                    yield part
                return
            if not started:
                started = True
                yield Head(200, SSE, COMMENT)
                yield b"".join(choice.start() for choice in choices)
            if data := choices[index].write(event):
                yield data
            if isinstance(event, RunFinished):
                left -= 1
                usage += event.usage or Usage()
    assert left == 0, "every run ends with RunFinished or RunFailed"
    counted = chunk(head, [], usage=usage_body(usage)) if asked.usage and usage != Usage() else b""
    yield counted + b"data: [DONE]\n\n"


async def failed(event: RunFailed, started: bool) -> Reply:
    if started:
        yield frame(error_body(event))
        return
    async for part in refuse(event):
        yield part


async def complete(events: Numbered, asked: Asked) -> Reply:
    """Collect all runs and send one completion object."""
    kind = whole.TextChoice if asked.legacy else whole.ChatChoice
    choices: list[whole.Choice] = [kind(index) for index in range(len(asked.turns))]
    bodies: dict[int, object] = {}
    usage = Usage()
    async with closing(events):
        async for item in events:
            index, event = item if isinstance(item, tuple) else (0, item)
            if isinstance(event, RunFailed) and choices[index].texts.tell() and event.code in FILTERED:
                event = RunFinished("content_filter")
            if isinstance(event, RunFailed):
                async for part in refuse(event):
                    yield part
                return
            if isinstance(event, RunFinished):
                bodies[index] = choices[index].body(event)
                usage += event.usage or Usage()
            else:
                choices[index].see(event)
    body = heading(asked, streamed=False) | {"choices": [bodies[index] for index in sorted(bodies)]}
    # Always present: some clients (such as the `llm` command) fail without `usage`.
    yield piece(200, encode(body | {"usage": usage_body(usage)}))
