"""Decide by shared words whether a question is about added data.

A small model answers from any data that it gets as a tool result, even if the data is unrelated. So it gets
only data that shares more words with the question than any widget does; the rest goes into the instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

WORD = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
WIDE = re.compile(r"[\u2e80-\uffef]")
LOOKED_AT = 20_000
STEM = 4
# Function words of questions.
EMPTY = frozenset(
    WORD.findall(
        "what which when where who whose how many much does did are was were will would can could has have "
        "had the this that these those there and for from with about into over than then your you his her "
        "its our their tell show give list say any all not"
    )
)


def bears(question: str, added: str, widgets: Iterable[str]) -> bool:
    """Whether the question shares more words with the added data than with any widget."""
    asked = words(question)
    return shared(asked, added) > max((shared(asked, text) for text in widgets), default=0)


def words(text: str) -> set[str]:
    found: set[str] = set()
    for word in WORD.findall(text.lower()):
        if WIDE.search(word):
            # CJK text has no spaces: each pair of adjacent characters is a word.
            found |= {word[place : place + 2] for place in range(max(len(word) - 1, 1))}
        elif len(word) > 2 or any(sign.isdigit() for sign in word):
            found.add(word)
    return found - EMPTY


def shared(asked: set[str], text: str) -> int:
    """Count the question's words that occur in a text, compared by stem."""
    given = words(text[:LOOKED_AT])
    stems = {word[:STEM] for word in given if len(word) >= STEM and word.isalpha()}
    return sum(word in given or (word.isalpha() and word[:STEM] in stems) for word in asked)
