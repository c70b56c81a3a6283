"""Responses API payloads → ModelChunks, without I/O."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from rightseat.models._vendor.chat_parser import UpstreamTokenDetails
from rightseat.models._vendor.errors import find_error
from rightseat.models._vendor.parser import FinishReason, StreamParser
from rightseat.models.openai.errors import ERRORS
from rightseat.models.openai.request import RESPONSES_PROVIDER, make_reasoning_blob
from rightseat.types.chunks import (
    ModelChunk,
    ProviderDataChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
)
from rightseat.types.events import Usage

_INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class UpstreamResponseUsage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: UpstreamTokenDetails | None = None


class UpstreamResponse(Struct):
    """The whole response, as in the last event."""

    status: str | None = None
    output: list[dict[str, Any]] | None = None
    usage: UpstreamResponseUsage | None = None
    error: Any = None
    incomplete_details: dict[str, Any] | None = None


class UpstreamResponseEvent(Struct, gc=False):
    """Any stream event, distinguished by `type`; every other field may be missing."""

    type: str | None = None
    delta: Any = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    arguments: str | None = None
    item: dict[str, Any] | None = None
    response: UpstreamResponse | None = None
    error: Any = None
    code: Any = None
    object: str | None = None


_EVENT_DECODER = Decoder(UpstreamResponseEvent)
_RESPONSE_DECODER = Decoder(UpstreamResponse)


class ResponsesStreamParser(StreamParser):
    """Parses one answer. `enforced`: tools whose arguments the server guarantees to fit their schema."""

    errors = ERRORS
    thought_splitter = None
    event_name = "a response"
    last_was_text = False
    """Always False: each event has a sequence number, so the fast path cannot apply."""

    def __init__(self, enforced: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._enforced = enforced
        self._calls: dict[int, int] = {}
        self._indexes_with_arguments: set[int] = set()
        self._indexes_with_text: set[int] = set()
        self._reasoning_position: tuple[int | None, int | None] | None = None
        self._finish: FinishReason | None = None

    def feed(self, payload: bytes) -> list[ModelChunk]:
        if self.done or payload == b"[DONE]" or not payload.strip():
            return []
        event = self._decode(payload, _EVENT_DECODER)
        if event.type is None and event.object == "response":
            return self._parse_whole(self._decode(payload, _RESPONSE_DECODER))
        return self._handle_event(event, payload)

    def finish(self) -> list[ModelChunk]:
        if self._finish is None:
            raise ERRORS.incomplete_stream()
        return self._end_answer("calls" if self._finish == "stop" and self._calls else self._finish)

    def _handle_event(self, event: UpstreamResponseEvent, payload: bytes) -> list[ModelChunk]:
        index = event.output_index or 0
        match event.type:
            case "response.output_text.delta" if isinstance(event.delta, str):
                self._indexes_with_text.add(index)
                return [TextChunk(event.delta)] if event.delta else []
            case "response.refusal.delta" if isinstance(event.delta, str):
                self._indexes_with_text.add(index)
                return [RefusalChunk(event.delta)]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._add_reasoning(event)
            case "response.function_call_arguments.delta":
                return self._add_arguments(index, event.delta)
            case "response.function_call_arguments.done":
                return self._add_arguments(index, event.arguments, whole=True)
            case "response.output_item.added" if event.item is not None:
                return self._open_call(event.item, index)
            case "response.output_item.done" if event.item is not None:
                return self._finish_item(event.item, index)
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                return self._finish_response(event.response or UpstreamResponse())
            case "error" | None:
                raise ERRORS.from_payload(event.error or find_error(payload))
            case _:
                return []

    def _add_reasoning(self, event: UpstreamResponseEvent) -> list[ModelChunk]:
        """Return a reasoning chunk; each summary part starts a new paragraph."""
        position = (event.output_index, event.summary_index or event.content_index)
        new_paragraph, self._reasoning_position = self._reasoning_position not in (None, position), position
        if not isinstance(event.delta, str) or not event.delta:
            return []
        return [ReasoningChunk(f"\n\n{event.delta}" if new_paragraph else event.delta)]

    def _open_call(self, item: dict[str, Any], index: int) -> list[ModelChunk]:
        if item.get("type") != "function_call" or index in self._calls:
            return []
        name = item.get("name")
        if not isinstance(name, str) or not name:
            raise ERRORS.invalid_response("a call without a name")
        number = self._calls[index] = len(self._calls)
        return [ToolCallStart(number, name, name in self._enforced)]

    def _add_arguments(self, index: int, arguments: object, *, whole: bool = False) -> list[ModelChunk]:
        """Return a piece of arguments. `whole`: it repeats all pieces, so it counts only if none has come."""
        if index not in self._calls:
            raise ERRORS.invalid_response("arguments of no call")
        if not isinstance(arguments, str) or not arguments or (whole and index in self._indexes_with_arguments):
            return []
        self._indexes_with_arguments.add(index)
        return [ToolCallArgs(self._calls[index], arguments)]

    def _finish_item(self, item: dict[str, Any], index: int) -> list[ModelChunk]:
        """Return the chunks of a finished item that were not streamed as deltas."""
        match item.get("type"):
            case "reasoning":
                blob = make_reasoning_blob(item, said=bool(self._indexes_with_text), calls=len(self._calls))
                return [] if blob is None else [ProviderDataChunk(RESPONSES_PROVIDER, blob)]
            case "function_call":
                return self._open_call(item, index) + self._add_arguments(index, item.get("arguments"), whole=True)
            case "message" if index not in self._indexes_with_text:
                self._indexes_with_text.add(index)
                return _parse_message_item(item)
            case _:
                return []

    def _finish_response(self, response: UpstreamResponse) -> list[ModelChunk]:
        self.done = True
        if response.error or response.status in ("failed", "cancelled"):
            raise ERRORS.from_payload(response.error or {})
        if (usage := response.usage) is not None:
            details = usage.input_tokens_details
            cached = (details.cached_tokens if details else None) or 0
            self._usage = Usage(usage.input_tokens or 0, usage.output_tokens or 0, cached)
        reason = (response.incomplete_details or {}).get("reason")
        if reason is not None or response.status == "incomplete":
            self._finish = _INCOMPLETE.get(str(reason), "length")
        else:
            self._finish = "stop"
        return []

    def _parse_whole(self, response: UpstreamResponse) -> list[ModelChunk]:
        """Parse the response of a server that does not stream."""
        out = [
            fragment for index, item in enumerate(response.output or []) for fragment in self._finish_item(item, index)
        ]
        return out + self._finish_response(response)


def _parse_message_item(item: dict[str, Any]) -> list[ModelChunk]:
    out: list[ModelChunk] = []
    content = item.get("content")
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "output_text", "text": str(text)} if text:
                out.append(TextChunk(text))
            case {"type": "refusal", "refusal": str(text)} if text:
                out.append(RefusalChunk(text))
            case _:
                pass
    return out
