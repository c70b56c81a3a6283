"""How often repeated work is done: `ROUNDS` in the environment, ten where it is not set, `full` for all.

`make test` and `make test-all` do ten rounds of whatever is repeated (examples of a property, mutated
requests, kills), `make eval` the full number.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
DEFAULT = 10


def rounds(full: int) -> int:
    """Return how many of `full` rounds to do in this run."""
    asked = os.environ.get("ROUNDS", "")
    return full if asked == "full" else min(full, int(asked or DEFAULT))


def spread(items: Sequence[Item]) -> list[Item]:
    """Return `rounds(len(items))` of the items, evenly spread, the first and the last among them."""
    count = rounds(len(items))
    if count < 2:
        return list(items[:count])
    return [items[number * (len(items) - 1) // (count - 1)] for number in range(count)]
