"""Words and regular expressions, matched in whole and in streamed texts in linear time.

Words are compared as folded symbols: without case, width or invisible characters, with word edges where letters
and digits begin or end. Each character is folded alone, so that a text gives the same symbols however it is
chunked. Scripts written without spaces have no edges: their words match anywhere.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import jsonschema_rs

from rightseat.errors import ConfigError
from rightseat.types.workers import PIECE_CHARS, split_text

WORD_EDGE = "\x00"
"""Symbol between word and non-word characters. No text contains it: control characters are removed."""
SPACE = " "
UNSPACED_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Korean, whose words take endings
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
INVISIBLE_CATEGORIES = ("Cf", "Cc", "Cn", "Co", "Cs")
"""Unicode categories of invisible characters, such as soft hyphen and zero-width space."""
VARIATION_SELECTOR = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
PLAIN_SYMBOLS = {char: char.lower() for char in string.ascii_letters + string.digits}
"""Word characters that fold to a single symbol."""
MAX_GAP = 64
"""Invisible or white-space characters allowed between two symbols of one word."""
MAX_BYTES = 1 << 20
WINDOW = 200
"""Characters of a stream that are matched at once; a longer match may be missed."""
_LINEAR = jsonschema_rs.RegexOptions(size_limit=MAX_BYTES, dfa_size_limit=MAX_BYTES)
_ANCHORS = re.compile(r"^\^|(?<!\\)(?:\\\\)*\$$")
_ANCHOR = re.compile(r"(?<!\[)\^|\$|\\[AzZ]")
"""What may be an anchor at the text's start or end. Such an expression is matched in the whole text only."""
_NON_WORD = re.compile(r"\W")


@lru_cache(maxsize=1 << 14)
def fold_char(char: str) -> str:
    """Return the symbols of one character: none if it is invisible, SPACE for white space."""
    if char.isspace():
        return SPACE
    if unicodedata.category(char) in INVISIBLE_CATEGORIES or VARIATION_SELECTOR.match(char):
        return ""
    # Normalize twice: case folding may produce compatibility characters.
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())


@lru_cache(maxsize=1 << 14)
def is_word_symbol(symbol: str) -> bool:
    """Whether a symbol belongs to a word with edges."""
    code = ord(symbol)
    if any(first <= code <= last for first, last in UNSPACED_RANGES):
        return False
    return symbol == "_" or unicodedata.category(symbol)[0] in "LNM"


def fold_letters(text: str) -> str:
    """Return the folded visible characters without white space; fast for long texts."""
    table: dict[int, str] = {}
    pieces = []
    for piece in split_text(text):
        table.update((ord(char), fold_char(char).replace(SPACE, "")) for char in set(piece) if ord(char) not in table)
        pieces.append(piece.translate(table))
    return "".join(pieces)


def fold_text(text: str) -> str:
    """Return all symbols of a complete text with word edges, white space collapsed and trimmed."""
    parts = []
    before = False
    for symbol in SPACE.join("".join(map(fold_char, text)).split()):
        inside = is_word_symbol(symbol)
        if inside != before:
            parts.append(WORD_EDGE)
        parts.append(symbol)
        before = inside
    return "".join(parts) + (WORD_EDGE if before else "")


class TextScan(Protocol):
    """A scan of one streamed text, which raises RuleViolation."""

    def feed(self, text: str, /) -> int:
        """Take more text; return how many characters at its end must be held back."""
        ...

    def close(self) -> None:
        """Take the end of the text."""
        ...


class RuleViolation(Exception):
    """A violated rule. `start` is the offset in the text, None if unknown; `reason` is that of a check."""

    def __init__(self, kind: str, start: int | None = None, reason: str = "") -> None:
        super().__init__(kind)
        self.kind = kind
        self.start = start
        self.reason = reason


