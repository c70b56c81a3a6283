"""Grammar of integers and decimals within bounds, digit by digit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil

from msgspec import Struct

from rightseat.models.llamacpp.grammar.charset import merge_ranges
from rightseat.models.llamacpp.grammar.expr import EMPTY, NEVER, Expr, Lit, alt, chars, rep, seq
from rightseat.models.llamacpp.grammar.rules import GrammarLimits

# Bounds with more digits are not enforced.
MAX_DIGITS = 25
# A double holds this many digits exactly.
EXACT_DIGITS = 15


class NumberRange(Struct, frozen=True):
    """A range of numbers; None is no bound, an excluded bound is exclusive."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_excluded: bool = False
    high_excluded: bool = False


def _digit_range(low: str, high: str) -> Expr:
    return chars(merge_ranges([(ord(low), ord(high))])) if low <= high else NEVER


def _any_digits(low: int, high: int) -> Expr:
    return rep(_digit_range("0", "9"), low, high)


def _digits_between(low: str, high: str, *, fraction: bool = False, point: Expr = EMPTY) -> Expr:
    """Return `point` and digits between two digit strings of the same length.

    `fraction`: digits at the end, perhaps all and the point with them, may be omitted where they may be zeros.
    """
    if not low:
        return EMPTY
    rest = len(low) - 1
    zeros, nines, any_rest = "0" * rest, "9" * rest, _any_digits(0 if fraction else rest, rest)
    if (low[1:], high[1:]) == (zeros, nines):
        digits = seq(_digit_range(low[0], high[0]), any_rest)
    elif low[0] == high[0]:
        digits = seq(_digit_range(low[0], low[0]), _digits_between(low[1:], high[1:], fraction=fraction))
    else:
        digits = alt(
            seq(_digit_range(low[0], low[0]), _digits_between(low[1:], nines, fraction=fraction)),
            seq(_digit_range(chr(ord(low[0]) + 1), chr(ord(high[0]) - 1)), any_rest),
            seq(_digit_range(high[0], high[0]), _digits_between(zeros, high[1:], fraction=fraction)),
        )
    return rep(seq(point, digits), 0, 1) if fraction and not low.strip("0") else seq(point, digits)


def _build_fraction(low: str, high: str) -> Expr:
    return _digits_between(low, high, fraction=True, point=Lit("."))


def build_naturals(low: int, high: int) -> Expr:
    """Return non-negative integers without leading zeros."""
    if low > high:
        return NEVER
    options, full_sizes = [], []
    for size in range(len(str(low)), len(str(high)) + 1):
        least, most = (10 ** (size - 1) if size > 1 else 0), 10**size - 1
        if size > 1 and low <= least and most <= high:
            full_sizes.append(size)
        else:
            options.append(_digits_between(str(max(low, least)), str(min(high, most))))
    if full_sizes:
        options.append(seq(_digit_range("1", "9"), _any_digits(full_sizes[0] - 1, full_sizes[-1] - 1)))
    return alt(*options)


@lru_cache(256)
def build_integer(span: NumberRange, limits: GrammarLimits, step: int = 1) -> Expr:
    """Return multiples of `step`, a power of ten, within the range."""
    low = None if span.low is None else ceil_to_step(span.low, step, span.low_excluded)
    high = None if span.high is None else -ceil_to_step(-span.high, step, span.high_excluded)
    largest = 10 ** max(limits.digits, *(len(str(abs(bound))) + 1 for bound in (low or 0, high or 0))) - 1
    low, high = -largest if low is None else low, largest if high is None else high
    zeros = Lit("0" * (len(str(step)) - 1)) if step > 1 else EMPTY
    positive = seq(build_naturals(max(low, 1), high), zeros)
    negative = seq(Lit("-"), build_naturals(max(-high, 1), -low), zeros)
    return alt(Lit("0") if low <= 0 <= high else NEVER, positive, negative)


def ceil_to_step(bound: Decimal, step: int | Fraction, excluded: bool) -> int:
    """Return the number of steps to the first multiple of `step` at or, if `excluded`, above the bound."""
    exact = Fraction(bound) / step
    whole = ceil(exact)
    return whole + 1 if excluded and whole == exact else whole


@lru_cache(256)
def build_number(span: NumberRange, limits: GrammarLimits, places: int | None = None) -> Expr:
    """Return decimals within the range, with at most `places` decimal places."""
    if span == NumberRange() and places is None:
        return build_any_number(limits)
    bounds = [bound for bound in (span.low, span.high) if bound is not None]
    long = max((len(str(abs(int(bound)))) for bound in bounds), default=1)
    needed = max((_count_decimals(bound) for bound in bounds), default=0)
    spare = max(needed, min(max(limits.decimals, needed + 1), EXACT_DIGITS - long))
    most = spare if places is None else min(places, spare)
    top = Decimal(10) ** max(limits.digits, long + 1)
    low, low_excluded = (-top, True) if span.low is None else (span.low, span.low_excluded)
    high, high_excluded = (top, True) if span.high is None else (span.high, span.high_excluded)
    positive = _build_magnitude(low, high, low_excluded, high_excluded, most)
    negative = _build_magnitude(-high, -low, high_excluded, low_excluded, most) if low < 0 else NEVER
    return alt(positive, seq(Lit("-"), negative))


def build_any_number(limits: GrammarLimits) -> Expr:
    whole = alt(Lit("0"), seq(_digit_range("1", "9"), _any_digits(0, limits.digits - 1)))
    power = seq(alt(Lit("e"), Lit("E")), rep(alt(Lit("+"), Lit("-")), 0, 1), _any_digits(1, 2))
    return seq(rep(Lit("-"), 0, 1), whole, rep(seq(Lit("."), _any_digits(1, EXACT_DIGITS + 2)), 0, 1), rep(power, 0, 1))


def _count_decimals(bound: Decimal) -> int:
    exponent = bound.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _build_magnitude(low: Decimal, high: Decimal, low_excluded: bool, high_excluded: bool, places: int) -> Expr:
    """Return the non-negative decimals between two bounds."""
    scale = 10**places
    first = max(0, ceil_to_step(low, Fraction(1, scale), low_excluded))
    last = -ceil_to_step(-high, Fraction(1, scale), high_excluded)
    if first > last:
        return NEVER
    zeros, nines = "0" * places, "9" * places
    (low_whole, low_digits), (high_whole, high_digits) = (_split_digits(number, places) for number in (first, last))
    if low_whole == high_whole:
        return seq(Lit(str(low_whole)), _build_fraction(low_digits, high_digits))
    options: list[Expr] = []
    if low_digits != zeros:
        options.append(seq(Lit(str(low_whole)), _build_fraction(low_digits, nines)))
        low_whole += 1
    if high_digits != nines:
        options.append(seq(Lit(str(high_whole)), _build_fraction(zeros, high_digits)))
        high_whole -= 1
    return alt(*options, seq(build_naturals(low_whole, high_whole), _build_fraction(zeros, nines)))


def _split_digits(number: int, places: int) -> tuple[int, str]:
    """Return the whole part and the digits after the point of `number` / 10 ** `places`."""
    whole, digits = divmod(number, 10**places)
    return whole, f"{digits:0{places}}" if places else ""
