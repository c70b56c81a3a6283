"""Limits where a schema sets no bound: a small model does not stop by itself."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

# llama.cpp rejects repetitions of 2000 and more.
MAX_REPEAT = 1900
# The engine expands required repetitions, so they are limited too.
MAX_REQUIRED = 8000


class GrammarLimits(Struct, frozen=True, kw_only=True):
    string: int = 1000
    """Characters of a string without maxLength."""
    key: int = 64
    """Characters of a property name that the schema leaves open."""
    items: int = 64
    """Items of an array without maxItems."""
    properties: int = 16
    """Properties beyond the named ones, where the schema allows any."""
    digits: int = 15
    """Digits before the decimal point; 15 are exact in a double."""
    decimals: int = 6
    """Digits after the decimal point."""
    depth: int = 3
    """Nesting levels where any value is allowed."""
    pattern_padding: int = 32
    """Characters before the match of an unanchored pattern."""
    anchored_patterns: bool = False
    """Patterns match the whole string even without anchors, as plugin documents expect."""
    alternatives: int = 1000
    """Combinations of anyOf and oneOf branches."""
    rules: int = 20_000
    """Rules of one grammar."""


class Grammar(Struct, frozen=True):
    text: str
    """GBNF for llama.cpp."""
    exact: bool
    """Every text of the grammar satisfies the schema."""
    unenforced: tuple[str, ...]
    """Keywords that the grammar does not enforce, as "path: keyword"; validate the generated text."""
    schema: dict[str, Any]
    """The schema upgraded to JSON Schema 2020-12, for validation."""
