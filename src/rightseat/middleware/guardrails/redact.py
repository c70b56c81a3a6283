"""Personal data found in a text, whole or as it comes: both give the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rightseat.middleware.guardrails.personal import KINDS, shapes
from rightseat.middleware.guardrails.shapes import Shape

SHORT = 400


class Edit(NamedTuple):
    """Characters of a text that are replaced."""

    start: int
    end: int
    text: str


def mask(kind: str) -> str:
    return f"[{kind}]"


class Personal:
    """The kinds that are looked for."""

    def __init__(self, kinds: Iterable[str] = KINDS) -> None:
        self.shapes = shapes(kinds)
        # Case matters to shapes, and digits and letters are ASCII's: others are another's business.
        self.begun = re.compile("|".join(shape.begun for _, shape in self.shapes) or r"(?!)", re.ASCII)
        self.any = re.compile("|".join(shape.whole for _, shape in self.shapes) or r"(?!)", re.ASCII)
        self.most = max((shape.most for _, shape in self.shapes), default=0)

    def edits(self, text: str, start: int = 0) -> Iterator[Edit]:
        """All that is found from there on: the first first, and nothing twice."""
        # In a short piece one look for all costs less than one for each; nearly always there is nothing.
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
    """One text under way: `edits` are those that nothing to come can change."""

    def __init__(self, personal: Personal) -> None:
        self.personal = personal
        self.edits: list[Edit] = []
        self.text = ""
        """What may still become something, after the one character before it: shapes look back that far."""
        self.offset = 0
        self.at = 0

    def feed(self, text: str) -> int:
        self.text += text
        return self.settle()

    def settle(self) -> int:
        """Take what is certain; how much of the end is not."""
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
