"""Guardrail policies: rules for input and output, the texts of refusals, and the filter of one streamed text."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from rightseat.middleware.guardrails.matchers import (
    WINDOW,
    PatternList,
    PatternScan,
    RuleViolation,
    TextScan,
    WordList,
    WordScan,
)
from rightseat.middleware.guardrails.personal_data import (
    Edit,
    PersonalDataFinder,
    PersonalDataScan,
    get_personal_data_finder,
)
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.turn import ConfirmAfterUntrusted, Turn

Direction = Literal["input", "output"]
FailureMode = Literal["refuse", "allow"]
"""Treatment of a text whose check failed to run."""


class Refuse(Struct, frozen=True):
    """Refuse the text. The reason is shown to the user; empty: a standard message."""

    reason: str = ""


class Replace(Struct, frozen=True):
    """Allow this text instead."""

    text: str


Verdict = Refuse | Replace | None
UNCHECKED = Refuse("\x00")
"""Refusal of a text whose check failed to run."""


class Check:
    """A check of whole texts. `topical`: whether it judges topics, configured ones and the client's."""

    topical = False
    directions: tuple[Direction, ...] = ("input",)

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        raise NotImplementedError

    async def close(self) -> None:
        """Release connections, where the check has some."""


async def apply_checks(checks: tuple[Check, ...], text: str, direction: Direction, turn: Turn) -> str:
    """Return the text as the checks of this direction allow it; raise RuleViolation for a refusal."""
    for check in checks:
        if direction not in check.directions:
            continue
        verdict = await check.verdict(text, direction, turn)
        if verdict is UNCHECKED:
            raise RuleViolation("unchecked")
        if isinstance(verdict, Refuse):
            by_topic = check.topical and direction == "input"
            raise RuleViolation("topic" if by_topic else "validator", reason=verdict.reason)
        if isinstance(verdict, Replace):
            text = verdict.text
    return text


MAX_TOKEN_CHARS = 64


class TextPiece(NamedTuple):
    text: str
    logprobs: Any = None


class TextStreamFilter:
    """Filter of one streamed text: undecided characters are held back, the rest passes in its original pieces.
    It runs `scans`, which raise RuleViolation; a PersonalDataScan among them replaces its matches."""

    def __init__(self, scans: tuple[TextScan, ...], max_chars: int = 0) -> None:
        self.scans = scans
        self.redaction = next((scan for scan in scans if type(scan) is PersonalDataScan), None)
        self.max_chars = max_chars
        self.pieces: deque[TextPiece] = deque()
        self.start = 0
        """Offset of the first held piece in the text."""
        self.size = 0
        self.edits: deque[Edit] = deque()

    def feed(self, piece: TextPiece) -> list[TextPiece]:
        """Return the pieces that may be shown now. A RuleViolation holds the offset for `release_before`."""
        self.pieces.append(piece)
        self.size += len(piece.text)
        too_long = self.max_chars and self.size > self.max_chars
        violations = [RuleViolation("length", self.max_chars)] if too_long else []
        held = 0
        for scan in self.scans:
            try:
                held = max(held, scan.feed(piece.text))
            except RuleViolation as violation:
                violations.append(violation)
        if violations:
            first = min(violations, key=get_offset)
            # Only text that no other scan holds back may be released before it.
            start = None if first.start is None else min(first.start, self.size - held)
            raise RuleViolation(first.kind, start)
        return self.release(self.size - held, MAX_TOKEN_CHARS)

    def close(self) -> list[TextPiece]:
        violations = []
        for scan in self.scans:
            try:
                scan.close()
            except RuleViolation as violation:
                violations.append(violation)
        if violations:
            raise min(violations, key=get_offset)
        return self.release(self.size)

    def release_before(self, violation: RuleViolation) -> list[TextPiece]:
        return self.release(violation.start) if violation.start is not None and violation.start > self.start else []

    def release(self, end: int, shortest: int = 0) -> list[TextPiece]:
        """Release the pieces up to `end`; only pieces longer than `shortest` are cut. A cut or edited piece
        loses its logprobs, which would repeat the original text."""
        if self.redaction is not None:
            self.edits += self.redaction.edits
            self.redaction.edits.clear()
        pieces: list[TextPiece] = []
        while self.pieces and self.start < end:
            piece = self.pieces.popleft()
            room = end - self.start
            if room < len(piece.text) <= shortest:
                # Do not split a token: its rest is released soon.
                self.pieces.appendleft(piece)
                break
            if len(piece.text) > room:
                self.pieces.appendleft(TextPiece(piece.text[room:]))
                piece = TextPiece(piece.text[:room])
            text = self.apply_edits(piece.text) if self.edits else piece.text
            self.start += len(piece.text)
            if text or not piece.text:
                pieces.append(piece if text == piece.text else TextPiece(text))
        # Empty pieces are never held back.
        while self.pieces and not self.pieces[0].text and self.start >= end:
            pieces.append(self.pieces.popleft())
        return pieces

    def apply_edits(self, text: str) -> str:
        """Apply the edits to a piece at offset `start`; a mask is placed where its match begins."""
        parts = []
        position, end = self.start, self.start + len(text)
        while self.edits and self.edits[0].start < end:
            edit = self.edits[0]
            if edit.start >= position:
                parts += [text[position - self.start : edit.start - self.start], edit.text]
            if edit.end > end:
                return "".join(parts)
            position = edit.end
            self.edits.popleft()
        return "".join([*parts, text[position - self.start :]])


def get_offset(violation: RuleViolation) -> int:
    """Return where a violation is in the text; one without an offset precedes all others."""
    return -1 if violation.start is None else violation.start


REASONS = ("words", "pattern", "topic", "off_topic", "length", "tokens", "personal", "validator", "unchecked")
"""Kinds of violations that have a sentence of their own."""


def format_refusal(direction: Direction, kind: str, language: Language = "en") -> str:
    why = get_sentence(f"guard_{kind if kind in REASONS else 'validator'}", language)
    return get_sentence(f"{direction}_refused", language, why=why)


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
        scans: list[TextScan] = []
        if self.deny:
            scans.append(WordScan(self.deny, "words"))
        if self.topics:
            scans.append(WordScan(self.topics, "topic"))
        if self.patterns:
            scans.append(PatternScan(self.patterns, "pattern", self.window))
        if self.refused:
            scans.append(PersonalDataRefusalScan(get_personal_data_finder(self.refused)))
        if self.redacted:
            scans.append(PersonalDataScan(get_personal_data_finder(self.redacted)))
        return TextStreamFilter(tuple(scans), self.max_chars)


class PersonalDataRefusalScan(PersonalDataScan):
    """A scan that ends the answer at refused personal data."""

    def feed(self, text: str) -> int:
        held = super().feed(text)
        self.raise_if_found()
        return held

    def close(self) -> None:
        super().close()
        self.raise_if_found()

    def raise_if_found(self) -> None:
        if self.edits:
            raise RuleViolation("personal", self.edits[0].start)


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

    def format_refusal(self, direction: Direction, kind: str, language: Language, reason: str = "") -> str:
        return self.refusal or reason or format_refusal(direction, kind, language)
