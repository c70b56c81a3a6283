"""Output filter: checks the texts, reasoning and calls of an answer while it streams."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.engine.assembler import Opened, spoken
from rightseat.errors import OutputGuarded
from rightseat.middleware.guardrails.redact import personal
from rightseat.middleware.guardrails.rules import Guard
from rightseat.middleware.guardrails.screen import Piece, Screen
from rightseat.middleware.guardrails.verdict import UNCHECKED, Check, Refuse, Replace
from rightseat.middleware.guardrails.words import Found
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    Nested,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFinished,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.stores import Ids
from rightseat.types.streams import closing
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
PARAGRAPH = "\n\n"


def speaks(guard: Guard) -> bool:
    """Whether the policy has rules for answers."""
    checks = any("output" in check.directions for check in guard.checks)
    return bool(guard.output) or checks or bool(guard.untrusted.redacted)


async def screened(events: AsyncIterator[Event], guard: Guard, turn: Turn) -> AsyncIterator[Event]:
    answer = Answer(guard, turn)
    async with closing(events):
        async for event in events:
            try:
                if type(event) is TextDelta:
                    for piece in answer.said(event):
                        yield TextDelta(event.id, piece.text, piece.logprobs)
                    continue
                for part in await answer.happened(event):
                    yield part
            except Found as found:
                for part in answer.ended(found):
                    yield part
                return


class Answer:
    """Filter of one run's events."""

    def __init__(self, guard: Guard, turn: Turn) -> None:
        self.guard = guard
        self.turn = turn
        self.checks: tuple[Check, ...] = tuple(c for c in guard.checks if "output" in c.directions)
        self.screens: dict[str, Screen] = {}
        self.whole: dict[str, list[str]] = {}
        """Texts that a validator must check as a whole before any of them is emitted."""
        self.calls: dict[str, list[Event]] = {}
        self.opened = Opened()
        self.inner: dict[str, Answer] = {}
        """Filters of nested runs, by run id."""
        self.current = ""
        """The open text that was last continued; `has_output` tells whether any of it was emitted."""
        self.spoke = False
        self.reason = ""

    def said(self, event: TextDelta) -> list[Piece]:
        self.current = event.id
        if event.id not in self.screens:
            self.begin(event.id, self.checks)
        pieces = self.screens[event.id].feed(Piece(event.text, event.logprobs))
        if event.id in self.whole:
            self.whole[event.id] += [piece.text for piece in pieces]
            return []
        self.spoke = self.spoke or bool(pieces)
        return pieces

    async def any(self, event: Event) -> list[Event]:
        if isinstance(event, TextDelta):
            return [TextDelta(event.id, piece.text, piece.logprobs) for piece in self.said(event)]
        return await self.happened(event)

    async def happened(self, event: Event) -> list[Event]:
        match event:
            case TextStart(id):
                self.current, self.spoke = id, False
                self.begin(id, self.checks)
            case ReasoningStart(id):
                self.begin(id, ())
            case ReasoningDelta(id, text):
                self.current = ""
                if id not in self.screens:
                    self.begin(id, ())
                return [ReasoningDelta(id, piece.text) for piece in self.screens[id].feed(Piece(text))]
            case TextEnd(id) | ReasoningEnd(id):
                rest = await self.rest(id) if isinstance(event, TextEnd) else self.thought(id)
                self.opened.see(event)
                return [*rest, event]
            case RunFinished():
                return [*await self.left(), event]
            case CallStart() | CallArgs() | CallEnd():
                return self.called(event)
            case Nested(run, event=inside):
                self.current = ""
                answer = self.inner.setdefault(run, Answer(self.guard, self.turn))
                return [replace(event, event=part) for part in await answer.any(inside)]
            case Suggestions() | CallResult():
                return self.beside(event)
            case _:
                pass
        self.opened.see(event)
        return [event]

    def beside(self, event: Suggestions | CallResult) -> list[Event]:
        if isinstance(event, Suggestions):
            # A model may have written suggestions: drop the denied ones.
            kept = tuple(prompt for prompt in event.prompts if not self.guard.output.denied(prompt))
            return [Suggestions(kept)] if kept else []
        if not (kinds := self.guard.untrusted.redacted):
            return [event]
        return [CallResult(event.id, personal(kinds).redacted(event.content), event.failed)]

    def begin(self, id: str, checks: tuple[Check, ...]) -> None:
        self.screens[id] = self.guard.output.screen()
        if checks:
            self.whole[id] = []

    async def left(self) -> list[Event]:
        """Return what is held at the run's end: the rest of open texts, and the start of truncated calls."""
        texts = [id for id, end in self.opened.ids.items() if end is TextEnd]
        rest = [part for id in texts for part in await self.rest(id)]
        return [*rest, *(held[0] for held in self.calls.values())]

    def thought(self, id: str) -> list[Event]:
        screen = self.screens.pop(id, None)
        return [ReasoningDelta(id, piece.text) for piece in screen.close()] if screen else []

    async def rest(self, id: str) -> list[Event]:
        """Return the held rest of a text, or the whole text after the validators have checked it."""
        self.current = id
        pieces = self.screens[id].close() if id in self.screens else []
        if id not in self.whole:
            self.screens.pop(id, None)
            return [TextDelta(id, piece.text, piece.logprobs) for piece in pieces]
        text = "".join([*self.whole.pop(id), *(piece.text for piece in pieces)])
        for check in self.checks:
            match await check.verdict(text, "output", self.turn):
                case Refuse() as refusal:
                    if refusal is UNCHECKED:
                        raise Found("unchecked")
                    self.reason = refusal.reason
                    raise Found("validator")
                case Replace(changed):
                    text = changed
                case None:
                    pass
        del self.screens[id]
        return [TextDelta(id, text)] if text else []

    def called(self, event: CallStart | CallArgs | CallEnd) -> list[Event]:
        """Hold a call until it is complete: JSON escapes could hide denied words."""
        if not self.guard.output:
            return [event]
        held = self.calls.setdefault(event.id, [])
        held.append(event)
        if not isinstance(event, CallEnd):
            return []
        del self.calls[event.id]
        given = "".join(part.json for part in held if isinstance(part, CallArgs))
        for text in words(given):
            if problem := self.guard.output.denied(text):
                raise Found(problem)
        return held

    def ended(self, found: Found) -> Iterator[Event]:
        """Yield the end of a stopped answer, with the replacement text, or raise OutputGuarded."""
        log.info("a guardrail stopped an answer: %s", found.kind)
        id = self.current
        if id in self.screens and id not in self.whole:
            pieces = self.screens[id].before(found)
            yield from (TextDelta(id, piece.text) for piece in pieces)
            self.spoke = self.spoke or bool(pieces)
        if not self.guard.replacement:
            raise OutputGuarded(self.guard.told("output", found.kind, self.reason))
        if id in self.screens:
            yield TextDelta(id, (PARAGRAPH if self.spoke else "") + self.guard.replacement)
            yield from self.opened.ends()
        else:
            yield from self.opened.ends()
            yield from spoken(Ids().message(), self.guard.replacement)
        yield RunFinished("stop")


def words(text: str) -> Iterator[str]:
    """Yield all texts, keys and numbers of a JSON text, or the text itself if it is no JSON."""
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        yield text
        return
    row: list[Any] = [value]
    while row:
        item = row.pop()
        match item:
            case str():
                yield item
            case dict():
                row += [*item, *item.values()]
            case list():
                row += item
            case int() | float() if not isinstance(item, bool):
                yield str(item)
            case _:
                pass