class WordList:
    """Words and phrases compiled to an Aho-Corasick automaton over folded symbols."""

    def __init__(self, words: Iterable[str]) -> None:
        self.transitions: list[dict[str, int]] = [{}]
        self.failure_links = [0]
        self.depth = [0]
        self.match_length = [0]
        """Symbols of the longest word that ends in a state, or 0."""
        self.entries = sorted({symbols for word in words if (symbols := fold_text(word))})
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
                self.match_length[after] = self.match_length[after] or self.match_length[self.failure_links[after]]
                queue.append(after)

    def next_state(self, state: int, symbol: str) -> int:
        while symbol not in self.transitions[state]:
            if state == 0:
                return 0
            state = self.failure_links[state]
        return self.transitions[state][symbol]

    def matches(self, text: str) -> bool:
        """Whether a whole text contains one of the words."""
        # Cheap pre-check: whether the letters of any word occur in sequence.
        letters = fold_letters(text) if self.entries else ""
        if not any(word in letters for word in self.bare_entries):
            return False
        try:
            scan = WordScan(self, "")
            scan.feed(text)
            scan.close()
        except RuleViolation:
            return True
        return False


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


class PatternList:
    """Denied expressions, without look-around and back references."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.entries = tuple(patterns)
        self.checks = [compile_pattern(pattern) for pattern in self.entries]

    def __bool__(self) -> bool:
        return bool(self.entries)

    def matches(self, text: str) -> bool:
        """Whether an expression matches in a whole text; in a long text, a match has at most `PIECE_CHARS`."""
        if len(text) <= 2 * PIECE_CHARS:
            return any(check.is_valid(text) for check in self.checks)
        pieces = list(split_at_words(text))
        return any(
            check.is_valid(text) if _ANCHOR.search(pattern) else any(check.is_valid(piece) for piece in pieces)
            for pattern, check in zip(self.entries, self.checks, strict=True)
        )


def split_at_words(text: str) -> Iterator[str]:
    """Yield overlapping pieces of a long text. They begin and end beside characters that belong to no word, if there
    are such: a cut is no word edge that the text does not have."""
    start = 0
    while start + 2 * PIECE_CHARS < len(text):
        middle, end = start + PIECE_CHARS, start + 2 * PIECE_CHARS
        edge = _NON_WORD.search(text, end, end + PIECE_CHARS)
        yield text[start : edge.start() if edge else end]
        edge = _NON_WORD.search(text, middle - PIECE_CHARS // 2, middle)
        start = edge.end() if edge else middle
    yield text[start:]


def compile_pattern(pattern: str) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_LINEAR, offline=True)
    except ValueError:
        # jsonschema_rs.ValidationError is a ValueError without details.
        raise ConfigError(
            f"{pattern[:100]!r} is not a supported expression: look-around (?=…), back references "
            r"\1 and very large expressions are not supported, because they can run without end."
        ) from None


def is_anchored(pattern: str) -> bool:
    """Whether the expression is anchored at the text's start or end, which a stream does not have."""
    return _ANCHORS.search(pattern) is not None


@dataclass
class PatternScan:
    """Scan of one streamed text. The last `window` characters are held back; the text before is kept from the
    beginning of a word, so that a cut is not taken for a word edge."""

    patterns: PatternList
    kind: str
    window: int
    text: str = ""

    def feed(self, text: str) -> int:
        self.text += text
        matches = self.patterns.matches(self.text)
        # A match is certain if it holds whether or not the word continues.
        if matches and all(self.patterns.matches(self.text + after) for after in "_ "):
            raise RuleViolation(self.kind)
        held = min(len(self.text), self.window - (not matches))
        beyond = len(self.text) - 2 * self.window
        if beyond > 0:
            cut = _NON_WORD.search(self.text, beyond, len(self.text) - held)
            self.text = self.text[cut.end() if cut else beyond :]
        return held

    def close(self) -> None:
        if self.patterns.matches(self.text):
            raise RuleViolation(self.kind)
