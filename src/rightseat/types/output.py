"""The output of a run: its events with the deltas of each text and each call joined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Interrupt,
    ReasoningDelta,
    TextDelta,
    TextStart,
)
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.threads import ThreadEntry, UserInput


@dataclass(slots=True)
class OutputText:
    id: str
    refusal: bool = False
    pieces: list[str] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class OutputCall:
    start: CallStart
    pieces: list[str] = field(default_factory=list)
    ended: bool = False
    """False for a truncated call, which nobody may execute."""

    def add_event(self, event: CallArgs | CallEnd | CallResult) -> None:
        match event:
            case CallArgs(_, json):
                self.pieces.append(json)
            case CallResult() if not self.ended:
                # It proved invalid: no client runs it.
                self.start, self.ended = replace(self.start, client=False), True
            case _:
                self.ended = True

    @property
    def call(self) -> ToolCall:
        return ToolCall(self.start.id, self.start.name, "".join(self.pieces))


OutputItem = OutputText | OutputCall | CallResult | UserInput


class RunOutput:
    """Folds events, or the entries of a stored thread, into items in the order in which they began."""

    def __init__(self, entries: Iterable[ThreadEntry] = ()) -> None:
        self.items: list[OutputItem] = []
        self.reasoning: list[str] = []
        self.interrupts: list[Interrupt] = []
        self.texts: dict[str, OutputText] = {}
        self.calls: dict[str, OutputCall] = {}
        for entry in entries:
            self.add_event(entry)

    def add_event(self, event: ThreadEntry) -> None:
        if type(event) is TextDelta:
            # Fast path: nearly all events are text deltas.
            text = self.texts.get(event.id) or self.start_text(TextStart(event.id))
            text.pieces.append(event.text)
            if event.logprobs:
                text.logprobs += event.logprobs.get("content") or []
            return
        match event:
            case TextStart():
                self.start_text(event)
            case ReasoningDelta(_, thought):
                self.reasoning.append(thought)
            case CallStart(id):
                self.calls[id] = call = OutputCall(event)
                self.items.append(call)
            case CallArgs(id) | CallEnd(id) | CallResult(id):
                self.add_call_event(event)
            case UserInput():
                self.items.append(event)
            case Interrupt():
                self.interrupts.append(event)
            case _:
                pass

    def add_call_event(self, event: CallArgs | CallEnd | CallResult) -> None:
        if event.id in self.calls:
            self.calls[event.id].add_event(event)
        if isinstance(event, CallResult):
            self.items.append(event)

    def start_text(self, start: TextStart) -> OutputText:
        self.texts[start.id] = text = OutputText(start.id, start.refusal)
        self.items.append(text)
        return text

    def join_texts(self, *, refusal: bool | None = None) -> str:
        """Join the texts, or only those that are a refusal or are none, with a blank line between them."""
        texts = (text for text in self.items if isinstance(text, OutputText))
        chosen = (text.text for text in texts if refusal is None or text.refusal == refusal)
        return "\n\n".join(text for text in chosen if text)

    @property
    def ended_calls(self) -> list[OutputCall]:
        return [item for item in self.items if isinstance(item, OutputCall) and item.ended]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The output as messages, one for each text, call and result."""
        return tuple(message for item in self.items for message in make_messages(item))


def make_messages(item: OutputItem) -> tuple[Message, ...]:
    match item:
        case OutputText(id):
            return (text_message("assistant", item.text, id=id),) if item.text else ()
        case OutputCall(ended=True):
            call = item.call
            return (Message("assistant", calls=(ToolCall(call.id, call.name, call.arguments or "{}"),)),)
        case CallResult(id, content):
            return (text_message("tool", content, call_id=id),)
        case UserInput(messages):
            return messages
        case _:
            return ()
