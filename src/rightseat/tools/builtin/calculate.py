"""`calculate`: the built-in tool for arithmetic, percentages, units and dates."""

from __future__ import annotations

from rightseat.tools.builtin.expression import CalculationError, Clock, UndefinedResult, compute, format_value, utc_now
from rightseat.tools.function import tool
from rightseat.types.tools import UNDEFINED_RESULT, Result, error_result

MAX_QUOTED = 100
"""The longest expression that an error repeats."""


def describe_undefined(expression: str, reason: str) -> str:
    """Return the sentence for an expression that can be read and has no result."""
    subject = expression.strip() if len(expression) <= MAX_QUOTED else "The expression"
    return f"{subject} cannot be computed: {reason[:1].lower()}{reason[1:]}"


def evaluate_expression(expression: str, clock: Clock = utc_now) -> str:
    """Return the value of an expression as text; raises CalculationError."""
    try:
        return format_value(compute(expression, clock))
    except CalculationError:
        # Models also write questions here: "square root of 144".
        from rightseat.tools.builtin.match_calculation import match_calculation

        arguments = match_calculation(expression)
        if arguments is None or arguments["expression"] == expression:
            raise
        return format_value(compute(arguments["expression"], clock))


def run_calculation(expression: str) -> Result:
    """Compute an arithmetic or date expression exactly. Use it for every calculation instead of computing yourself.

    Examples: (3 + 4) * 12 / 5, 17% of 240, sqrt(144), round(10 / 3, 2), avg(3, 5, 9), convert(5, "km", "miles"),
    today(), now("America/New_York"), weekday("2024-02-29"), days_between(today(), next_date(12, 25)),
    add_days(today(), 30), days_in_month(2024, 2).

    Args:
        expression: One expression of numbers, + - * / // % ^, parentheses and functions; dates as "2024-02-29".
    """
    try:
        return Result(evaluate_expression(expression))
    except UndefinedResult as error:
        return error_result(UNDEFINED_RESULT, describe_undefined(expression, str(error)))
    except CalculationError as error:
        return error_result("invalid_expression", str(error))


calculate = tool(name="calculate", effect="reads")(run_calculation)
