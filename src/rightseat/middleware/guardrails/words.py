"""Words and phrases found in a text as it comes, by an automaton over folded symbols (Aho and Corasick's).

Its state is the longest end of the text that is the beginning of a listed word, so what must be held back is
known to the character.
"""

from __future__ import annotations

import string
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from rightseat.middleware.guardrails.fold import EDGE, SPACE, folded, lettered, letters, symbols

PLAIN = {char: char.lower() for char in string.ascii_letters + string.digits}
"""Characters of words that are one symbol each."""
MAX_GAP = 64
"""Characters that show nothing, or white space, between two symbols of one word. After more it is another."""


class Scan(Protocol):
    """Reads one text piece by piece and says how much of its end may still become something."""

    def feed(self, text: str, /) -> int:
        """Take more of the text; how many characters at its end must not be shown yet."""
        ...

    def close(self) -> None:
        """The text is over."""
        ...


class Found(Exception):
    """Something that is not allowed. `start` is its place in the text, None where only the text is known."""

    def __init__(self, kind: str, start: int | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.start = start


class Words:
    """A list of words, ready to be looked for."""

    def __init__(self, words: Iterable[str]) -> None:
        self.next: list[dict[str, int]] = [{}]
        self.back = [0]
        self.depth = [0]
        self.length = [0]
        """Of the longest word that ends in a state, in symbols; 0 where none does."""
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
        """Of each state the longest end that begins a word too."""
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
        """Whether a whole text has one of the words."""
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
        """Cheap for a long text that has none: no word's letters are in it one after the other."""
        plain = letters(text)
        return any(word in plain for word in self.bare)


class WordScan:
    """One text under way. `places` are where the symbols since the last safe place came from."""

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
            # Nearly all are inside a word that is on no list.
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
