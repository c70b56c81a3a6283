"""Filter of one streamed text: undecided characters are held back, the rest passes in its original pieces."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from rightseat.middleware.guardrails.redact import Edit, PersonalScan
from rightseat.middleware.guardrails.words import Found, Scan

TOKEN = 64


class Piece(NamedTuple):
    text: str
    logprobs: Any = None


class Screen:
    """Runs `scans`, which raise RuleViolation; a PersonalDataScan among them replaces its matches."""

    def __init__(self, scans: tuple[Scan, ...], most: int = 0) -> None:
        self.scans = scans
        self.redaction = next((scan for scan in scans if isinstance(scan, PersonalScan)), None)
        self.most = most
        self.pieces: deque[Piece] = deque()
        self.start = 0
        """Offset of the first held piece in the text."""
        self.size = 0
        self.edits: deque[Edit] = deque()

    def feed(self, piece: Piece) -> list[Piece]:
        """Return the pieces that may be shown now. A RuleViolation holds the offset for `release_before`."""
        self.pieces.append(piece)
        self.size += len(piece.text)
        found = Found("length", self.most) if self.most and self.size > self.most else None
        held = 0
        for scan in self.scans:
            try:
                held = max(held, scan.feed(piece.text))
            except Found as one:
                found = sooner(found, one)
        if found is not None:
            raise self.placed(found, held)
        return self.released(self.size - held, TOKEN)

    def close(self) -> list[Piece]:
        found: Found | None = None
        for scan in self.scans:
            try:
                scan.close()
            except Found as one:
                found = sooner(found, one)
        if found is not None:
            raise found
        return self.released(self.size)

    def placed(self, found: Found, held: int) -> Found:
        """Limit the violation's offset to the text that no other scan holds back."""
        start = None if found.start is None else min(found.start, self.size - held)
        return Found(found.kind, start)

    def before(self, found: Found) -> list[Piece]:
        """Return the held pieces before the violation."""
        return self.released(found.start) if found.start is not None and found.start > self.start else []

    def released(self, end: int, shortest: int = 0) -> list[Piece]:
        """Release the pieces up to `end`; only pieces longer than `shortest` are cut. A cut or edited piece
        loses its logprobs, which would repeat the original text."""
        if self.redaction is not None:
            self.edits += self.redaction.edits
            self.redaction.edits.clear()
        out: list[Piece] = []
        while self.pieces and self.start < end:
            piece = self.pieces.popleft()
            room = end - self.start
            if room < len(piece.text) <= shortest:
                # Do not split a token: its rest is released soon.
                self.pieces.appendleft(piece)
                break
            if len(piece.text) > room:
                self.pieces.appendleft(Piece(piece.text[room:]))
                piece = Piece(piece.text[:room])
            text = self.edited(piece.text) if self.edits else piece.text
            self.start += len(piece.text)
            if text or not piece.text:
                out.append(piece if text == piece.text else Piece(text))
        # Empty pieces are never held back.
        while self.pieces and not self.pieces[0].text and self.start >= end:
            out.append(self.pieces.popleft())
        return out

    def edited(self, text: str) -> str:
        """Apply the edits to a piece at offset `start`; a mask is placed where its match begins."""
        parts = []
        at, end = self.start, self.start + len(text)
        while self.edits and self.edits[0].start < end:
            edit = self.edits[0]
            if edit.start >= at:
                parts += [text[at - self.start : edit.start - self.start], edit.text]
            if edit.end > end:
                return "".join(parts)
            at = edit.end
            self.edits.popleft()
        return "".join([*parts, text[at - self.start :]])


def sooner(one: Found | None, other: Found) -> Found:
    """Return the violation that comes first; one without an offset precedes all others."""
    if one is None or other.start is None:
        return other
    return one if one.start is None or one.start <= other.start else other
