"""What somebody meant: the known word nearest to the one that was written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return close[0] if close else None


def meant(word: str, known: Iterable[str]) -> str:
    """A sentence with the nearest word; where none is near, all that are known."""
    listed = list(known)
    near = nearest(word, listed)
    return f"Did you mean {near!r}?" if near else f"Known: {', '.join(listed)}."
