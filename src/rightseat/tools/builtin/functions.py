"""Functions and constants of `calculate`'s expressions."""

from __future__ import annotations

import calendar
import inspect
import math
from collections.abc import Callable, Sequence
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, Inexact, getcontext
from typing import Any

from rightseat.tools.builtin import dates
from rightseat.tools.builtin.expression import (
    CalculationError,
    Clock,
    UndefinedResult,
    Value,
    format_value,
    move_date,
    to_day,
    to_number,
)
from rightseat.tools.builtin.units import convert_units
from rightseat.types.text import closest_match

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
E = Decimal("2.71828182845904523536028747135266249775724709369995957496696763")
CONSTANTS = {"pi": PI, "e": E, "tau": 2 * PI}
MAX_FACTORIAL = 1000
MAX_INTEGER = Decimal(10) ** 100
FLOAT_DIGITS = 15


def factorial(number: Decimal) -> Decimal:
    return to_decimal(math.factorial(to_integer(number, 0, MAX_FACTORIAL)))


def to_decimal(integer: int) -> Decimal:
    """Return an integer as a number, rounded to the precision of expressions."""
    return +Decimal(integer)


def to_integer(value: Value, low: int | None = None, high: int | None = None) -> int:
    number = to_number(value)
    if number != number.to_integral_value() or abs(number) > MAX_INTEGER:
        raise CalculationError(f"{format_value(number)[:40]} is not a whole number that can be used here.")
    if (low is not None and number < low) or (high is not None and number > high):
        raise CalculationError(f"{format_value(number)[:40]} is not between {low} and {high}.")
    return int(number)


def flatten(values: Sequence[Value]) -> list[Decimal]:
    numbers: list[Decimal] = []
    for value in values:
        numbers.extend(flatten(value) if isinstance(value, tuple) else [to_number(value)])
    if not numbers:
        raise CalculationError("The function needs at least one number.")
    return numbers


def average(values: Sequence[Value]) -> Decimal:
    numbers = flatten(values)
    return sum(numbers, Decimal(0)) / len(numbers)


def median(values: Sequence[Value]) -> Decimal:
    numbers = sorted(flatten(values))
    middle = len(numbers) // 2
    return numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2


def standard_deviation(values: Sequence[Value]) -> Decimal:
    numbers = flatten(values)
    if len(numbers) < 2:
        raise CalculationError("stdev needs at least two numbers.")
    mean = sum(numbers, Decimal(0)) / len(numbers)
    return (sum(((number - mean) ** 2 for number in numbers), Decimal(0)) / (len(numbers) - 1)).sqrt()


def product(values: Sequence[Value]) -> Decimal:
    result = Decimal(1)
    for number in flatten(values):
        result *= number
    return result


def extreme(choose: Callable[[Any], Any]) -> Callable[[Sequence[Value]], Value]:
    """Make min or max, which take numbers or dates."""

    def choose_value(values: Sequence[Value]) -> Value:
        if values and all(isinstance(value, date) for value in values):
            return choose(to_day(value) for value in values if isinstance(value, date))  # type: ignore[no-any-return]
        return choose(flatten(values))  # type: ignore[no-any-return]

    return choose_value


def round_number(value: Value, places: Value = Decimal(0)) -> Decimal:
    number, digits = to_number(value), to_integer(places, -50, 50)
    scaled = number.scaleb(digits).to_integral_value(ROUND_HALF_UP).scaleb(-digits)
    return scaled.quantize(Decimal(1)) if digits <= 0 else scaled


def round_to(rounding: str) -> Callable[[Value], Decimal]:
    return lambda value: to_number(value).to_integral_value(rounding)


def use_float(function: Callable[[float], float]) -> Callable[[Value], Decimal]:
    """Make a function of a float one of decimals, rounded to the digits that a float has."""

    def compute_rounded(value: Value) -> Decimal:
        try:
            result = function(float(to_number(value)))
        except ValueError:
            raise CalculationError(f"The function has no value at {format_value(value)[:40]}.") from None
        number = Context(prec=FLOAT_DIGITS).create_decimal(result)
        # sin(pi) is not exactly 0 for floats.
        getcontext().flags[Inexact] = True
        return Decimal(0) if abs(number) < Decimal("1e-15") else number

    return compute_rounded


