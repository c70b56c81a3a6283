"""Expressions of `calculate`: exact results, limits, and errors that say what to write."""

import contextlib
import string
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.tools.builtin.calculate import evaluate_expression
from rightseat.tools.builtin.expression import MAX_LENGTH, CalculationError, compute, format_value
from rightseat.tools.builtin.functions import NAMES
from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds


def fixed_clock() -> datetime:
    return datetime(2024, 2, 28, 23, 30, tzinfo=UTC)


def evaluate(expression: str) -> str:
    return format_value(compute(expression, fixed_clock))


@pytest.mark.demand("five_minutes.builtin_tools_exact")
@each_case(
    ("expression", "text"),
    [
        ("0.1 + 0.2", "0.3"),
        ("17% of 240", "40.8"),
        ("240 + 17%", "280.8"),
        ("240 - 17%", "199.2"),
        ("50% + 25%", "0.75"),
        ("20% off 59.90", "47.92"),
        ("17 % 5", "2"),
        ("-7 % 3", "2"),
        ("-7 // 2", "-4"),
        ("2 ^ 3 ** 2", "512"),
        ("-3 ^ 2", "-9"),
        ("2 ^ -1", "0.5"),
        ("2^100", "1267650600228229401496703205376"),
        ("1/3 * 3", "1"),
        ("10 / 3", "3.3333333333"),
        ("1000000 / 7", "142857.1428571429"),
        ("1,000 + 1", "1001"),
        ("1_000 + 1", "1001"),
        ("max(1,200)", "200"),
        ("sum(1, 2, 3.5)", "6.5"),
        ("avg([1, 2, 3])", "2"),
        ("median(3, 1, 2)", "2"),
        ("round(stdev(2, 4, 4, 4, 5, 5, 7, 9), 3)", "2.138"),
        ("１２×３", "36"),
        ("（1＋2）÷ 3 − 1", "0"),
        ("3½ * 2", "7"),
        ("5² + √144", "37"),
        ("$5.50 * 3", "16.5"),
        ("1 + 1 = ?", "2"),
        ("2(3 + 4)", "14"),
        ("2 pi", "6.2831853072"),
        ("sin(30°)", "0.5"),
        ("sin(pi)", "0"),
        ("ln(e)", "1"),
        ("log(1000)", "3"),
        ("log2(8)", "3"),
        ("cbrt(-27)", "-3"),
        ("round(2.5)", "3"),
        ("round(-2.345, 2)", "-2.35"),
        ("20!", "2432902008176640000"),
        ("100!", "9.33262154439442 × 10^157"),
        ("comb(5, 2) + perm(5, 2)", "30"),
        ("gcd(12, 18) + lcm(4, 6)", "18"),
        ("percent_change(80, 100)", "25"),
        ("9.11 > 9.9", "false"),
        ("2 + 2 = 4", "true"),
        ('convert(1, "mile", "m")', "1609.344"),
        ('convert(212, "f", "c")', "100"),
        ('convert(-40, "c", "f")', "-40"),
        ('convert(100, "km/h", "mph")', "62.1371"),
        ("today()", "2024-02-28 (Wednesday)"),
        ("now()", "2024-02-28 23:30 UTC (Wednesday)"),
        ('now("America/New_York")', "2024-02-28 18:30 EST (Wednesday, America/New_York)"),
        ('today("Asia/Shanghai")', "2024-02-29 (Thursday)"),
        ("days_between(2024-02-01, 2024-03-01)", "29"),
        ("2024-03-01 - 2024-02-01", "29"),
        ("today() + 2", "2024-03-01 (Friday)"),
        ('add_days("2024-02-28", 1)', "2024-02-29 (Thursday)"),
        ('add_months("2024-01-31", 1)', "2024-02-29 (Thursday)"),
        ('add_years("2024-02-29", 1)', "2025-02-28 (Friday)"),
        ('weekday("29 February 2024")', "Thursday"),
        ('weekday("2024年2月29日")', "Thursday"),
        ("days_in_month(2024, 2)", "29"),
        ("days_in_year(2023)", "365"),
        ("is_leap_year(1900)", "false"),
        ("days_between(today(), next_date(12, 25))", "301"),
        ("next_date(2, 29)", "2024-02-29 (Thursday)"),
        ("last_date(12, 25)", "2023-12-25 (Monday)"),
        ('next_weekday("wednesday")', "2024-03-06 (Wednesday)"),
        ('last_weekday("wed")', "2024-02-21 (Wednesday)"),
        ('next_holiday("easter")', "2024-03-31 (Sunday)"),
        ('next_holiday("thanksgiving")', "2024-11-28 (Thursday)"),
        ('holiday("chinese new year", 2026)', "2026-02-17 (Tuesday)"),
        ('age("2000-02-29")', "23"),
        ("year(today()) + month(today()) + day(today()) + week(today())", "2063"),
        ("max(2024-01-01, 2024-05-01)", "2024-05-01 (Wednesday)"),
    ],
)
def test_results_are_exact_and_written_for_people(expression: str, text: str) -> None:
    assert evaluate(expression) == text


