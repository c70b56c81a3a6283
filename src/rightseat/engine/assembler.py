"""EventAssembler: turns a model's chunks into events with ids, starts and ends."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct

from rightseat.errors import Incomplete, UpstreamGarbled
from rightseat.types import chunks as fragments
from rightseat.types.chunks import Fragment
from rightseat.types.chunks import Text as Words
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
from rightseat.types.messages import Call, Message, Opaque, Text
from rightseat.types.stores import Ids

# About a million tokens: a longer answer is a runaway model and would exhaust the memory.
MAX_TEXT = 4 << 20


class Answered(Struct, frozen=True):
    """One complete answer of a model. `streamed_calls`: ids of calls whose events were sent already."""

    message: Message
    reason: str
    usage: Usage | None
    shown: frozenset[str]


def spoken(id: str, text: str) -> list[Event]:
    """Return the three events of a complete text."""
    return [TextStart(id), TextDelta(id, text), TextEnd(id)]


class Assembly:
    """Assembles one answer: `push` each chunk, then `finish`, then `build_answer`.

    `client_tools` maps each known tool to whether the client runs it.
    """

    def __init__(self, ids: Ids, clients: Mapping[str, bool]) -> None:
        self.ids = ids
        self.clients = clients
        self.message = ids.message()
        self.open: TextStart | ReasoningStart | None = None
        self.texts = io.StringIO()
        self.size = 0
        self.calls: dict[int, Call] = {}
        self.arguments: dict[int, list[str]] = {}
        self.streamed: dict[int, str] = {}
        self.opaque: list[Opaque] = []
        self.reason: str | None = None
        self.usage: Usage | None = None

    def take(self, fragment: Fragment) -> list[Event]:
        # Fast path: nearly all chunks continue a text, and `match` costs as much as handling one.
        if isinstance(fragment, Words):
            text, current = fragment.text, self.open
            size = self.size + len(text)
            if text and type(current) is TextStart and not current.refusal and size <= MAX_TEXT:
                self.size = size
                self.texts.write(text)
                return [TextDelta(current.id, text, fragment.logprobs)]
            return self.text(text, False, fragment.logprobs)
        match fragment:
            case fragments.CallArgs(index, json):
                return self.args(index, json)
            case fragments.Reasoning(text):
                return self.reasoning(text)
            case fragments.CallName(index, name, enforced):
                return self.call(index, name, enforced)
            case fragments.Refusal(text):
                return self.text(text, True, None)
            case fragments.Opaque(provider, blob):
                self.opaque.append(Opaque(provider, blob))
            case fragments.Used(usage):
                self.usage = usage
            case fragments.Finish(reason):
                self.reason = reason
            case _:
                assert_never(fragment)
        return []

    def text(self, text: str, refusal: bool, logprobs: object) -> list[Event]:
        if not text and logprobs is None:
            return []
        first = not self.size
        self.size += len(text)
        if self.size > MAX_TEXT:
            raise UpstreamGarbled("The model did not stop talking and was cut off. Ask for less.")
        self.texts.write(text)
        current = self.open
        if type(current) is TextStart and current.refusal == refusal:
            return [TextDelta(current.id, text, logprobs)]
        events = self.shut()
        # The first text gets the message's own id; a later one is another message for doors.
        start = TextStart(self.message if first else self.ids.message(), refusal)
        self.open = start
        return [*events, start, TextDelta(start.id, text, logprobs)]

    def reasoning(self, text: str) -> list[Event]:
        if not text:
            return []
        if type(self.open) is ReasoningStart:
            return [ReasoningDelta(self.open.id, text)]
        events = self.shut()
        start = ReasoningStart(self.ids.message())
        self.open = start
        return [*events, start, ReasoningDelta(start.id, text)]

    def call(self, index: int, name: str, enforced: bool) -> list[Event]:
        if index in self.calls:
            return []
        call = self.calls[index] = Call(self.ids.call(), name, "")
        early = "".join(self.arguments.setdefault(index, []))
        if not (enforced and name in self.clients):
            return []
        self.streamed[index] = call.id
        start = CallStart(call.id, name, self.message, self.clients[name])
        return [*self.shut(), start, *([CallArgs(call.id, early)] if early else [])]

    def args(self, index: int, json: str) -> list[Event]:
        self.arguments.setdefault(index, []).append(json)
        id = self.streamed.get(index)
        return [CallArgs(id, json)] if id is not None and json else []

    def shut(self) -> list[Event]:
        current, self.open = self.open, None
        if current is None:
            return []
        return [TextEnd(current.id) if isinstance(current, TextStart) else ReasoningEnd(current.id)]

    def end(self) -> list[Event]:
        if self.reason is None:
            raise Incomplete("The model's answer ended without saying why. Try again.")
        ends: list[Event] = self.shut()
        if self.whole:
            ends += [CallEnd(id) for id in self.streamed.values()]
        return ends

    @property
    def whole(self) -> bool:
        """Whether the answer is complete. A truncated answer has no calls: the last may be partial."""
        return self.reason in ("stop", "calls")

    def answered(self) -> Answered:
        calls = tuple(
            Call(call.id, call.name, "".join(self.arguments[index]))
            for index, call in sorted(self.calls.items())
        )
        text = self.texts.getvalue()
        message = Message(
            "assistant",
            (Text(text),) if text else (),
            calls if self.whole else (),
            id=self.message,
            opaque=tuple(self.opaque),
        )
        return Answered(message, self.reason or "", self.usage, frozenset(self.streamed.values()))


class Opened:
    """Tracks the open messages of a run, so that a failure can end them for the front end."""

    def __init__(self) -> None:
        self.ids: dict[str, type[TextEnd] | type[ReasoningEnd]] = {}

    def see(self, event: Event) -> None:
        match event:
            case TextStart(id):
                self.ids[id] = TextEnd
            case ReasoningStart(id):
                self.ids[id] = ReasoningEnd
            case TextEnd(id) | ReasoningEnd(id):
                self.ids.pop(id, None)
            case _:
                pass

    def ends(self) -> list[Event]:
        return [end(id) for id, end in self.ids.items()]
