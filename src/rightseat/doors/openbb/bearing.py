"""Which of the added data a question is about, told by its words.

A small model that is handed data answers from it, be it about something else entirely. So it is handed only
what shares more words with the question than any widget does; the rest is told among the instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

WORD = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
WIDE = re.compile(r"[\u2e80-\uffef]")
LOOKED_AT = 20_000
STEM = 4
# Words of questions, not of what they are about.
EMPTY = frozenset(
    WORD.findall(
        "what which when where who whose how many much does did are was were will would can could has have "
        "had the this that these those there and for from with about into over than then your you his her "
        "its our their tell show give list say any all not"
    )
)


def bears(question: str, added: str, widgets: Iterable[str]) -> bool:
    """Whether the question seems to be about what was added rather than about a widget."""
    asked = words(question)
    return shared(asked, added) > max((shared(asked, text) for text in widgets), default=0)


def words(text: str) -> set[str]:
    found: set[str] = set()
    for word in WORD.findall(text.lower()):
        if WIDE.search(word):
            # No spaces there: two signs that stand together are as good as a word.
            found |= {word[place : place + 2] for place in range(max(len(word) - 1, 1))}
        elif len(word) > 2 or any(sign.isdigit() for sign in word):
            found.add(word)
    return found - EMPTY


def shared(asked: set[str], text: str) -> int:
    """How many of the asked words are in a text, an ending more or less."""
    given = words(text[:LOOKED_AT])
    stems = {word[:STEM] for word in given if len(word) >= STEM and word.isalpha()}
    return sum(word in given or (word.isalpha() and word[:STEM] in stems) for word in asked)
