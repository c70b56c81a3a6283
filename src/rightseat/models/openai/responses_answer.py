"""Responses API payloads → ModelChunks, without I/O."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from rightseat.errors import UpstreamGarbled
from rightseat.models.openai import faults
from rightseat.models.openai.answer import Reason
from rightseat.models.openai.responses_body import PROVIDER, thought
from rightseat.types.chunks import (
    CallArgs,
    CallName,
    Finish,
    Fragment,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    Used,
)
from rightseat.types.events import Usage

_INCOMPLETE: dict[str, Reason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class Details(Struct, gc=False):
    cached_tokens: int | None = None


class Counted(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: Details | None = None


class Reply(Struct):
    """The whole response, as in the last event."""

    status: str | None = None
    output: list[dict[str, Any]] | None = None
    usage: Counted | None = None
    error: Any = None
    incomplete_details: dict[str, Any] | None = None


class Happening(Struct, gc=False):
    """Any stream event, distinguished by `type`; every other field may be missing."""

    type: str | None = None
    delta: Any = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    arguments: str | None = None
    item: dict[str, Any] | None = None
    response: Reply | None = None
    error: Any = None
    code: Any = None
    object: str | None = None


_HAPPENING = msgspec.json.Decoder(Happening)
_REPLY = msgspec.json.Decoder(Reply)


class ResponsesAnswer:
    """Parses one answer. `enforced`: tools whose arguments the server guarantees to fit their schema."""

    plain = False
    """Always False: each event has a sequence number, so the fast path cannot apply."""

    def __init__(self, enforced: frozenset[str] = frozenset()) -> None:
        self._enforced = enforced
        self._calls: dict[int, int] = {}
        self._argued: set[int] = set()
        self._spoken: set[int] = set()
        self._thought: tuple[int | None, int | None] | None = None
        self._finish: Reason | None = None
        self._usage: Usage | None = None
        self.done = False

    @property
    def finished(self) -> bool:
        return self.done

    def feed(self, payload: bytes) -> list[Fragment]:
        if self.done:
            return []
        if payload == b"[DONE]":
            return []
        try:
            found = _HAPPENING.decode(payload)
            if found.type is None and found.object == "response":
                return self._whole(_REPLY.decode(payload))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if not payload.strip():
                return []
            raise faults.garbled("not the JSON of a response") from error
        except RecursionError:
            raise faults.garbled("JSON that is too deep") from None
        return self._told(found, payload)

    def tail(self, payload: bytes) -> list[Fragment]:
        """Parse an event that the end of the stream left open; raise Incomplete if it is truncated."""
        try:
            return self.feed(payload)
        except UpstreamGarbled as error:
            raise faults.incomplete() from error

    def end(self) -> list[Fragment]:
        """Return the closing chunks. Raises Incomplete unless the server has ended the response."""
        if self._finish is None:
            raise faults.incomplete()
        used: list[Fragment] = [] if self._usage is None else [Used(self._usage)]
        reason = self._finish
        return [*used, Finish("calls" if reason == "stop" and self._calls else reason)]

    def _told(self, found: Happening, payload: bytes) -> list[Fragment]:
        match found.type:
            case "response.output_text.delta" if isinstance(found.delta, str):
                self._spoken.add(found.output_index or 0)
                return [Text(found.delta)] if found.delta else []
            case "response.refusal.delta" if isinstance(found.delta, str):
                self._spoken.add(found.output_index or 0)
                return [Refusal(found.delta)]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._thinks(found)
            case "response.function_call_arguments.delta" | "response.function_call_arguments.done":
                return self._argues(found)
            case "response.output_item.added" if found.item is not None:
                return self._opened(found.item, found.output_index or 0)
            case "response.output_item.done" if found.item is not None:
                return self._item(found.item, found.output_index or 0)
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                return self._ended(found.response or Reply())
            case "error" | None:
                raise faults.of_payload(found.error or faults.error_of(payload))
            case _:
                return []

    def _thinks(self, found: Happening) -> list[Fragment]:
        """Return a reasoning chunk; each summary part starts a new paragraph."""
        place = (found.output_index, found.summary_index or found.content_index)
        begins, self._thought = self._thought not in (None, place), place
        if not isinstance(found.delta, str) or not found.delta:
            return []
        return [Reasoning(f"\n\n{found.delta}" if begins else found.delta)]

    def _opened(self, item: dict[str, Any], index: int) -> list[Fragment]:
        if item.get("type") != "function_call" or index in self._calls:
            return []
        name = item.get("name")
        if not isinstance(name, str) or not name:
            raise faults.garbled("a call without a name")
        number = self._calls[index] = len(self._calls)
        return [CallName(number, name, name in self._enforced)]

    def _argues(self, found: Happening) -> list[Fragment]:
        index = found.output_index or 0
        number = self._calls.get(index)
        if number is None:
            raise faults.garbled("arguments of no call")
        if found.type == "response.function_call_arguments.delta":
            given = found.delta if isinstance(found.delta, str) else ""
        else:
            # `done` repeats the whole arguments: use them only if no delta came.
            given = "" if index in self._argued else found.arguments or ""
        if not given:
            return []
        self._argued.add(index)
        return [CallArgs(number, given)]

    def _item(self, item: dict[str, Any], index: int) -> list[Fragment]:
        """Return the chunks of a finished item that were not streamed as deltas."""
        match item.get("type"):
            case "reasoning":
                kept = thought(item, said=bool(self._spoken), calls=len(self._calls))
                return [] if kept is None else [Opaque(PROVIDER, kept)]
            case "function_call":
                out = self._opened(item, index)
                arguments = item.get("arguments")
                if index not in self._argued and isinstance(arguments, str) and arguments:
                    self._argued.add(index)
                    out.append(CallArgs(self._calls[index], arguments))
                return out
            case "message" if index not in self._spoken:
                self._spoken.add(index)
                return _said(item)
            case _:
                return []

    def _ended(self, reply: Reply) -> list[Fragment]:
        self.done = True
        if reply.error or reply.status in ("failed", "cancelled"):
            raise faults.of_payload(reply.error or {})
        if (usage := reply.usage) is not None:
            details = usage.input_tokens_details
            cached = (details.cached_tokens if details else None) or 0
            self._usage = Usage(usage.input_tokens or 0, usage.output_tokens or 0, cached)
        why = (reply.incomplete_details or {}).get("reason")
        if why is not None or reply.status == "incomplete":
            self._finish = _INCOMPLETE.get(str(why), "length")
        else:
            self._finish = "stop"
        return []

    def _whole(self, reply: Reply) -> list[Fragment]:
        """Parse the response of a server that does not stream."""
        out = [
            fragment for index, item in enumerate(reply.output or []) for fragment in self._item(item, index)
        ]
        return out + self._ended(reply)


def _said(item: dict[str, Any]) -> list[Fragment]:
    out: list[Fragment] = []
    content = item.get("content")
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "output_text", "text": str(text)} if text:
                out.append(Text(text))
            case {"type": "refusal", "refusal": str(text)} if text:
                out.append(Refusal(text))
            case _:
                pass
    return out
