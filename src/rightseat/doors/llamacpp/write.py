"""Encode events as llama-server's completions, streamed or whole, and errors in its shape.

A failure before the first byte is an HTTP error; after it, a last `data:` with the error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from rightseat.doors.llamacpp.read import LlamaRequest
from rightseat.doors.llamacpp.wire import RerankRequest
from rightseat.errors import INTERNAL_ERROR, ContextTooLong, NotConfigured, RightseatError
from rightseat.http.endpoint import SSE_HEADERS, format_error_headers, make_full_response
from rightseat.http.reply import EarlyStart, Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT, format_event
from rightseat.types.events import Event, RunFailed, RunFinished, TextDelta, Usage
from rightseat.types.streams import closing

encode = msgspec.json.Encoder().encode
NumberedEvents = AsyncIterator[Event | tuple[int, Event]]

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    501: "not_supported_error",
    503: "unavailable_error",
}
STOP_TYPES = {"stop": "eos", "length": "limit"}


def encode_error(error: RunFailed | RightseatError) -> tuple[int, bytes]:
    """Return status and body. What is not set up is 501: by 503 clients wait for a model that loads."""
    status = 501 if error.code == NotConfigured.code else error.status
    kind = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    if error.code == ContextTooLong.code:
        kind = "exceed_context_size_error"
    return status, encode({"error": {"code": status, "message": error.message, "type": kind}})


FAILURE_FRAME = format_event(encode_error(INTERNAL_ERROR)[1])


def make_error_response(error: RunFailed | RightseatError) -> ResponseStart:
    status, body = encode_error(error)
    return make_full_response(status, body, *format_error_headers(error))


async def refuse(error: RightseatError) -> Reply:
    yield make_error_response(error)


class CompletionWriter:
    """Encoder of one completion."""

    def __init__(self, request: LlamaRequest, index: int) -> None:
        self.request = request
        self.index = index
        self.texts: list[str] = []
        self.tokens: list[int] = []
        self.probabilities: list[Any] = []

    def format_delta(self, event: TextDelta) -> dict[str, Any]:
        report = event.logprobs or {}
        chunk = {
            "index": self.index,
            "content": event.text,
            "tokens": report.get("tokens") or [],
            "stop": False,
            "id_slot": -1,
        }
        if self.request.with_probabilities:
            chunk["completion_probabilities"] = report.get("content") or []
        return chunk | ({"timings": report["timings"]} if "timings" in report else {})

    def add_delta(self, event: TextDelta) -> None:
        report = event.logprobs or {}
        self.texts.append(event.text)
        self.tokens += report.get("tokens") or []
        self.probabilities += report.get("content") or []

    def format_end(self, event: RunFinished) -> dict[str, Any]:
        """Return the last chunk; of a whole answer it has the text too."""
        usage = event.usage or Usage()
        end: dict[str, Any] = {
            "index": self.index,
            "content": "".join(self.texts),
            "tokens": self.tokens if self.request.return_tokens else [],
            "id_slot": -1,
            "stop": True,
            "model": self.request.model,
            "tokens_predicted": usage.output,
            "tokens_evaluated": usage.input,
            "stop_type": STOP_TYPES.get(event.reason, "none"),
            "stopping_word": "",
            "truncated": False,
            **(event.report or {}),
        }
        if self.request.with_probabilities and not self.request.stream:
            end["completion_probabilities"] = self.probabilities
        return select_fields(end, self.request.response_fields)


def select_fields(values: dict[str, Any], paths: tuple[str, ...]) -> dict[str, Any]:
    """Return the named fields, all if none is named; a nested one (`a/b`) moves to the top under its last name."""
    if not paths:
        return values
    selected: dict[str, Any] = {}
    for path in paths:
        value: Any = values
        *parents, last = path.split("/")
        for key in parents:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict) and last in value:
            selected[last] = value[last]
    return selected


async def stream_completion(events: NumberedEvents, request: LlamaRequest) -> Reply:
    writers = [CompletionWriter(request, index) for index in range(len(request.turns))]
    started = False
    yield (early := EarlyStart(ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT, failure=FAILURE_FRAME)))
    async with closing(events):
        async for item in events:
            index, event = item if isinstance(item, tuple) else (0, item)
            if isinstance(event, RunFailed):
                in_stream = started or early.sent
                yield format_event(encode_error(event)[1]) if in_stream else make_error_response(event)
                return
            if not isinstance(event, TextDelta | RunFinished):
                continue
            if not started:
                started = True
                yield early.start
            writer = writers[index]
            chunk = writer.format_delta(event) if isinstance(event, TextDelta) else writer.format_end(event)
            yield format_event(encode(chunk))


async def reply_completion(events: NumberedEvents, request: LlamaRequest) -> Reply:
    """Collect all runs and send one object, or a list of them where several were asked for."""
    writers = [CompletionWriter(request, index) for index in range(len(request.turns))]
    ends: dict[int, dict[str, Any]] = {}
    async with closing(events):
        async for item in events:
            index, event = item if isinstance(item, tuple) else (0, item)
            if isinstance(event, RunFailed):
                yield make_error_response(event)
                return
            if isinstance(event, TextDelta):
                writers[index].add_delta(event)
            elif isinstance(event, RunFinished):
                ends[index] = writers[index].format_end(event)
    results = [ends[index] for index in sorted(ends)]
    yield make_full_response(200, encode(results if request.is_list else results[0]))


def format_ranking(request: RerankRequest, scores: list[float], usage: Usage) -> Any:
    """Return the documents by falling relevance, in Jina's shape, or in TEI's for `texts`."""
    texts = request.documents or request.texts or []
    order = sorted(range(len(scores)), key=lambda index: -scores[index])[: request.top_n]
    if not request.documents:
        with_text = bool(request.return_text)
        return [
            {"index": index, "score": scores[index]} | ({"text": texts[index]} if with_text else {}) for index in order
        ]
    results = [
        {"index": index, "relevance_score": scores[index]}
        | ({"document": {"text": texts[index]}} if request.return_documents else {})
        for index in order
    ]
    counts = {"prompt_tokens": usage.input, "total_tokens": usage.input}
    return {"model": request.model or "default", "object": "list", "usage": counts, "results": results}
