"""Guardrail policies: rules for input and output, and the texts of refusals."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from rightseat.middleware.guardrails.patterns import WINDOW, PatternList
from rightseat.middleware.guardrails.redact import PersonalDataFinder, get_personal_data_finder
from rightseat.middleware.guardrails.screen import TextStreamFilter
from rightseat.middleware.guardrails.verdict import Check, Direction
from rightseat.middleware.guardrails.words import RuleViolation, TextScan, WordList
from rightseat.types.turn import ConfirmAfterUntrusted

INPUT_REFUSED = "This message is not answered: {why}."
OUTPUT_STOPPED = "The answer was stopped: {why}."
REASONS = {
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


def format_refusal(direction: Direction, kind: str) -> str:
    return (INPUT_REFUSED if direction == "input" else OUTPUT_STOPPED).format(
        why=REASONS.get(kind, REASONS["validator"])
    )


class TextRules(Struct, frozen=True, kw_only=True):
    """Rules of one direction; false if there are none."""

    deny: WordList = field(default_factory=lambda: WordList(()))
    topics: WordList = field(default_factory=lambda: WordList(()))
    """The words of denied topics."""
    allow: WordList = field(default_factory=lambda: WordList(()))
    """If not empty, an input must contain one of these words."""
    patterns: PatternList = field(default_factory=lambda: PatternList(()))
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
    def redaction(self) -> PersonalDataFinder | None:
        return get_personal_data_finder(self.redacted) if self.redacted else None

    def find_problem(self, text: str) -> str | None:
        """Return the kind of rule that a whole text breaks, or None. Cheap rules come first."""
        if self.max_chars and len(text) > self.max_chars:
            return "length"
        if problem := self.find_denied(text):
            return problem
        if self.refused and next(get_personal_data_finder(self.refused).find_edits(text), None) is not None:
            return "personal"
        return None

    def find_denied(self, text: str) -> str | None:
        """Return the kind of word, topic or pattern rule that a whole text breaks, or None."""
        if self.deny.matches(text):
            return "words"
        if self.topics.matches(text):
            return "topic"
        return "pattern" if self.patterns.matches(text) else None

    def make_filter(self) -> TextStreamFilter:
        """Make the filter of one output text."""
        scans: list[TextScan] = []
        if self.deny:
            scans.append(self.deny.make_scan("words"))
        if self.topics:
            scans.append(self.topics.make_scan("topic"))
        if self.patterns:
            scans.append(self.patterns.make_scan("pattern", self.window))
        if self.refused:
            scans.append(PersonalDataRefusalScan(get_personal_data_finder(self.refused)))
        if self.redacted:
            scans.append(get_personal_data_finder(self.redacted).make_scan())
        return TextStreamFilter(tuple(scans), self.max_chars)


class PersonalDataRefusalScan:
    """A scan that ends the answer at refused personal data."""

    def __init__(self, kinds: PersonalDataFinder) -> None:
        self.scan = kinds.make_scan()

    def feed(self, text: str) -> int:
        held = self.scan.feed(text)
        self.raise_if_found()
        return held

    def close(self) -> None:
        self.scan.close()
        self.raise_if_found()

    def raise_if_found(self) -> None:
        if self.scan.edits:
            raise RuleViolation("personal", self.scan.edits[0].start)


class UntrustedResultRules(Struct, frozen=True, kw_only=True):
    """Treatment of tool results from untrusted sources."""

    mark: bool = False
    redacted: tuple[str, ...] = ()
    confirm: ConfirmAfterUntrusted = "off"


class GuardrailPolicy(Struct, frozen=True, kw_only=True):
    """All rules of one assistant."""

    input: TextRules = field(default_factory=TextRules)
    output: TextRules = field(default_factory=TextRules)
    refusal: str = ""
    """Message of a refusal, in place of the rule's own."""
    replacement: str = ""
    """Text that replaces the rest of a stopped answer, which then ends normally. Empty: the run fails."""
    schema: dict[str, Any] | None = None
    """Output schema of answers for which the client requests none."""
    untrusted: UntrustedResultRules = UntrustedResultRules()
    checks: tuple[Check, ...] = ()
    """Judges and validators of both directions."""

    def __bool__(self) -> bool:
        untrusted = self.untrusted.confirm != "off" or self.untrusted.redacted
        return bool(self.input or self.output or self.schema or self.checks or untrusted)

    def format_refusal(self, direction: Direction, kind: str, reason: str = "") -> str:
        return self.refusal or reason or format_refusal(direction, kind)
