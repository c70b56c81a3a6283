"""EventAssembler: turns a model's chunks into events with ids, starts and ends."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Never

from msgspec import Struct

from rightseat.errors import Incomplete, UpstreamGarbled
from rightseat.types import chunks
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.messages import Message, ProviderData, TextMessagePart, ToolCall
from rightseat.types.stores import IdGenerator
from rightseat.types.text import decode_or_none

if TYPE_CHECKING:
    from rightseat.engine.shared_state import StateWriter

# About a million tokens: a longer answer is a runaway model and would exhaust the memory.
MAX_TEXT_CHARS = 4 << 20


class ModelAnswer(Struct, frozen=True):
    """One complete answer of a model."""

    message: Message
    reason: str
    usage: Usage | None
    streamed_calls: frozenset[str]
    """Calls whose events were sent already."""
    unchecked_calls: Mapping[str, bool]
    """Those of them that have no end yet, because nothing guarantees that their arguments are valid, with whether
    arguments were sent."""


def refuse_chunk(chunk: Never) -> Never:
    """Raise for what a model yields that is no ModelChunk: its author has to change it."""
    raise TypeError(f"A model's stream yields chunks such as rightseat.TextChunk, not {type(chunk).__name__}.")


class EventAssembler:
    """Assembles one answer: `push` each chunk, then `finish`, then `build_answer`.

    `client_tools` maps each known tool to whether the client runs it.
    """

    def __init__(self, ids: IdGenerator, client_tools: Mapping[str, bool]) -> None:
        self.ids = ids
        self.client_tools = client_tools
        self.message_id = ids.new_message_id()
        self.open_message: TextStart | ReasoningStart | None = None
        self.texts = io.StringIO()
        self.text_chars = 0
        self.calls: dict[int, ToolCall] = {}
        self.arguments: dict[int, list[str]] = {}
        self.streamed_calls: dict[int, str] = {}
        self.unchecked_calls: dict[str, bool | None] = {}
        """Streamed calls that are to be checked, with whether their arguments are sent; None before the first one."""
        self.state_writer: StateWriter | None = None
        """Shows calls that change the state of the page."""
        self.provider_data: list[ProviderData] = []
        self.reason: str | None = None
        self.report: object = None
        self.usage: Usage | None = None

    def push(self, chunk: ModelChunk) -> list[Event]:
        # Fast path: nearly all chunks continue a text, and `match` costs as much as handling one.
        if isinstance(chunk, TextChunk):
            text, current = chunk.text, self.open_message
            size = self.text_chars + len(text)
            if text and type(current) is TextStart and not current.refusal and size <= MAX_TEXT_CHARS:
                self.text_chars = size
                self.texts.write(text)
                return [TextDelta(current.id, text, chunk.logprobs)]
            return self.add_text(text, False, chunk.logprobs)
        match chunk:
            case chunks.ToolCallArgs(index, json):
                return self.add_call_args(index, json)
            case chunks.ReasoningChunk(text):
                return self.add_reasoning(text)
            case chunks.ToolCallStart(index, name, enforced):
                return self.start_call(index, name, enforced)
            case chunks.RefusalChunk(text):
                return self.add_text(text, True, None)
            case chunks.EventChunk(event):
                return [event]
            case _:
                self.record_chunk(chunk)
                return []

    def record_chunk(self, chunk: chunks.ProviderDataChunk | chunks.UsageChunk | chunks.FinishChunk) -> None:
        match chunk:
            case chunks.ProviderDataChunk(provider, blob):
                self.provider_data.append(ProviderData(provider, blob))
            case chunks.UsageChunk(usage):
                self.usage = usage
            case chunks.FinishChunk(reason, report):
                self.reason, self.report = reason, report
            case _:
                refuse_chunk(chunk)

    def add_text(self, text: str, refusal: bool, logprobs: object) -> list[Event]:
        if not text and logprobs is None:
            return []
        first = not self.text_chars
        self.text_chars += len(text)
        if self.text_chars > MAX_TEXT_CHARS:
            raise UpstreamGarbled(
                "The model's answer exceeded the size limit and was cut off. Ask for a shorter answer."
            )
        self.texts.write(text)
        current = self.open_message
        if type(current) is TextStart and current.refusal == refusal:
            return [TextDelta(current.id, text, logprobs)]
        events = self.close_open_message()
        # The first text gets the message's own id; a later one is another message for doors.
        start = self.open_message = TextStart(self.message_id if first else self.ids.new_message_id(), refusal)
        return [*events, start, TextDelta(start.id, text, logprobs)]

    def add_reasoning(self, text: str) -> list[Event]:
        if not text:
            return []
        if type(self.open_message) is ReasoningStart:
            return [ReasoningDelta(self.open_message.id, text)]
        events = self.close_open_message()
        start = self.open_message = ReasoningStart(self.ids.new_message_id())
        return [*events, start, ReasoningDelta(start.id, text)]

    def start_call(self, index: int, name: str, enforced: bool) -> list[Event]:
        if index in self.calls:
            return []
        call = self.calls[index] = ToolCall(self.ids.new_call_id(), name, "")
        early = "".join(self.arguments.setdefault(index, []))
        # A client shows what it will run as it is written; what the server runs is shown when it is known to be valid,
        # and so are the calls after it.
        is_next = len(self.streamed_calls) == len(self.calls) - 1
        if name not in self.client_tools or not (enforced or (self.client_tools[name] and is_next)):
            return []
        self.streamed_calls[index] = call.id
        if not enforced:
            self.unchecked_calls[call.id] = None
        start = CallStart(call.id, name, self.message_id, self.client_tools[name])
        return [*self.close_open_message(), start, *self.show_call_args(call.id, early)]

    def add_call_args(self, index: int, json: str) -> list[Event]:
        pieces = self.arguments.setdefault(index, [])
        pieces.append(json)
        id = self.streamed_calls.get(index)
        events = self.show_call_args(id, json) if id is not None else []
        if self.state_writer is not None and index in self.calls:
            events += self.state_writer.preview(self.calls[index], pieces)
        return events

    def show_call_args(self, id: str, json: str) -> list[Event]:
        """Return the arguments as an event. Those that nothing enforces are shown if they begin as an object."""
        if id in self.unchecked_calls and self.unchecked_calls[id] is None and (json := json.lstrip()):
            self.unchecked_calls[id] = json.startswith("{")
        return [CallArgs(id, json)] if json and self.unchecked_calls.get(id, True) else []

    def close_open_message(self) -> list[Event]:
        current, self.open_message = self.open_message, None
        if current is None:
            return []
        return [TextEnd(current.id) if isinstance(current, TextStart) else ReasoningEnd(current.id)]

    def finish(self) -> list[Event]:
        if self.reason is None:
            raise Incomplete("The model's answer ended without a finish reason. Try again.")
        ended_ids = {call.id for call in self.list_complete_calls()} - self.unchecked_calls.keys()
        return [*self.close_open_message(), *(CallEnd(id) for id in self.streamed_calls.values() if id in ended_ids)]

    def list_complete_calls(self) -> list[ToolCall]:
        """List the calls of the answer. One that the token limit cut has those before the cut, where a client runs
        one of them: the turn then goes on with its result. A filtered answer has none."""
        calls = [
            ToolCall(call.id, call.name, "".join(self.arguments[index])) for index, call in sorted(self.calls.items())
        ]
        if self.reason in ("stop", "calls"):
            return calls
        if self.reason != "length":
            return []
        complete = [call for call, _ in itertools.takewhile(is_complete_call, itertools.zip_longest(calls, calls[1:]))]
        return complete if any(self.client_tools.get(call.name) for call in complete) else []

    def build_answer(self) -> ModelAnswer:
        text = self.texts.getvalue()
        message = Message(
            "assistant",
            (TextMessagePart(text),) if text else (),
            tuple(self.list_complete_calls()),
            id=self.message_id,
            opaque=tuple(self.provider_data),
        )
        unchecked = {id: bool(is_sent) for id, is_sent in self.unchecked_calls.items()}
        return ModelAnswer(message, self.reason or "", self.usage, frozenset(self.streamed_calls.values()), unchecked)


def is_complete_call(pair: tuple[ToolCall, ToolCall | None]) -> bool:
    """Whether the first call of the pair is complete, in an answer that was cut; the second is the one after it."""
    call, next_call = pair
    if not call.arguments.strip():
        return next_call is not None
    return isinstance(decode_or_none(call.arguments), dict)
