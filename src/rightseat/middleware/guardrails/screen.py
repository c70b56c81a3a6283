"""Filter of one streamed text: undecided characters are held back, the rest passes in its original pieces."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from rightseat.middleware.guardrails.redact import Edit, PersonalDataScan
from rightseat.middleware.guardrails.words import RuleViolation, TextScan

MAX_TOKEN_CHARS = 64


class TextPiece(NamedTuple):
    text: str
    logprobs: Any = None


class TextStreamFilter:
    """Runs `scans`, which raise RuleViolation; a PersonalDataScan among them replaces its matches."""

    def __init__(self, scans: tuple[TextScan, ...], max_chars: int = 0) -> None:
        self.scans = scans
        self.redaction = next((scan for scan in scans if isinstance(scan, PersonalDataScan)), None)
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
        violation = (
            RuleViolation("length", self.max_chars) if self.max_chars and self.size > self.max_chars else None
        )
        held = 0
        for scan in self.scans:
            try:
                held = max(held, scan.feed(piece.text))
            except RuleViolation as one:
                violation = earlier_violation(violation, one)
        if violation is not None:
            raise self.limit_to_released(violation, held)
        return self.release(self.size - held, MAX_TOKEN_CHARS)

    def close(self) -> list[TextPiece]:
        violation: RuleViolation | None = None
        for scan in self.scans:
            try:
                scan.close()
            except RuleViolation as one:
                violation = earlier_violation(violation, one)
        if violation is not None:
            raise violation
        return self.release(self.size)

    def limit_to_released(self, violation: RuleViolation, held: int) -> RuleViolation:
        """Limit the violation's offset to the text that no other scan holds back."""
        start = None if violation.start is None else min(violation.start, self.size - held)
        return RuleViolation(violation.kind, start)

    def release_before(self, violation: RuleViolation) -> list[TextPiece]:
        """Return the held pieces before the violation."""
        return (
            self.release(violation.start)
            if violation.start is not None and violation.start > self.start
            else []
        )

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


def earlier_violation(first: RuleViolation | None, second: RuleViolation) -> RuleViolation:
    """Return the violation that comes first; one without an offset precedes all others."""
    if first is None or second.start is None:
        return second
    return first if first.start is None or first.start <= second.start else second
