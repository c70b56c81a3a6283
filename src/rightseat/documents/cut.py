"""Cutting text to a number of tokens, as history.py estimates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rightseat.types.tokens import estimate


def fits(text: str, budget: int) -> bool:
    # A character is between a quarter of a token and a whole one: most texts need no counting.
    if len(text) <= budget:
        return True
    return len(text) <= 4 * budget and estimate(text) <= budget


def longest(size: int, budget: int, part: Callable[[int], str]) -> int:
    """The largest length for which `part(length)` fits."""
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
    """The beginning and the end, with a word between them of how much is gone."""
    if fits(text, budget):
        return text
    gap = f" … {len(text)} characters, the middle left out … "
    room = budget - estimate(gap)
    if room < 8:
        # Too little for words: the beginning says most.
        return head(text, max(budget - 1, 0)) + ("…" if budget > 0 else "")
    first = head(text, int(room * front))
    return first + gap + tail(text, room - estimate(first))


def share(sizes: Sequence[int], room: int) -> list[int]:
    """How much each gets of the room: small ones what they need, large ones equal parts of the rest."""
    given = [0] * len(sizes)
    left = len(sizes)
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        given[index] = max(min(sizes[index], room // left), 0)
        room -= given[index]
        left -= 1
    return given