@pytest.mark.demand("five_minutes.builtin_tools_bounded")
@each_case(
    ("expression", "said"),
    [
        ("9**9**9", "larger than 100000"),
        ("9^99999 * 9^99999", "too large"),
        ("factorial(9^9)", "not between 0 and 1000"),
        ("comb(10^9, 5)", "not between"),
        ("exp(10^6)", "too large"),
        ("1" * (MAX_LENGTH + 1), "longer than 1000"),
        ("1+" * 300 + "1", "more than 400 parts"),
        ("(" * 60 + "1" + ")" * 60, "nested too deeply"),
        ("-" * 80 + "1", "nested too deeply"),
        ("1/0", "Division by zero"),
        ("5 mod 0", "Division by zero"),
        ("sqrt(-1)", "no real square root"),
        ("(-8)^(1/3)", "not a real number"),
        ("ln(0)", "positive number"),
        ("asin(2)", "no value at 2"),
        ("", "empty"),
        ("2 +", "ends too early"),
        ("2 3", "Unexpected '3'"),
        ("(2", "')' is missing at the end"),
        ("1,5 + 2", "point for decimals"),
        ("sum(1,200, 3,400)", "without thousands separators"),
        ("sqr(2)", "Did you mean sqrt?"),
        ("__import__('os')", "There is no function"),
        ("(1).real", "Unexpected"),
        ("sqrt", "parentheses"),
        ("sqrt(1, 2)", "does not take 2 arguments"),
        ("sum()", "at least one number"),
        ('"a" + 1', "a is not a number"),
        ("2024-02-30", "is not a date"),
        ('date("yesterday")', "is not a date"),
        ("date(2024, 2, 30)", "There is no date 2024-02-30"),
        ("add_days(today(), 10^9)", "whole days"),
        ("add_months(today(), 10^6)", "outside the years"),
        ('now("Atlantis")', "no time zone 'Atlantis'"),
        ('now("../../etc/passwd")', "no time zone"),
        ('next_holiday("doomsday")', "is not known"),
        ('next_weekday("someday")', "not a weekday"),
        ('convert(5, "km", "kg")', "cannot be converted"),
        ('convert(5, "kilometrs", "m")', "Did you mean kilometres?"),
        ("today() > 3", "dates with dates"),
        ("5 @ 3", "Unexpected '@'"),
    ],
)
def test_what_cannot_be_computed_says_why(expression: str, said: str) -> None:
    with pytest.raises(CalculationError) as caught:
        evaluate(expression)
    assert said in str(caught.value)


def test_missing_time_zone_data_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.tools.builtin.dates.zoneinfo.available_timezones", set)
    with pytest.raises(CalculationError, match=r"Install it: .*tzdata"):
        evaluate('now("America/New_York")')
    assert evaluate("now()").startswith("2024-02-28 23:30 UTC")


@pytest.mark.parametrize(("question", "text"), [("square root of 144", "12"), ("2024年2月有多少天", "29")])
def test_a_question_in_words_is_computed_too(question: str, text: str) -> None:
    assert evaluate_expression(question, fixed_clock) == text


PIECES = st.one_of(
    st.sampled_from(
        [*NAMES, *"+-*/%^()[],!<>=√°", "**", "//", " ", "pi", "e", "of", "off", "99999", "1e999", "1e-999"]
    ),
    st.sampled_from(['"2024-02-29"', "2024-02-29", '"km"', '"m"', '"', "today()", "9" * 50, "0.1", "1,000", "½", "百"]),
    st.integers(-(10**20), 10**20).map(str),
    st.text(string.printable, max_size=4),
)


@pytest.mark.demand("five_minutes.builtin_tools_bounded")
@settings(max_examples=limit_rounds(3000), deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_calculate_raises_nothing_but_its_own_error(expression: str) -> None:
    with contextlib.suppress(CalculationError):
        assert len(evaluate_expression(expression, fixed_clock)) < 2 * MAX_LENGTH


@pytest.mark.parametrize("text", ["1e99999", "-1e99999", "cosh(1e9999)", "1e9999 * 10", "sum(1e99999, 1)"])
def test_a_number_out_of_range_is_an_error(text: str) -> None:
    with pytest.raises(CalculationError, match="too large"):
        compute(text)
