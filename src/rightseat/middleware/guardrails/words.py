"""Word matching in streamed texts by an Aho-Corasick automaton over folded symbols.

The automaton's state is the longest end of the text that is a prefix of a listed word, which is exactly what
must be held back.
"""

from __future__ import annotations

import string
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from rightseat.middleware.guardrails.fold import (
    SPACE,
    WORD_EDGE,
    fold_char,
    fold_letters,
    fold_text,
    is_word_symbol,
)

PLAIN_SYMBOLS = {char: char.lower() for char in string.ascii_letters + string.digits}
"""Word characters that fold to a single symbol."""
MAX_GAP = 64
"""Invisible or white-space characters allowed between two symbols of one word."""


class TextScan(Protocol):
    """A scan of one streamed text, which raises RuleViolation."""

    def feed(self, text: str, /) -> int:
        """Take more text; return how many characters at its end must be held back."""
        ...

    def close(self) -> None:
        """Take the end of the text."""
        ...


class RuleViolation(Exception):
    """A violated rule. `start` is the offset in the text, None if unknown."""

    def __init__(self, kind: str, start: int | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.start = start


class WordList:
    """Words and phrases compiled to an automaton."""

    def __init__(self, words: Iterable[str]) -> None:
        self.transitions: list[dict[str, int]] = [{}]
        self.failure_links = [0]
        self.depth = [0]
        self.match_length = [0]
        """Symbols of the longest word that ends in a state, or 0."""
        self.entries = sorted({found for word in words if (found := fold_text(word))})
        self.bare_entries = [word.replace(WORD_EDGE, "").replace(SPACE, "") for word in self.entries]
        for word in self.entries:
            self.add_word(word)
        self.build_failure_links()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def add_word(self, word: str) -> None:
        state = 0
        for symbol in word:
            if symbol not in self.transitions[state]:
                self.transitions[state][symbol] = len(self.transitions)
                self.transitions.append({})
                self.failure_links.append(0)
                self.depth.append(self.depth[state] + 1)
                self.match_length.append(0)
            state = self.transitions[state][symbol]
        self.match_length[state] = len(word)

    def build_failure_links(self) -> None:
        """Compute the failure link of each state: its longest suffix that is a prefix of a word."""
        queue = deque(self.transitions[0].values())
        while queue:
            state = queue.popleft()
            for symbol, after in self.transitions[state].items():
                self.failure_links[after] = self.next_state(self.failure_links[state], symbol)
                self.match_length[after] = (
                    self.match_length[after] or self.match_length[self.failure_links[after]]
                )
                queue.append(after)

    def next_state(self, state: int, symbol: str) -> int:
        while symbol not in self.transitions[state]:
            if state == 0:
                return 0
            state = self.failure_links[state]
        return self.transitions[state][symbol]

    def make_scan(self, kind: str) -> WordScan:
        return WordScan(self, kind)

    def matches(self, text: str) -> bool:
        """Whether a whole text contains one of the words."""
        if not self.entries or not self.may_match(text):
            return False
        try:
            scan = WordScan(self, "")
            scan.feed(text)
            scan.close()
        except RuleViolation:
            return True
        return False

    def may_match(self, text: str) -> bool:
        """Cheap pre-check: whether the letters of any word occur in sequence."""
        plain = fold_letters(text)
        return any(word in plain for word in self.bare_entries)


class WordScan:
    """Scan of one streamed text. `offsets` are those of the symbols that may belong to a match."""

    def __init__(self, words: WordList, kind: str) -> None:
        self.words = words
        self.kind = kind
        self.state = 0
        self.offsets: deque[int] = deque()
        self.size = 0
        """Characters so far."""
        self.in_word = False
        self.after_space = False
        self.gap = 0

    def feed(self, text: str) -> int:
        root = self.words.transitions[0]
        for char in text:
            # Fast path: most characters are within a word that matches nothing.
            if self.state == 0 and self.in_word and char in PLAIN_SYMBOLS and PLAIN_SYMBOLS[char] not in root:
                self.gap, self.after_space = 0, False
                self.size += 1
                continue
            symbols = fold_char(char)
            if not symbols or (symbols == SPACE and self.after_space):
                self.skip_char()
            else:
                self.gap = 0
                self.after_space = symbols == SPACE
                for symbol in symbols:
                    self.take_symbol(symbol)
            self.size += 1
        return self.size - self.offsets[0] if self.offsets else 0

    def skip_char(self) -> None:
        self.gap += 1
        if self.gap > MAX_GAP:
            self.state = 0
            self.offsets.clear()

    def take_symbol(self, symbol: str) -> None:
        inside = is_word_symbol(symbol)
        if inside != self.in_word:
            self.in_word = inside
            self.advance(WORD_EDGE)
        self.advance(symbol)

    def advance(self, symbol: str) -> None:
        words = self.words
        self.state = words.next_state(self.state, symbol)
        self.offsets.append(self.size)
        if length := words.match_length[self.state]:
            raise RuleViolation(self.kind, self.offsets[-length])
        while len(self.offsets) > words.depth[self.state]:
            self.offsets.popleft()

    def close(self) -> None:
        if self.in_word:
            self.in_word = False
            self.advance(WORD_EDGE)
