"""Word matching in streamed texts by an Aho-Corasick automaton over folded symbols.

The automaton's state is the longest end of the text that is a prefix of a listed word, which is exactly what
must be held back.
"""

from __future__ import annotations

import string
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from rightseat.middleware.guardrails.fold import EDGE, SPACE, folded, lettered, letters, symbols

PLAIN = {char: char.lower() for char in string.ascii_letters + string.digits}
"""Word characters that fold to a single symbol."""
MAX_GAP = 64
"""Invisible or white-space characters allowed between two symbols of one word."""


class Scan(Protocol):
    """A scan of one streamed text, which raises RuleViolation."""

    def feed(self, text: str, /) -> int:
        """Take more text; return how many characters at its end must be held back."""
        ...

    def close(self) -> None:
        """Take the end of the text."""
        ...


class Found(Exception):
    """A violated rule. `start` is the offset in the text, None if unknown."""

    def __init__(self, kind: str, start: int | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.start = start


class Words:
    """Words and phrases compiled to an automaton."""

    def __init__(self, words: Iterable[str]) -> None:
        self.next: list[dict[str, int]] = [{}]
        self.back = [0]
        self.depth = [0]
        self.length = [0]
        """Symbols of the longest word that ends in a state, or 0."""
        self.listed = sorted({found for word in words if (found := symbols(word))})
        self.bare = [word.replace(EDGE, "").replace(SPACE, "") for word in self.listed]
        for word in self.listed:
            self.add(word)
        self.link()

    def __bool__(self) -> bool:
        return bool(self.listed)

    def add(self, word: str) -> None:
        state = 0
        for symbol in word:
            if symbol not in self.next[state]:
                self.next[state][symbol] = len(self.next)
                self.next.append({})
                self.back.append(0)
                self.depth.append(self.depth[state] + 1)
                self.length.append(0)
            state = self.next[state][symbol]
        self.length[state] = len(word)

    def link(self) -> None:
        """Compute the failure link of each state: its longest suffix that is a prefix of a word."""
        queue = deque(self.next[0].values())
        while queue:
            state = queue.popleft()
            for symbol, after in self.next[state].items():
                self.back[after] = self.step(self.back[state], symbol)
                self.length[after] = self.length[after] or self.length[self.back[after]]
                queue.append(after)

    def step(self, state: int, symbol: str) -> int:
        while symbol not in self.next[state]:
            if state == 0:
                return 0
            state = self.back[state]
        return self.next[state][symbol]

    def scan(self, kind: str) -> WordScan:
        return WordScan(self, kind)

    def within(self, text: str) -> bool:
        """Whether a whole text contains one of the words."""
        if not self.listed or not self.likely(text):
            return False
        try:
            scan = WordScan(self, "")
            scan.feed(text)
            scan.close()
        except Found:
            return True
        return False

    def likely(self, text: str) -> bool:
        """Cheap pre-check: whether the letters of any word occur in sequence."""
        plain = letters(text)
        return any(word in plain for word in self.bare)


class WordScan:
    """Scan of one streamed text. `offsets` are those of the symbols that may belong to a match."""

    def __init__(self, words: Words, kind: str) -> None:
        self.words = words
        self.kind = kind
        self.state = 0
        self.places: deque[int] = deque()
        self.size = 0
        """Characters so far."""
        self.inside = False
        self.spaced = False
        self.gap = 0

    def feed(self, text: str) -> int:
        root = self.words.next[0]
        for char in text:
            # Fast path: most characters are within a word that matches nothing.
            if self.state == 0 and self.inside and char in PLAIN and PLAIN[char] not in root:
                self.gap, self.spaced = 0, False
                self.size += 1
                continue
            found = folded(char)
            if not found or (found == SPACE and self.spaced):
                self.skip()
            else:
                self.gap = 0
                self.spaced = found == SPACE
                for symbol in found:
                    self.take(symbol)
            self.size += 1
        return self.size - self.places[0] if self.places else 0

    def skip(self) -> None:
        self.gap += 1
        if self.gap > MAX_GAP:
            self.state = 0
            self.places.clear()

    def take(self, symbol: str) -> None:
        inside = lettered(symbol)
        if inside != self.inside:
            self.inside = inside
            self.move(EDGE)
        self.move(symbol)

    def move(self, symbol: str) -> None:
        words = self.words
        self.state = words.step(self.state, symbol)
        self.places.append(self.size)
        if length := words.length[self.state]:
            raise Found(self.kind, self.places[-length])
        while len(self.places) > words.depth[self.state]:
            self.places.popleft()

    def close(self) -> None:
        if self.inside:
            self.inside = False
            self.move(EDGE)
