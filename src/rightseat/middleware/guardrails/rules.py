"""Guardrail policies: rules for input and output, and the texts of refusals."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from rightseat.middleware.guardrails.patterns import WINDOW, Patterns
from rightseat.middleware.guardrails.redact import Personal, personal
from rightseat.middleware.guardrails.screen import Screen
from rightseat.middleware.guardrails.verdict import Check, Direction
from rightseat.middleware.guardrails.words import Found, Scan, Words
from rightseat.types.turn import Caution

ASKED = "This message is not answered: {why}."
TOLD = "The answer was stopped: {why}."
WHY = {
    "words": "it contains words that are not allowed here",
    "pattern": "it contains something of a form that is not allowed here",
    "topic": "it is about something that is not talked about here",
    "off_topic": "it is not about what this assistant is for",
    "length": "it is longer than allowed here",
    "tokens": "it has more tokens than allowed here",
    "personal": "it contains personal data or a secret",
    "validator": "a check that is set up here does not allow it",
    "unchecked": "a check that is set up here could not be made",
}


def sentence(direction: Direction, kind: str) -> str:
    return (ASKED if direction == "input" else TOLD).format(why=WHY.get(kind, WHY["validator"]))


class Lists(Struct, frozen=True, kw_only=True):
    """Rules of one direction; false if there are none."""

    deny: Words = field(default_factory=lambda: Words(()))
    topics: Words = field(default_factory=lambda: Words(()))
    """The words of denied topics."""
    allow: Words = field(default_factory=lambda: Words(()))
    """If not empty, an input must contain one of these words."""
    patterns: Patterns = field(default_factory=lambda: Patterns(()))
    window: int = WINDOW
    max_chars: int = 0
    max_tokens: int = 0
    refused: tuple[str, ...] = ()
    """Kinds of personal data that are refused."""
    redacted: tuple[str, ...] = ()
    """Kinds of personal data that are replaced by their name."""

    def __bool__(self) -> bool:
        texts = self.deny or self.topics or self.allow or self.patterns
        return bool(texts or self.max_chars or self.max_tokens or self.refused or self.redacted)

    @property
    def redaction(self) -> Personal | None:
        return personal(self.redacted) if self.redacted else None

    def problem(self, text: str) -> str | None:
        """Return the kind of rule that a whole text breaks, or None. Cheap rules come first."""
        if self.max_chars and len(text) > self.max_chars:
            return "length"
        if problem := self.denied(text):
            return problem
        if self.refused and next(personal(self.refused).edits(text), None) is not None:
            return "personal"
        return None

    def denied(self, text: str) -> str | None:
        """Return the kind of word, topic or pattern rule that a whole text breaks, or None."""
        if self.deny.within(text):
            return "words"
        if self.topics.within(text):
            return "topic"
        return "pattern" if self.patterns.within(text) else None

    def screen(self) -> Screen:
        """Make the filter of one output text."""
        scans: list[Scan] = []
        if self.deny:
            scans.append(self.deny.scan("words"))
        if self.topics:
            scans.append(self.topics.scan("topic"))
        if self.patterns:
            scans.append(self.patterns.scan("pattern", self.window))
        if self.refused:
            scans.append(Refusal(personal(self.refused)))
        if self.redacted:
            scans.append(personal(self.redacted).scan())
        return Screen(tuple(scans), self.max_chars)


class Refusal:
    """A scan that ends the answer at refused personal data."""

    def __init__(self, kinds: Personal) -> None:
        self.scan = kinds.scan()

    def feed(self, text: str) -> int:
        held = self.scan.feed(text)
        self.look()
        return held

    def close(self) -> None:
        self.scan.close()
        self.look()

    def look(self) -> None:
        if self.scan.edits:
            raise Found("personal", self.scan.edits[0].start)


class Untrusted(Struct, frozen=True, kw_only=True):
    """Treatment of tool results from untrusted sources."""

    mark: bool = False
    redacted: tuple[str, ...] = ()
    confirm: Caution = "off"


class Guard(Struct, frozen=True, kw_only=True):
    """All rules of one assistant."""

    input: Lists = field(default_factory=Lists)
    output: Lists = field(default_factory=Lists)
    refusal: str = ""
    """Message of a refusal, in place of the rule's own."""
    replacement: str = ""
    """Text that replaces the rest of a stopped answer, which then ends normally. Empty: the run fails."""
    schema: dict[str, Any] | None = None
    """Output schema of answers for which the client requests none."""
    untrusted: Untrusted = Untrusted()
    checks: tuple[Check, ...] = ()
    """Judges and validators of both directions."""

    def __bool__(self) -> bool:
        untrusted = self.untrusted.confirm != "off" or self.untrusted.redacted
        return bool(self.input or self.output or self.schema or self.checks or untrusted)

    def told(self, direction: Direction, kind: str, reason: str = "") -> str:
        return self.refusal or reason or sentence(direction, kind)
