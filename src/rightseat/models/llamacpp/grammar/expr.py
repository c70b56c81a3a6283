"""Expressions of grammar rules. Lengths count characters of a JSON string, however they are escaped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from rightseat.models.llamacpp.grammar.charset import Ranges, contains


class Lit(Struct, frozen=True):
    """Literal JSON text."""

    text: str


class Chars(Struct, frozen=True):
    """One character of a JSON string, from a set."""

    ranges: Ranges


class Seq(Struct, frozen=True):
    parts: tuple[Expr, ...]


class Alt(Struct, frozen=True):
    options: tuple[Expr, ...]


class Rep(Struct, frozen=True):
    body: Expr
    low: int
    high: int


class Ref(Struct, frozen=True):
    name: str


class RawGbnf(Struct, frozen=True):
    """GBNF written by hand."""

    text: str


Expr: TypeAlias = Lit | Chars | Seq | Alt | Rep | Ref | RawGbnf
NEVER = Alt(())
EMPTY = Seq(())
# Limit of length splits between two parts of varying length.
MAX_SPLITS = 64


def seq(*parts: Expr) -> Expr:
    flat: list[Expr] = []
    for part in parts:
        if part == NEVER:
            return NEVER
        flat += part.parts if isinstance(part, Seq) else (part,)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(*options: Expr) -> Expr:
    flat: dict[Expr, None] = {}
    for option in options:
        flat.update(dict.fromkeys(option.options if isinstance(option, Alt) else (option,)))
    return next(iter(flat)) if len(flat) == 1 else Alt(tuple(flat))


def rep(body: Expr, low: int, high: int) -> Expr:
    if high < low:
        return NEVER
    if body == NEVER:
        return EMPTY if low == 0 else NEVER
    if high == 0 or body == EMPTY:
        return EMPTY
    return body if low == high == 1 else Rep(body, low, high)


def chars(ranges: Ranges) -> Expr:
    return Chars(ranges) if ranges else NEVER


def list_children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Seq(children) | Alt(children):
            return children
        case Rep(body):
            return (body,)
        case _:
            return ()


def map_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    match expr:
        case Seq(parts):
            return seq(*map(change, parts))
        case Alt(options):
            return alt(*map(change, options))
        case Rep(body, low, high):
            return rep(change(body), low, high)
        case _:
            return expr


def measure_length(expr: Expr) -> tuple[int, int]:
    """Return the minimum and maximum length."""
    match expr:
        case Chars():
            return 1, 1
        case Seq(parts):
            sizes = [measure_length(part) for part in parts]
            return sum(low for low, _ in sizes), sum(high for _, high in sizes)
        case Alt(options):
            sizes = [measure_length(option) for option in options]
            return min((low for low, _ in sizes), default=0), max((high for _, high in sizes), default=0)
        case Rep(body, low, high):
            least, most = measure_length(body)
            return least * low, most * high
        case _:
            raise TypeError(f"{expr} is no content of a string")


def fit_length(expr: Expr, low: int, high: int, split: bool = True) -> Expr | None:
    """Restrict the expression's length; None if that is impossible or needs too many rules."""
    least, most = measure_length(expr)
    if low <= least and most <= high:
        return expr
    if most < low or least > high:
        return NEVER
    match expr:
        case Alt(options):
            fitted = [fit_length(option, low, high, split) for option in options]
            return None if None in fitted else alt(*(option for option in fitted if option is not None))
        case Rep(body, first, last):
            size, widest = measure_length(body)
            if size == widest:
                return rep(body, max(first, -(-low // size)), min(last, high // size))
            return None
        case Seq(parts):
            return _fit_parts(parts, low, high, split)
        case _:
            return None


def _fit_parts(parts: tuple[Expr, ...], low: int, high: int, split: bool) -> Expr | None:
    sizes = [measure_length(part) for part in parts]
    varying = [at for at, (least, most) in enumerate(sizes) if least != most]
    if not varying:
        return None
    at, (least, most) = varying[0], sizes[varying[0]]
    rest = seq(*parts[at + 1 :])
    fixed = sum(size for size, _ in sizes[:at])
    rest_least, rest_most = measure_length(rest)
    if rest_least == rest_most:
        fitted_part = fit_length(parts[at], low - fixed - rest_least, high - fixed - rest_least, split)
        return None if fitted_part is None else seq(*parts[:at], fitted_part, rest)
    if not split or len(varying) > 2 or min(most, high) - least >= MAX_SPLITS:
        return None
    splits: list[Expr] = []
    for size in range(least, min(most, high) + 1):
        fitted_part = fit_length(parts[at], size, size, False)
        fitted_rest = fit_length(rest, low - fixed - size, high - fixed - size, False)
        if fitted_part is None or fitted_rest is None:
            return None
        splits.append(seq(fitted_part, fitted_rest))
    return seq(*parts[:at], alt(*splits))


def matches_text(expr: Expr, text: str) -> bool:
    return len(text) in _match_ends(expr, text, {0})


def _match_ends(expr: Expr, text: str, starts: set[int]) -> set[int]:
    match expr:
        case Chars(ranges):
            return {at + 1 for at in starts if at < len(text) and contains(ranges, ord(text[at]))}
        case Seq(parts):
            for part in parts:
                starts = _match_ends(part, text, starts)
            return starts
        case Alt(options):
            return set().union(*(_match_ends(option, text, starts) for option in options))
        case Rep(body, low, high):
            for _ in range(low):
                before, starts = starts, _match_ends(body, text, starts)
                if starts == before:
                    break
            ends = set(starts)
            for _ in range(high - low):
                starts = _match_ends(body, text, starts) - ends
                if not starts:
                    break
                ends |= starts
            return ends
        case _:
            return set()
