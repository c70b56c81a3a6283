"""Cuts text to a number of estimated tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rightseat.types.text import estimate_tokens


def fits_budget(text: str, budget: int) -> bool:
    # The estimate is between a quarter and one token per character: most texts need no counting.
    if len(text) <= budget:
        return True
    return len(text) <= 4 * budget and estimate_tokens(text) <= budget


def find_longest(size: int, budget: int, part: Callable[[int], str]) -> int:
    """Return the largest length for which `part(length)` fits."""
    low, high = min(size, max(budget, 0)), min(size, 4 * max(budget, 0))
    while low < high:
        half = (low + high + 1) // 2
        if fits_budget(part(half), budget):
            low = half
        else:
            high = half - 1
    return low


def take_head(text: str, budget: int) -> str:
    return text[: find_longest(len(text), budget, lambda length: text[:length])]


def take_tail(text: str, budget: int) -> str:
    length = find_longest(len(text), budget, lambda length: text[len(text) - length :])
    return text[len(text) - length :]


def cut_middle(text: str, budget: int, *, front: float = 0.5) -> str:
    """Return the beginning and the end of a text, with a note between them."""
    if fits_budget(text, budget):
        return text
    gap = f" … {len(text)} characters, the middle left out … "
    room = budget - estimate_tokens(gap)
    if room < 8:
        # Too little for the note: keep the beginning.
        return take_head(text, max(budget - 1, 0)) + ("…" if budget > 0 else "")
    first = take_head(text, int(room * front))
    return first + gap + take_tail(text, room - estimate_tokens(first))


def share_budget(sizes: Sequence[int], room: int) -> list[int]:
    """Divide a budget: small items get what they need, large ones equal shares of the rest."""
    shares = [0] * len(sizes)
    left = len(sizes)
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        shares[index] = max(min(sizes[index], room // left), 0)
        room -= shares[index]
        left -= 1
    return shares
