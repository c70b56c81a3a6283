"""Decide by shared words whether a question is about added data.

A small model answers from any data that it gets as a tool result, even if the data is unrelated. So it gets
only data that shares more words with the question than any widget does; the rest goes into the instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

WORD = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
CJK = re.compile(r"[\u2e80-\uffef]")
MAX_CHARS = 20_000
STEM_LENGTH = 4
# Function words of questions.
STOP_WORDS = frozenset(
    WORD.findall(
        "what which when where who whose how many much does did are was were will would can could has have "
        "had the this that these those there and for from with about into over than then your you his her "
        "its our their tell show give list say any all not"
    )
)


def matches_added_data(question: str, added: str, widgets: Iterable[str]) -> bool:
    """Whether the question shares more words with the added data than with any widget."""
    question_words = extract_words(question)
    return count_shared_words(question_words, added) > max(
        (count_shared_words(question_words, text) for text in widgets), default=0
    )


def extract_words(text: str) -> set[str]:
    result: set[str] = set()
    for word in WORD.findall(text.lower()):
        if CJK.search(word):
            # CJK text has no spaces: each pair of adjacent characters is a word.
            result |= {word[place : place + 2] for place in range(max(len(word) - 1, 1))}
        elif len(word) > 2 or any(sign.isdigit() for sign in word):
            result.add(word)
    return result - STOP_WORDS


def count_shared_words(question_words: set[str], text: str) -> int:
    """Count the question's words that occur in a text, compared by stem."""
    text_words = extract_words(text[:MAX_CHARS])
    stems = {word[:STEM_LENGTH] for word in text_words if len(word) >= STEM_LENGTH and word.isalpha()}
    return sum(
        word in text_words or (word.isalpha() and word[:STEM_LENGTH] in stems) for word in question_words
    )
