"""Limits of GraphQL documents: validation time grows with the square of the size."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1)]


class GraphQLLimits(Struct, frozen=True, kw_only=True):
    # The clients' longest document has 3,507 characters, 272 tokens, 11 levels and 9 fields in one selection.
    max_characters: Count = 20_000
    """Characters of a document."""
    max_tokens: Count = 1000
    """Words and signs of a document."""
    max_depth: Count = 20
    """Levels, with fragments followed."""
    max_selections: Count = 64
    """Fields in one place."""
    max_aliases: Count = 16
    """Fields under another name."""
    max_directives: Count = 64
    """Directives, such as @stream."""
    max_definitions: Count = 16
    """Operations and fragments."""
    max_answer_mb: Count = 16
    """Of an answer to a document that no known client sends: it is held until it is over."""
