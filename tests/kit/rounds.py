"""How often repeated work is done: `ROUNDS` in the environment, ten where it is not set, `full` for all.

`make test` and `make test-all` do ten rounds of whatever is repeated (examples of a property, mutated
requests, kills), `make eval` the full number.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
DEFAULT = 10


def limit_rounds(full: int) -> int:
    """Return how many of `full` rounds to do in this run."""
    setting = os.environ.get("ROUNDS", "")
    return full if setting == "full" else min(full, int(setting or DEFAULT))


def sample_evenly(items: Sequence[Item]) -> list[Item]:
    """Return `rounds(len(items))` of the items, evenly spread, the first and the last among them."""
    count = limit_rounds(len(items))
    if count < 2:
        return list(items[:count])
    return [items[number * (len(items) - 1) // (count - 1)] for number in range(count)]