def logarithm(value: Value, base: Value = Decimal(10)) -> Decimal:
    number, root = to_number(value), to_number(base)
    if number <= 0 or root <= 0 or root == 1:
        raise CalculationError("A logarithm needs a positive number, and a positive base other than 1.")
    return number.log10() if root == 10 else round_number(number.ln() / root.ln(), Decimal(40))


def natural_logarithm(value: Value) -> Decimal:
    return logarithm(value, E)


def square_root(value: Value) -> Decimal:
    number = to_number(value)
    if number < 0:
        raise UndefinedResult("A negative number has no real square root.")
    return number.sqrt()


def cube_root(value: Value) -> Decimal:
    number = to_number(value)
    root = round_number(abs(number) ** (Decimal(1) / 3), Decimal(40)) if number else number
    return root.copy_sign(number)


def common_factor(values: Sequence[Value]) -> Decimal:
    return to_decimal(math.gcd(*map(to_integer, flatten(values))))


def common_multiple(values: Sequence[Value]) -> Decimal:
    numbers = [to_integer(number, -(10**9), 10**9) for number in flatten(values)]
    return to_decimal(math.lcm(*numbers[:20]))


def combinations(total: Value, chosen: Value) -> Decimal:
    return to_decimal(math.comb(to_integer(total, 0, MAX_FACTORIAL), to_integer(chosen, 0, MAX_FACTORIAL)))


def permutations(total: Value, chosen: Value) -> Decimal:
    return to_decimal(math.perm(to_integer(total, 0, MAX_FACTORIAL), to_integer(chosen, 0, MAX_FACTORIAL)))


def raise_power(base: Value, exponent: Value) -> Decimal:
    if abs(to_number(exponent)) > 100_000:
        raise CalculationError("The exponent is too large.")
    return to_number(base) ** to_number(exponent)


def percent_change(before: Value, after: Value) -> Decimal:
    return (to_number(after) - to_number(before)) / abs(to_number(before)) * 100


def convert(amount: Value, source: Value, target: Value) -> Decimal:
    return convert_units(to_number(amount), str(source), str(target))


def count_days(first: Value, second: Value, clock: Clock) -> Decimal:
    days = (dates.to_date(second, clock) - dates.to_date(first, clock)).days
    return Decimal(days)


