"""Linear and log scales: numbers to coordinates, and ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

TICKS = 6
NICE_STEPS = (1, 2, 2.5, 5, 10)


class Scale(Struct, frozen=True):
    low: float
    high: float
    start: float
    """Where `low` is drawn; `end` is where `high` is."""
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        share = (value - low) / ((high - low) or 1)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            found = [10.0**power for power in range(first, last + 1)]
            return [tick for tick in found if self.low <= tick <= self.high] or [self.low, self.high]
        step = choose_tick_step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def choose_tick_step(span: float) -> float:
    """Return a round distance between ticks."""
    rough = span / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(nice * power for nice in NICE_STEPS if nice * power >= rough * (1 - 1e-9))


def make_scale(values: Iterable[float], start: float, end: float, *, zero: bool, log: bool = False) -> Scale:
    """Return a scale over all values, extended to round numbers."""
    numbers = list(values) or [0.0]
    low, high = min(numbers), max(numbers)
    if log and low > 0:
        return Scale(
            10.0 ** math.floor(math.log10(low)), 10.0 ** (math.floor(math.log10(high)) + 1), start, end, True
        )
    if zero:
        low, high = min(low, 0), max(high, 0)
    if low == high:
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (0, 1)
    step = choose_tick_step(high - low)
    return Scale(math.floor(low / step) * step, math.ceil(high / step) * step, start, end)


def format_tick(value: float) -> str:
    """Format a number for an axis (10k, 2M)."""
    for size, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if sign == 'k' else size):g}{sign}"
    return f"{value:g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"


def pick_label_positions(names: Sequence[str], most: int) -> list[int]:
    """Return the positions of at most `most` evenly spaced labels."""
    every = max(1, math.ceil(len(names) / most))
    return list(range(0, len(names), every))
