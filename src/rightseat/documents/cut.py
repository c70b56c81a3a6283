"""Cuts text to a number of estimated tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rightseat.types.tokens import estimate


def fits(text: str, budget: int) -> bool:
    # The estimate is between a quarter and one token per character: most texts need no counting.
    if len(text) <= budget:
        return True
    return len(text) <= 4 * budget and estimate(text) <= budget


def longest(size: int, budget: int, part: Callable[[int], str]) -> int:
    """Return the largest length for which `part(length)` fits."""
    low, high = min(size, max(budget, 0)), min(size, 4 * max(budget, 0))
    while low < high:
        half = (low + high + 1) // 2
        if fits(part(half), budget):
            low = half
        else:
            high = half - 1
    return low


def head(text: str, budget: int) -> str:
    return text[: longest(len(text), budget, lambda length: text[:length])]


def tail(text: str, budget: int) -> str:
    length = longest(len(text), budget, lambda length: text[len(text) - length :])
    return text[len(text) - length :]


def middle(text: str, budget: int, *, front: float = 0.5) -> str:
    """Return the beginning and the end of a text, with a note between them."""
    if fits(text, budget):
        return text
    gap = f" … {len(text)} characters, the middle left out … "
    room = budget - estimate(gap)
    if room < 8:
        # Too little for the note: keep the beginning.
        return head(text, max(budget - 1, 0)) + ("…" if budget > 0 else "")
    first = head(text, int(room * front))
    return first + gap + tail(text, room - estimate(first))


def share(sizes: Sequence[int], room: int) -> list[int]:
    """Divide a budget: small items get what they need, large ones equal shares of the rest."""
    given = [0] * len(sizes)
    left = len(sizes)
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        given[index] = max(min(sizes[index], room // left), 0)
        room -= given[index]
        left -= 1
    return given