# Each takes its arguments one by one.
PLAIN: dict[str, Callable[..., Value]] = {
    "sqrt": square_root,
    "cbrt": cube_root,
    "round": round_number,
    "floor": round_to(ROUND_FLOOR),
    "ceil": round_to(ROUND_CEILING),
    "int": round_to("ROUND_DOWN"),
    "abs": lambda value: abs(to_number(value)),
    "sign": lambda value: Decimal((to_number(value) > 0) - (to_number(value) < 0)),
    "exp": lambda value: to_number(value).exp(),
    "ln": natural_logarithm,
    "log": logarithm,
    "log10": logarithm,
    "log2": lambda value: logarithm(value, Decimal(2)),
    "pow": raise_power,
    "mod": lambda left, right: (
        to_number(left) - to_number(right) * round_to(ROUND_FLOOR)(to_number(left) / to_number(right))
    ),
    "factorial": lambda value: factorial(to_number(value)),
    "comb": combinations,
    "perm": permutations,
    "percent_change": percent_change,
    "convert": convert,
    "degrees": lambda value: to_number(value) * 180 / PI,
    "radians": lambda value: to_number(value) * PI / 180,
    **{
        name: use_float(getattr(math, name))
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
    },
    "days_in_month": lambda year, month: Decimal(
        calendar.monthrange(to_integer(year, 1, 9999), to_integer(month, 1, 12))[1]
    ),
    "days_in_year": lambda year: Decimal(365 + calendar.isleap(to_integer(year, 1, 9999))),
    "is_leap_year": lambda year: calendar.isleap(to_integer(year, 1, 9999)),
}
# Each takes any number of arguments.
SPREAD: dict[str, Callable[[Sequence[Value]], Value]] = {
    "sum": lambda values: sum(flatten(values), Decimal(0)),
    "avg": average,
    "median": median,
    "stdev": standard_deviation,
    "product": product,
    "min": extreme(min),
    "max": extreme(max),
    "count": lambda values: Decimal(len(flatten(values))),
    "gcd": common_factor,
    "lcm": common_multiple,
}
# Each also takes the clock, for today's date.
DATED: dict[str, Callable[..., Value]] = {
    "today": dates.today,
    "now": dates.now,
    "date": dates.make_date,
    "days_between": count_days,
    "add_days": lambda day, days, clock: move_date(dates.to_date(day, clock), to_number(days)),
    "add_weeks": lambda day, weeks, clock: move_date(dates.to_date(day, clock), 7 * to_number(weeks)),
    "add_months": lambda day, months, clock: dates.add_months(dates.to_date(day, clock), to_integer(months)),
    "add_years": lambda day, years, clock: dates.add_months(dates.to_date(day, clock), 12 * to_integer(years)),
    "weekday": lambda day, clock: f"{dates.to_date(day, clock):%A}",
    "day_kind": lambda day, clock: dates.find_day_kind(dates.to_date(day, clock)),
    "year": lambda day, clock: Decimal(dates.to_date(day, clock).year),
    "month": lambda day, clock: Decimal(dates.to_date(day, clock).month),
    "day": lambda day, clock: Decimal(dates.to_date(day, clock).day),
    "week": lambda day, clock: Decimal(dates.to_date(day, clock).isocalendar().week),
    "day_of_year": lambda day, clock: Decimal(dates.to_date(day, clock).timetuple().tm_yday),
    "next_date": lambda month, day, clock: dates.next_date(to_integer(month, 1, 12), to_integer(day, 1, 31), clock),
    "last_date": lambda month, day, clock: dates.last_date(to_integer(month, 1, 12), to_integer(day, 1, 31), clock),
    "next_weekday": lambda name, clock: dates.next_weekday(str(name), clock),
    "last_weekday": lambda name, clock: dates.last_weekday(str(name), clock),
    "next_holiday": lambda name, clock: dates.next_holiday(str(name), clock),
    "holiday": lambda name, year, clock: dates.find_holiday(str(name), to_integer(year, 1, 9998)),
    "minutes_until": dates.count_minutes_until,
    "age": lambda born, clock: Decimal(dates.count_years(dates.to_date(born, clock), dates.today(clock=clock))),
}  # fmt: skip
# Each line is a function and other names of it.
_SYNONYMS = """
avg mean average
ceil ceiling
int trunc
comb choose ncr
perm npr
factorial fact
stdev std
max maximum
min minimum
sum total
log lg
sqrt root square_root
asin arcsin
acos arccos
atan arctan
days_between date_diff datediff
add_days date_add
weekday day_of_week dayofweek
"""
SYNONYMS = {name: line.split()[0] for line in _SYNONYMS.strip().splitlines() for name in line.split()[1:]}
NAMES = sorted({*PLAIN, *SPREAD, *DATED})


def call_function(name: str, values: Sequence[Value], clock: Clock, *, bare: bool = False) -> Value:
    """Return a function's value; raises CalculationError. `bare`: it was written without parentheses."""
    key = SYNONYMS.get(name.lower(), name.lower())
    if key not in PLAIN and key not in SPREAD and key not in DATED:
        near = closest_match(key, NAMES)
        hint = f"Did you mean {near}?" if near else f"There are: {', '.join(NAMES)}."
        raise CalculationError(f"There is no {'name' if bare else 'function'} {name[:40]!r}. {hint}")
    if bare and key not in ("today", "now"):
        raise CalculationError(f"Write the arguments of {name} in parentheses: {name}(…).")
    if key in SPREAD:
        return SPREAD[key](values)
    function = DATED.get(key) or PLAIN[key]
    named = {"clock": clock} if key in DATED else {}
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError:
        raise CalculationError(f"{name} does not take {len(values)} arguments.") from None
    return function(*values, **named)
