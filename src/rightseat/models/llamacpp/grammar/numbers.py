"""Grammar of integers and decimals within bounds, digit by digit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil

from msgspec import Struct

from rightseat.models.llamacpp.grammar.charset import ranges
from rightseat.models.llamacpp.grammar.expr import EMPTY, NEVER, Expr, Lit, alt, chars, rep, seq
from rightseat.models.llamacpp.grammar.limits import Limits

# Bounds with more digits are not enforced.
MAX_DIGITS = 25
# A double holds this many digits exactly.
EXACT_DIGITS = 15


class Span(Struct, frozen=True):
    """A range of numbers; None is no bound."""

    low: Decimal | None = None
    high: Decimal | None = None
    above: bool = False
    """The lower bound is exclusive."""
    below: bool = False
    """The upper bound is exclusive."""


def _digits(low: str, high: str) -> Expr:
    return chars(ranges([(ord(low), ord(high))])) if low <= high else NEVER


def _any(low: int, high: int) -> Expr:
    return rep(_digits("0", "9"), low, high)


def _same_length(low: str, high: str) -> Expr:
    """Return digit strings between two of the same length."""
    if not low:
        return EMPTY
    rest = len(low) - 1
    if low[0] == high[0]:
        return seq(_digits(low[0], low[0]), _same_length(low[1:], high[1:]))
    if low[1:] == "0" * rest and high[1:] == "9" * rest:
        return seq(_digits(low[0], high[0]), _any(rest, rest))
    return alt(
        seq(_digits(low[0], low[0]), _same_length(low[1:], "9" * rest)),
        seq(_digits(chr(ord(low[0]) + 1), chr(ord(high[0]) - 1)), _any(rest, rest)),
        seq(_digits(high[0], high[0]), _same_length("0" * rest, high[1:])),
    )


def naturals(low: int, high: int) -> Expr:
    """Return non-negative integers without leading zeros."""
    if low > high:
        return NEVER
    found, whole = [], []
    for size in range(len(str(low)), len(str(high)) + 1):
        least, most = (10 ** (size - 1) if size > 1 else 0), 10**size - 1
        if size > 1 and low <= least and most <= high:
            whole.append(size)
        else:
            found.append(_same_length(str(max(low, least)), str(min(high, most))))
    if whole:
        found.append(seq(_digits("1", "9"), _any(whole[0] - 1, whole[-1] - 1)))
    return alt(*found)


@lru_cache(256)
def integer(span: Span, limits: Limits, step: int = 1) -> Expr:
    """Return multiples of `step`, a power of ten, within the range."""
    low = None if span.low is None else _ceiling(span.low, step, span.above)
    high = None if span.high is None else -_ceiling(-span.high, step, span.below)
    largest = 10 ** max(limits.digits, *(len(str(abs(bound))) + 1 for bound in (low or 0, high or 0))) - 1
    low, high = -largest if low is None else low, largest if high is None else high
    zeros = Lit("0" * (len(str(step)) - 1)) if step > 1 else EMPTY
    positive = seq(naturals(max(low, 1), high), zeros)
    negative = seq(Lit("-"), naturals(max(-high, 1), -low), zeros)
    return alt(Lit("0") if low <= 0 <= high else NEVER, positive, negative)


def _ceiling(bound: Decimal, step: int, beyond: bool) -> int:
    exact = Fraction(bound) / step
    whole = ceil(exact)
    return whole + 1 if beyond and whole == exact else whole


@lru_cache(256)
def number(span: Span, limits: Limits, places: int | None = None) -> Expr:
    """Return decimals within the range, with at most `places` decimal places."""
    if span == Span() and places is None:
        return free(limits)
    bounds = [bound for bound in (span.low, span.high) if bound is not None]
    long = max((len(str(abs(int(bound)))) for bound in bounds), default=1)
    needed = max((_places(bound) for bound in bounds), default=0)
    spare = max(needed, min(max(limits.decimals, needed + 1), EXACT_DIGITS - long))
    most = spare if places is None else min(places, spare)
    top = Decimal(10) ** max(limits.digits, long + 1)
    zero = Decimal(0)
    positive = _magnitude(
        max(span.low, zero) if span.low is not None else zero,
        span.high if span.high is not None else top,
        span.above and span.low is not None and span.low >= 0,
        span.below or span.high is None,
        most,
    )
    negative = (
        NEVER
        if span.low is not None and span.low >= 0
        else _magnitude(
            max(-span.high, zero) if span.high is not None else zero,
            -span.low if span.low is not None else top,
            span.below and span.high is not None and span.high <= 0,
            span.above or span.low is None,
            most,
        )
    )
    return alt(positive, seq(Lit("-"), negative))


def free(limits: Limits) -> Expr:
    whole = alt(Lit("0"), seq(_digits("1", "9"), _any(0, limits.digits - 1)))
    power = seq(alt(Lit("e"), Lit("E")), rep(alt(Lit("+"), Lit("-")), 0, 1), _any(1, 2))
    return seq(
        rep(Lit("-"), 0, 1), whole, rep(seq(Lit("."), _any(1, EXACT_DIGITS + 2)), 0, 1), rep(power, 0, 1)
    )


def _places(bound: Decimal) -> int:
    exponent = bound.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _fraction(bound: Decimal) -> str:
    """Return the digits after the point, without trailing zeros."""
    return f"{bound % 1:f}".partition(".")[2].rstrip("0")


def _magnitude(low: Decimal, high: Decimal, above: bool, below: bool, places: int) -> Expr:
    if low > high or (low == high and (above or below)):
        return NEVER
    first, last = int(low), int(high)
    under, over = _fraction(low), _fraction(high)
    if first == last:
        return seq(Lit(str(first)), _between(under, over, above, below, places))
    return alt(
        seq(Lit(str(first)), _from(under, above, places)),
        seq(naturals(first + 1, last - 1), rep(seq(Lit("."), _any(1, places)), 0, 1) if places else EMPTY),
        seq(Lit(str(last)), _upto(over, below, places)),
    )


def _point(body: Expr, bare: bool) -> Expr:
    """Return a point with digits after it; optional if `bare`."""
    dotted = seq(Lit("."), body)
    return rep(dotted, 0, 1) if bare else dotted


def _from(under: str, above: bool, places: int) -> Expr:
    if not under and not above:
        return _point(_any(1, places) if places else NEVER, True)
    return _point(_at_least(under, above, places), False)


def _at_least(digits: str, above: bool, places: int) -> Expr:
    if places <= 0:
        return EMPTY if not digits and not above else NEVER
    if not digits:
        if not above:
            return _any(0, places)
        return alt(*(seq(Lit("0" * n), _digits("1", "9"), _any(0, places - n - 1)) for n in range(places)))
    return alt(
        seq(_digits(chr(ord(digits[0]) + 1), "9"), _any(0, places - 1)),
        seq(Lit(digits[0]), _at_least(digits[1:], above, places - 1)),
    )


def _upto(over: str, below: bool, places: int) -> Expr:
    if not over:
        return NEVER if below else _point(rep(_digits("0", "0"), 1, places), True)
    return _point(_at_most(over, below, places), True)


def _at_most(digits: str, below: bool, places: int) -> Expr:
    """Return fraction digits up to `digits`, at least one; a shorter prefix is a smaller number."""
    if places <= 0:
        return NEVER
    if not digits:
        return NEVER if below else rep(_digits("0", "0"), 1, places)
    rest = _at_most(digits[1:], below, places - 1)
    # The text may stop here if the omitted digits are more than zero or the bound is inclusive.
    stop = len(digits) > 1 or not below
    same = rep(rest, 0, 1) if stop else rest
    return alt(seq(_digits("0", chr(ord(digits[0]) - 1)), _any(0, places - 1)), seq(Lit(digits[0]), same))


def _between(under: str, over: str, above: bool, below: bool, places: int) -> Expr:
    bare = not under and not above
    return _point(_within(under, over, above, below, places), bare)


def _within(under: str, over: str, above: bool, below: bool, places: int) -> Expr:
    if not under:
        reached = _at_most(over, below, places)
        if not above:
            return reached
        return _positive(over, below, places)
    if places <= 0:
        return NEVER
    high = over or "0"
    if under[0] == high[0]:
        rest = _within(under[1:], over[1:], above, below, places - 1)
        stop = len(under) == 1 and not above
        return seq(Lit(under[0]), rep(rest, 0, 1) if stop else rest)
    if under[0] > high[0]:
        return NEVER
    tail = _at_most(over[1:], below, places - 1)
    stop = len(over) > 1 or not below
    return alt(
        seq(Lit(under[0]), _at_least(under[1:], above, places - 1)),
        seq(_digits(chr(ord(under[0]) + 1), chr(ord(high[0]) - 1)), _any(0, places - 1)),
        seq(Lit(high[0]), rep(tail, 0, 1) if stop else tail),
    )


def _positive(over: str, below: bool, places: int) -> Expr:
    """Return fraction digits above zero and up to `over`, at least one."""
    if places <= 0 or not over:
        return NEVER
    if over[0] == "0":
        return seq(Lit("0"), _positive(over[1:], below, places - 1))
    rest = _at_most(over[1:], below, places - 1)
    stop = len(over) > 1 or not below
    same = seq(Lit(over[0]), rep(rest, 0, 1) if stop else rest)
    smaller = seq(_digits("1", chr(ord(over[0]) - 1)), _any(0, places - 1))
    return alt(same, smaller, seq(Lit("0"), _at_least("", True, places - 1)))
