"""Finder of personal data in whole and streamed texts, with equal results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rightseat.middleware.guardrails.personal import KINDS, shapes
from rightseat.middleware.guardrails.shapes import Shape

SHORT = 400


class Edit(NamedTuple):
    """A replacement of a text range."""

    start: int
    end: int
    text: str


def mask(kind: str) -> str:
    return f"[{kind}]"


class Personal:
    """Finds and redacts personal data of the given kinds."""

    def __init__(self, kinds: Iterable[str] = KINDS) -> None:
        self.shapes = shapes(kinds)
        # Patterns are case-sensitive and ASCII only.
        self.begun = re.compile("|".join(shape.begun for _, shape in self.shapes) or r"(?!)", re.ASCII)
        self.any = re.compile("|".join(shape.whole for _, shape in self.shapes) or r"(?!)", re.ASCII)
        self.most = max((shape.most for _, shape in self.shapes), default=0)

    def edits(self, text: str, start: int = 0) -> Iterator[Edit]:
        """Yield the non-overlapping matches from `start` on, in order."""
        # In a short text, one search for all patterns is cheaper and mostly finds nothing.
        if len(text) < SHORT and self.any.search(text, start) is None:
            return
        found: dict[Shape, tuple[int, int, str] | None] = {}
        at = start
        while True:
            for kind, shape in self.shapes:
                known = found.get(shape, (-1, 0, ""))
                if known is not None and known[0] < at:
                    match = shape.find(text, at)
                    found[shape] = (match.start(), match.end(), kind) if match else None
            best = min((one for one in found.values() if one is not None), key=first, default=None)
            if best is None:
                return
            yield Edit(best[0], best[1], mask(best[2]))
            at = best[1]

    def redacted(self, text: str) -> str:
        parts, at = [], 0
        for edit in self.edits(text):
            parts += [text[at : edit.start], edit.text]
            at = edit.end
        return "".join([*parts, text[at:]])

    def scan(self) -> PersonalScan:
        return PersonalScan(self)


def first(found: tuple[int, int, str]) -> int:
    return found[0]


class PersonalScan:
    """Scan of one streamed text; `edits` are final: no later text can change them."""

    def __init__(self, personal: Personal) -> None:
        self.personal = personal
        self.edits: list[Edit] = []
        self.text = ""
        """The text that may still become a match, after one character for the look-behind."""
        self.offset = 0
        self.at = 0

    def feed(self, text: str) -> int:
        self.text += text
        return self.settle()

    def settle(self) -> int:
        """Take the final edits; return how many characters at the end are undecided."""
        text, at = self.text, self.at
        while True:
            begun = self.personal.begun.search(text, at)
            limit = begun.start() if begun else len(text)
            edit = next(self.personal.edits(text, at), None)
            if edit is None or edit.start >= limit:
                break
            self.edits.append(Edit(edit.start + self.offset, edit.end + self.offset, edit.text))
            at = edit.end
        keep = max(limit - 1, 0)
        self.text, self.at = text[keep:], max(limit, at) - keep
        self.offset += keep
        return len(text) - limit

    def close(self) -> None:
        for edit in self.personal.edits(self.text, self.at):
            self.edits.append(Edit(edit.start + self.offset, edit.end + self.offset, edit.text))


@lru_cache(maxsize=32)
def personal(kinds: tuple[str, ...]) -> Personal:
    return Personal(kinds)
