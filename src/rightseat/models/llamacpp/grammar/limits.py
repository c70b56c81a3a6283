"""How far a grammar lets a model go where the schema sets no bound: a small model never stops by itself."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

# llama.cpp refuses a repetition of 2000 and more.
MAX_REPEAT = 1900
# What must be repeated is written out by the engine, so there is an end to that too.
MAX_REQUIRED = 8000


class Limits(Struct, frozen=True, kw_only=True):
    string: int = 1000
    """Characters of a string without maxLength."""
    key: int = 64
    """Characters of a property's name that the schema leaves open."""
    items: int = 64
    """Items of an array without maxItems."""
    properties: int = 16
    """Properties beyond the named ones, where the schema allows any."""
    digits: int = 15
    """Digits before the decimal point; 15 are exact in a double."""
    decimals: int = 6
    """Digits after the decimal point."""
    depth: int = 3
    """Levels of nesting where any value is allowed."""
    around: int = 32
    """Characters before what an unanchored pattern asks for."""
    whole: bool = False
    """A pattern binds the whole string, with anchors or without, as plugin documents mean it."""
    alternatives: int = 1000
    """Ways in which anyOf and oneOf may combine."""
    rules: int = 20_000
    """Rules of one grammar."""


class Grammar(Struct, frozen=True):
    text: str
    """GBNF for llama.cpp."""
    exact: bool
    """Every text that the grammar lets pass satisfies the schema."""
    unsaid: tuple[str, ...]
    """What the grammar does not enforce, as "path: keyword"; check the text after generation."""
    schema: dict[str, Any]
    """The schema in today's dialect, to check against: OpenAPI's `nullable` and older spellings rewritten."""
