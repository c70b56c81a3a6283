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
    """A range of numbers; None is no bound."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_excluded: bool = False
    """The lower bound is exclusive."""
    high_excluded: bool = False
    """The upper bound is exclusive."""


def _digit_range(low: str, high: str) -> Expr:
    return chars(merge_ranges([(ord(low), ord(high))])) if low <= high else NEVER


def _any_digits(low: int, high: int) -> Expr:
    return rep(_digit_range("0", "9"), low, high)


def _digits_between(low: str, high: str) -> Expr:
    """Return digit strings between two of the same length."""
    if not low:
        return EMPTY
    rest = len(low) - 1
    if low[0] == high[0]:
        return seq(_digit_range(low[0], low[0]), _digits_between(low[1:], high[1:]))
    if low[1:] == "0" * rest and high[1:] == "9" * rest:
        return seq(_digit_range(low[0], high[0]), _any_digits(rest, rest))
    return alt(
        seq(_digit_range(low[0], low[0]), _digits_between(low[1:], "9" * rest)),
        seq(_digit_range(chr(ord(low[0]) + 1), chr(ord(high[0]) - 1)), _any_digits(rest, rest)),
        seq(_digit_range(high[0], high[0]), _digits_between("0" * rest, high[1:])),
    )


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
    low = None if span.low is None else _ceiling(span.low, step, span.low_excluded)
    high = None if span.high is None else -_ceiling(-span.high, step, span.high_excluded)
    largest = 10 ** max(limits.digits, *(len(str(abs(bound))) + 1 for bound in (low or 0, high or 0))) - 1
    low, high = -largest if low is None else low, largest if high is None else high
    zeros = Lit("0" * (len(str(step)) - 1)) if step > 1 else EMPTY
    positive = seq(build_naturals(max(low, 1), high), zeros)
    negative = seq(Lit("-"), build_naturals(max(-high, 1), -low), zeros)
    return alt(Lit("0") if low <= 0 <= high else NEVER, positive, negative)


def _ceiling(bound: Decimal, step: int, excluded: bool) -> int:
    exact = Fraction(bound) / step
    whole = ceil(exact)
    return whole + 1 if excluded and whole == exact else whole


@lru_cache(256)
def build_number(span: NumberRange, limits: GrammarLimits, pointers: int | None = None) -> Expr:
    """Return decimals within the range, with at most `places` decimal places."""
    if span == NumberRange() and pointers is None:
        return build_any_number(limits)
    bounds = [bound for bound in (span.low, span.high) if bound is not None]
    long = max((len(str(abs(int(bound)))) for bound in bounds), default=1)
    needed = max((_count_decimals(bound) for bound in bounds), default=0)
    spare = max(needed, min(max(limits.decimals, needed + 1), EXACT_DIGITS - long))
    most = spare if pointers is None else min(pointers, spare)
    top = Decimal(10) ** max(limits.digits, long + 1)
    zero = Decimal(0)
    positive = _build_magnitude(
        max(span.low, zero) if span.low is not None else zero,
        span.high if span.high is not None else top,
        span.low_excluded and span.low is not None and span.low >= 0,
        span.high_excluded or span.high is None,
        most,
    )
    negative = (
        NEVER
        if span.low is not None and span.low >= 0
        else _build_magnitude(
            max(-span.high, zero) if span.high is not None else zero,
            -span.low if span.low is not None else top,
            span.high_excluded and span.high is not None and span.high <= 0,
            span.low_excluded or span.low is None,
            most,
        )
    )
    return alt(positive, seq(Lit("-"), negative))


def build_any_number(limits: GrammarLimits) -> Expr:
    whole = alt(Lit("0"), seq(_digit_range("1", "9"), _any_digits(0, limits.digits - 1)))
    power = seq(alt(Lit("e"), Lit("E")), rep(alt(Lit("+"), Lit("-")), 0, 1), _any_digits(1, 2))
    return seq(rep(Lit("-"), 0, 1), whole, rep(seq(Lit("."), _any_digits(1, EXACT_DIGITS + 2)), 0, 1), rep(power, 0, 1))


def _count_decimals(bound: Decimal) -> int:
    exponent = bound.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _fraction_digits(bound: Decimal) -> str:
    """Return the digits after the point, without trailing zeros."""
    return f"{bound % 1:f}".partition(".")[2].rstrip("0")


def _build_magnitude(low: Decimal, high: Decimal, above: bool, below: bool, pointers: int) -> Expr:
    if low > high or (low == high and (above or below)):
        return NEVER
    first, last = int(low), int(high)
    under, over = _fraction_digits(low), _fraction_digits(high)
    if first == last:
        return seq(Lit(str(first)), _fraction_between(under, over, above, below, pointers))
    return alt(
        seq(Lit(str(first)), _fraction_from(under, above, pointers)),
        seq(
            build_naturals(first + 1, last - 1),
            rep(seq(Lit("."), _any_digits(1, pointers)), 0, 1) if pointers else EMPTY,
        ),
        seq(Lit(str(last)), _fraction_up_to(over, below, pointers)),
    )


def _build_point(body: Expr, bare: bool) -> Expr:
    """Return a point with digits after it; optional if `bare`."""
    dotted = seq(Lit("."), body)
    return rep(dotted, 0, 1) if bare else dotted


def _fraction_from(under: str, above: bool, pointers: int) -> Expr:
    if not under and not above:
        return _build_point(_any_digits(1, pointers) if pointers else NEVER, True)
    return _build_point(_digits_at_least(under, above, pointers), False)


def _digits_at_least(digits: str, above: bool, pointers: int) -> Expr:
    if pointers <= 0:
        return EMPTY if not digits and not above else NEVER
    if not digits:
        if not above:
            return _any_digits(0, pointers)
        return alt(
            *(seq(Lit("0" * n), _digit_range("1", "9"), _any_digits(0, pointers - n - 1)) for n in range(pointers))
        )
    return alt(
        seq(_digit_range(chr(ord(digits[0]) + 1), "9"), _any_digits(0, pointers - 1)),
        seq(Lit(digits[0]), _digits_at_least(digits[1:], above, pointers - 1)),
    )


def _fraction_up_to(over: str, below: bool, pointers: int) -> Expr:
    if not over:
        return NEVER if below else _build_point(rep(_digit_range("0", "0"), 1, pointers), True)
    return _build_point(_digits_at_most(over, below, pointers), True)


def _digits_at_most(digits: str, below: bool, pointers: int) -> Expr:
    """Return fraction digits up to `digits`, at least one; a shorter prefix is a smaller number."""
    if pointers <= 0:
        return NEVER
    if not digits:
        return NEVER if below else rep(_digit_range("0", "0"), 1, pointers)
    rest = _digits_at_most(digits[1:], below, pointers - 1)
    # The text may stop here if the omitted digits are more than zero or the bound is inclusive.
    stop = len(digits) > 1 or not below
    same = rep(rest, 0, 1) if stop else rest
    return alt(seq(_digit_range("0", chr(ord(digits[0]) - 1)), _any_digits(0, pointers - 1)), seq(Lit(digits[0]), same))


def _fraction_between(under: str, over: str, above: bool, below: bool, pointers: int) -> Expr:
    bare = not under and not above
    return _build_point(_digits_within(under, over, above, below, pointers), bare)


def _digits_within(under: str, over: str, above: bool, below: bool, pointers: int) -> Expr:
    if not under:
        reached = _digits_at_most(over, below, pointers)
        if not above:
            return reached
        return _positive_digits_up_to(over, below, pointers)
    if pointers <= 0:
        return NEVER
    high = over or "0"
    if under[0] == high[0]:
        rest = _digits_within(under[1:], over[1:], above, below, pointers - 1)
        stop = len(under) == 1 and not above
        return seq(Lit(under[0]), rep(rest, 0, 1) if stop else rest)
    if under[0] > high[0]:
        return NEVER
    tail = _digits_at_most(over[1:], below, pointers - 1)
    stop = len(over) > 1 or not below
    return alt(
        seq(Lit(under[0]), _digits_at_least(under[1:], above, pointers - 1)),
        seq(_digit_range(chr(ord(under[0]) + 1), chr(ord(high[0]) - 1)), _any_digits(0, pointers - 1)),
        seq(Lit(high[0]), rep(tail, 0, 1) if stop else tail),
    )


def _positive_digits_up_to(over: str, below: bool, pointers: int) -> Expr:
    """Return fraction digits above zero and up to `over`, at least one."""
    if pointers <= 0 or not over:
        return NEVER
    if over[0] == "0":
        return seq(Lit("0"), _positive_digits_up_to(over[1:], below, pointers - 1))
    rest = _digits_at_most(over[1:], below, pointers - 1)
    stop = len(over) > 1 or not below
    same = seq(Lit(over[0]), rep(rest, 0, 1) if stop else rest)
    smaller = seq(_digit_range("1", chr(ord(over[0]) - 1)), _any_digits(0, pointers - 1))
    return alt(same, smaller, seq(Lit("0"), _digits_at_least("", True, pointers - 1)))
