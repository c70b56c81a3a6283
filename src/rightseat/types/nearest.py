"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return close[0] if close else None


def meant(word: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests the closest name, or lists all names if none is close."""
    listed = list(known)
    near = nearest(word, listed)
    return f"Did you mean {near!r}?" if near else f"Known: {', '.join(listed)}."
