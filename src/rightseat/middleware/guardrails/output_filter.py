"""Output filter: checks the texts, reasoning and calls of an answer while it streams."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.errors import OutputGuarded
from rightseat.middleware.guardrails.matchers import RuleViolation
from rightseat.middleware.guardrails.personal_data import get_personal_data_finder
from rightseat.middleware.guardrails.rules import GuardrailPolicy, TextPiece, TextStreamFilter, apply_checks
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    OpenMessageTracker,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFinished,
    StateDelta,
    StateSnapshot,
    SubRunEvent,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
    text_events,
)
from rightseat.types.json_values import encode_json
from rightseat.types.stores import IdGenerator
from rightseat.types.streams import closing
from rightseat.types.turn import Turn
from rightseat.types.workers import INLINE_SIZE, run_sized

log = logging.getLogger(__name__)
PARAGRAPH = "\n\n"
PIECE_COST = 4
"""How much more a character of a stream costs than one of a whole text: the end of each piece may become a match."""


def has_output_rules(guard: GuardrailPolicy) -> bool:
    return bool(guard.output or guard.untrusted.redacted) or has_output_checks(guard)


def has_output_checks(guard: GuardrailPolicy) -> bool:
    return any("output" in check.directions for check in guard.checks)


async def stream_filtered(events: AsyncIterator[Event], guard: GuardrailPolicy, turn: Turn) -> AsyncIterator[Event]:
    output = OutputFilter(guard, turn)
    async with closing(events):
        async for event in events:
            try:
                if type(event) is TextDelta and len(event.text) * PIECE_COST <= INLINE_SIZE:
                    for piece in output.filter_text(event):
                        yield TextDelta(event.id, piece.text, piece.logprobs)
                    continue
                for part in await output.filter_event(event):
                    yield part
            except RuleViolation as violation:
                for part in output.stop_answer(violation):
                    yield part
                return


class OutputFilter:
    """Filter of one run's events."""

    def __init__(self, guard: GuardrailPolicy, turn: Turn) -> None:
        self.guard = guard
        self.turn = turn
        self.has_checks = has_output_checks(guard)
        self.filters: dict[str, TextStreamFilter] = {}
        self.buffered: dict[str, list[str]] = {}
        """Texts that a validator must check as a whole before any of them is emitted."""
        self.calls: dict[str, list[Event]] = {}
        self.open_items = OpenMessageTracker()
        self.nested: dict[str, OutputFilter] = {}
        """Filters of nested runs, by run id."""
        self.current_text_id = ""
        """The open text that was last continued; `has_output` tells whether any of it was emitted."""
        self.has_output = False

    def filter_text(self, event: TextDelta) -> list[TextPiece]:
        self.current_text_id = event.id
        if event.id not in self.filters:
            self.start_text(event.id, buffer=self.has_checks)
        pieces = self.filters[event.id].feed(TextPiece(event.text, event.logprobs))
        if event.id in self.buffered:
            self.buffered[event.id] += [piece.text for piece in pieces]
            return []
        self.has_output = self.has_output or bool(pieces)
        return pieces

    async def filter_event(self, event: Event) -> list[Event]:
        if isinstance(event, TextDelta):
            pieces = await run_sized(len(event.text) * PIECE_COST, self.filter_text, event)
            return [TextDelta(event.id, piece.text, piece.logprobs) for piece in pieces]
        return await self.filter_other_event(event)

    async def filter_other_event(self, event: Event) -> list[Event]:
        match event:
            case TextStart(id):
                self.current_text_id, self.has_output = id, False
                self.start_text(id, buffer=self.has_checks)
            case ReasoningStart(id):
                self.start_text(id)
            case ReasoningDelta(id, text):
                self.current_text_id = ""
                if id not in self.filters:
                    self.start_text(id)
                pieces = await run_sized(len(text) * PIECE_COST, self.filters[id].feed, TextPiece(text))
                return [ReasoningDelta(id, piece.text) for piece in pieces]
            case TextEnd(id) | ReasoningEnd(id):
                rest = await self.end_text(id) if isinstance(event, TextEnd) else self.end_reasoning(id)
                self.open_items.track(event)
                return [*rest, event]
            case RunFinished():
                return [*await self.flush(), event]
            case CallStart() | CallArgs() | CallEnd() | CallResult():
                return await self.filter_call_event(event)
            case SubRunEvent(run, event=inside):
                self.current_text_id = ""
                answer = self.nested.setdefault(run, OutputFilter(self.guard, self.turn))
                return [replace(event, event=part) for part in await answer.filter_event(inside)]
            case Suggestions() | StateDelta() | StateSnapshot():
                return self.filter_side_event(event)
            case _:
                pass
        self.open_items.track(event)
        return [event]

    async def filter_call_event(self, event: CallStart | CallArgs | CallEnd | CallResult) -> list[Event]:
        size = self.measure_call(event.id) if isinstance(event, CallEnd | CallResult) else 0
        if not isinstance(event, CallResult):
            return await run_sized(size, self.hold_call, event)
        # A call that proved invalid has no end, and is held until here.
        held = await run_sized(size, self.release_call, event.id) if event.id in self.calls else []
        return [*held, *await run_sized(len(event.content), self.filter_side_event, event)]

    def filter_side_event(self, event: Suggestions | CallResult | StateDelta | StateSnapshot) -> list[Event]:
        if isinstance(event, StateDelta | StateSnapshot):
            if self.guard.output:
                self.check_json(encode_json(event.patch if isinstance(event, StateDelta) else event.state).decode())
            return [event]
        if isinstance(event, Suggestions):
            # A model may have written suggestions: drop the denied ones.
            prompts = tuple(prompt for prompt in event.prompts if not self.guard.output.find_denied(prompt))
            return [Suggestions(prompts)] if prompts else []
        if not (kinds := self.guard.untrusted.redacted):
            return [event]
        return [CallResult(event.id, get_personal_data_finder(kinds).redact(event.content), event.failed)]

    def start_text(self, id: str, *, buffer: bool = False) -> None:
        self.filters[id] = self.guard.output.make_filter()
        if buffer:
            self.buffered[id] = []

    async def flush(self) -> list[Event]:
        """Return what is held at the run's end: the rest of open texts, and the start of truncated calls."""
        texts = [id for id, end in self.open_items.ids.items() if end is TextEnd]
        rest = [part for id in texts for part in await self.end_text(id)]
        return [*rest, *(held[0] for held in self.calls.values())]

    def end_reasoning(self, id: str) -> list[Event]:
        screen = self.filters.pop(id, None)
        return [ReasoningDelta(id, piece.text) for piece in screen.close()] if screen else []

    async def end_text(self, id: str) -> list[Event]:
        """Return the held rest of a text, or the whole text after the validators have checked it."""
        self.current_text_id = id
        pieces = self.filters[id].close() if id in self.filters else []
        if id not in self.buffered:
            self.filters.pop(id, None)
            return [TextDelta(id, piece.text, piece.logprobs) for piece in pieces]
        text = "".join([*self.buffered.pop(id), *(piece.text for piece in pieces)])
        text = await apply_checks(self.guard.checks, text, "output", self.turn)
        del self.filters[id]
        return [TextDelta(id, text)] if text else []

    def hold_call(self, event: CallStart | CallArgs | CallEnd) -> list[Event]:
        """Hold a call until it is complete: JSON escapes could hide denied words."""
        if not self.guard.output:
            return [event]
        self.calls.setdefault(event.id, []).append(event)
        return self.release_call(event.id) if isinstance(event, CallEnd) else []

    def measure_call(self, id: str) -> int:
        return sum(len(part.json) for part in self.calls.get(id, ()) if isinstance(part, CallArgs))

    def release_call(self, id: str) -> list[Event]:
        """Return the events of a held call after a check of its arguments."""
        held = self.calls.pop(id)
        arguments = "".join(part.json for part in held if isinstance(part, CallArgs))
        self.check_json(arguments)
        return held

    def check_json(self, json: str) -> None:
        for text in iterate_json_texts(json):
            if problem := self.guard.output.find_denied(text):
                raise RuleViolation(problem)

    def stop_answer(self, violation: RuleViolation) -> Iterator[Event]:
        """Yield the end of a stopped answer, with the replacement text, or raise OutputGuarded."""
        log.info("a guardrail stopped an answer: %s", violation.kind)
        id = self.current_text_id
        if id in self.filters and id not in self.buffered:
            pieces = self.filters[id].release_before(violation)
            yield from (TextDelta(id, piece.text) for piece in pieces)
            self.has_output = self.has_output or bool(pieces)
        if not self.guard.replacement:
            language = self.turn.get_language()
            raise OutputGuarded(self.guard.format_refusal("output", violation.kind, language, violation.reason))
        if id in self.filters:
            yield TextDelta(id, (PARAGRAPH if self.has_output else "") + self.guard.replacement)
            yield from self.open_items.end_events()
        else:
            yield from self.open_items.end_events()
            yield from text_events(IdGenerator().new_message_id(), self.guard.replacement)
        yield RunFinished("stop")


def iterate_json_texts(text: str) -> Iterator[str]:
    """Yield all texts, keys and numbers of a JSON text, or the text itself if it is no JSON."""
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        yield text
        return
    stack: list[Any] = [value]
    while stack:
        match stack.pop():
            case str(item):
                yield item
            case dict(item):
                stack += [*item, *item.values()]
            case list(item):
                stack += item
            case int(item) | float(item) if not isinstance(item, bool):
                yield str(item)
            case _:
                pass
