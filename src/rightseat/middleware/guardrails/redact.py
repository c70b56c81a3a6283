"""Finder of personal data in whole and streamed texts, with equal results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rightseat.middleware.guardrails.personal import DATA_KINDS, select_patterns
from rightseat.middleware.guardrails.shapes import DataPattern

SHORT_TEXT = 400


class Edit(NamedTuple):
    """A replacement of a text range."""

    start: int
    end: int
    text: str


def make_mask(kind: str) -> str:
    return f"[{kind}]"


class PersonalDataFinder:
    """Finds and redacts personal data of the given kinds."""

    def __init__(self, kinds: Iterable[str] = DATA_KINDS) -> None:
        self.patterns = select_patterns(kinds)
        # Patterns are case-sensitive and ASCII only.
        self.prefix_regex = re.compile(
            "|".join(shape.prefix_expression for _, shape in self.patterns) or r"(?!)", re.ASCII
        )
        self.any_regex = re.compile(
            "|".join(shape.expression for _, shape in self.patterns) or r"(?!)", re.ASCII
        )
        self.max_length = max((shape.max_length for _, shape in self.patterns), default=0)

    def find_edits(self, text: str, start: int = 0) -> Iterator[Edit]:
        """Yield the non-overlapping matches from `start` on, in order."""
        # In a short text, one search for all patterns is cheaper and mostly finds nothing.
        if len(text) < SHORT_TEXT and self.any_regex.search(text, start) is None:
            return
        matches: dict[DataPattern, tuple[int, int, str] | None] = {}
        position = start
        while True:
            for kind, shape in self.patterns:
                known = matches.get(shape, (-1, 0, ""))
                if known is not None and known[0] < position:
                    match = shape.find(text, position)
                    matches[shape] = (match.start(), match.end(), kind) if match else None
            best = min((one for one in matches.values() if one is not None), key=get_start, default=None)
            if best is None:
                return
            yield Edit(best[0], best[1], make_mask(best[2]))
            position = best[1]

    def redact(self, text: str) -> str:
        parts, position = [], 0
        for edit in self.find_edits(text):
            parts += [text[position : edit.start], edit.text]
            position = edit.end
        return "".join([*parts, text[position:]])

    def make_scan(self) -> PersonalDataScan:
        return PersonalDataScan(self)


def get_start(match: tuple[int, int, str]) -> int:
    return match[0]


class PersonalDataScan:
    """Scan of one streamed text; `edits` are final: no later text can change them."""

    def __init__(self, finder: PersonalDataFinder) -> None:
        self.finder = finder
        self.edits: list[Edit] = []
        self.text = ""
        """The text that may still become a match, after one character for the look-behind."""
        self.offset = 0
        self.position = 0

    def feed(self, text: str) -> int:
        self.text += text
        return self.take_final_edits()

    def take_final_edits(self) -> int:
        """Take the final edits; return how many characters at the end are undecided."""
        text, at = self.text, self.position
        while True:
            begun = self.finder.prefix_regex.search(text, at)
            limit = begun.start() if begun else len(text)
            edit = next(self.finder.find_edits(text, at), None)
            if edit is None or edit.start >= limit:
                break
            self.edits.append(Edit(edit.start + self.offset, edit.end + self.offset, edit.text))
            at = edit.end
        keep = max(limit - 1, 0)
        self.text, self.position = text[keep:], max(limit, at) - keep
        self.offset += keep
        return len(text) - limit

    def close(self) -> None:
        for edit in self.finder.find_edits(self.text, self.position):
            self.edits.append(Edit(edit.start + self.offset, edit.end + self.offset, edit.text))


@lru_cache(maxsize=32)
def get_personal_data_finder(kinds: tuple[str, ...]) -> PersonalDataFinder:
    return PersonalDataFinder(kinds)
