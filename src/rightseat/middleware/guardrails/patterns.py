"""Regular expressions matched in linear time, by the engine of jsonschema_rs."""

from __future__ import annotations

import re
from collections.abc import Iterable

import jsonschema_rs

from rightseat.errors import ConfigError
from rightseat.middleware.guardrails.words import RuleViolation

MAX_BYTES = 1 << 20
WINDOW = 200
"""Characters of a stream that are matched at once; a longer match may be missed."""
_LINEAR = jsonschema_rs.RegexOptions(size_limit=MAX_BYTES, dfa_size_limit=MAX_BYTES)
_ANCHORS = re.compile(r"^\^|(?<!\\)(?:\\\\)*\$$")
_NON_WORD = re.compile(r"\W")


class PatternList:
    """Denied expressions, without look-around and back references."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.entries = tuple(patterns)
        self.checks = [compile_pattern(pattern) for pattern in self.entries]

    def __bool__(self) -> bool:
        return bool(self.entries)

    def matches(self, text: str) -> bool:
        return any(check.is_valid(text) for check in self.checks)

    def make_scan(self, kind: str, window: int = WINDOW) -> PatternScan:
        return PatternScan(self, kind, window)


def compile_pattern(pattern: str) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=_LINEAR, offline=True)
    except ValueError:
        # jsonschema_rs.ValidationError is a ValueError without details.
        raise ConfigError(
            f"{pattern[:100]!r} is not an expression that is taken here: look-around (?=…), back references "
            r"\1 and expressions that are too large are not, because they can take for ever."
        ) from None


def is_anchored(pattern: str) -> bool:
    """Whether the expression is anchored at the text's start or end, which a stream does not have."""
    return _ANCHORS.search(pattern) is not None


class PatternScan:
    """Scan of one streamed text. The last `window` characters are held back; the text before is kept from the
    beginning of a word, so that a cut is not taken for a word edge."""

    def __init__(self, patterns: PatternList, kind: str, window: int) -> None:
        self.patterns = patterns
        self.kind = kind
        self.window = window
        self.text = ""

    def feed(self, text: str) -> int:
        self.text += text
        found = self.patterns.matches(self.text)
        # A match is certain if it holds whether or not the word continues.
        if found and all(self.patterns.matches(self.text + after) for after in "_ "):
            raise RuleViolation(self.kind)
        held = min(len(self.text), self.window - (not found))
        beyond = len(self.text) - 2 * self.window
        if beyond > 0:
            cut = _NON_WORD.search(self.text, beyond, len(self.text) - held)
            self.text = self.text[cut.end() if cut else beyond :]
        return held

    def close(self) -> None:
        if self.patterns.matches(self.text):
            raise RuleViolation(self.kind)
