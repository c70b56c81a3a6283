"""Questions whether a day is a weekday or at the weekend, and questions that merely speak of the weekend."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rightseat.tools.builtin.calculate import evaluate_expression
from rightseat.tools.builtin.describe import describe_result
from rightseat.tools.builtin.match_calculation import match_calculation
from rightseat.types.language import detect_language
from tests.kit.cases import each_case

MONDAY = datetime(2026, 11, 16, 10, 30, tzinfo=UTC)


@pytest.mark.demand("five_minutes.calculations_recognized")
@each_case(
    ("question", "result"),
    [
        ("is today a weekday or is it the weekend already?", "Monday, a weekday"),
        ("is it the weekend yet?", "Monday, a weekday"),
        ("is today a weekday?", "Monday, a weekday"),
        ("Is it a weekday or the weekend today?", "Monday, a weekday"),
        ("are we at the weekend already", "Monday, a weekday"),
        ("is tomorrow a weekend day", "Tuesday, a weekday"),
        ("will tomorrow be a weekday", "Tuesday, a weekday"),
        ("hey is it weekend yet", "Monday, a weekday"),
        ("does christmas fall on a weekend this year?", "Friday, a weekday"),
        ("is christmas on a weekend?", "Friday, a weekday"),
        ("is 25 December 2027 a weekday", "Saturday, at the weekend"),
        ("today is a weekday or weekend?", "Monday, a weekday"),
        ("weekday or weekend today?", "Monday, a weekday"),
        ("what is today, a weekday or the weekend?", "Monday, a weekday"),
        ("is it already the weekend", "Monday, a weekday"),
        ("isn't it the weekend already", "Monday, a weekday"),
        ("was yesterday a weekday", "Sunday, at the weekend"),
        ("今天是工作日还是周末？", "Monday, a weekday"),
        ("今天是周末吗", "Monday, a weekday"),
        ("今天是不是周末", "Monday, a weekday"),
        ("到周末了吗", "Monday, a weekday"),
        ("明天是周末吗？", "Tuesday, a weekday"),
        ("今天已经是周末了吗", "Monday, a weekday"),
        ("今天算工作日吗", "Monday, a weekday"),
        ("周末了没有", "Monday, a weekday"),
        ("12月25日是周末吗", "Friday, a weekday"),
        ("请问今天是工作日还是已经是周末了？", "Monday, a weekday"),
        ("现在是周末还是工作日呀？", "Monday, a weekday"),
    ],
)
def test_the_kind_of_a_day_is_recognized(question: str, result: str) -> None:
    arguments = match_calculation(question)
    assert arguments is not None
    assert evaluate_expression(arguments["expression"], lambda: MONDAY) == result


@pytest.mark.demand("five_minutes.calculations_recognized")
@each_case(
    "question",
    [
        "is the pool open at the weekend",
        "are we open at the weekend",
        "is it cheaper on a weekday",
        "is the weekend edition out",
        "is it the weekend edition",
        "do you work on the weekend",
        "does the shop close on a weekday",
        "is monday a good day",
        "how was your weekend",
        "what should I do at the weekend",
        "is parking free on the weekend",
        "are you free at the weekend or today",
        "今天是周末。",
        "你周末有空吗",
        "周末去哪里玩",
        "商店周末开门吗",
        "周末加班吗",
        "工作日堵车吗",
        "这个周末天气好吗",
    ],
)
def test_other_questions_about_weekends_are_none(question: str) -> None:
    assert match_calculation(question) is None


@each_case(
    ("question", "days", "sentence"),
    [
        ("is it the weekend yet?", 0, "Today is Monday: a weekday, not the weekend."),
        ("is it the weekend yet?", 4, "Today is Friday: a weekday, not the weekend."),
        ("is it the weekend yet?", 5, "Today is Saturday: it is the weekend."),
        ("is it the weekend yet?", 6, "Today is Sunday: it is the weekend."),
        ("is tomorrow a weekday?", 4, "That day is a Saturday: it is the weekend."),
        ("今天是工作日还是周末？", 0, "星期一，不是周末。"),
        ("今天是工作日还是周末？", 6, "星期日，是周末。"),
    ],
)
def test_the_kind_of_a_day_is_told(question: str, days: int, sentence: str) -> None:
    arguments = match_calculation(question)
    assert arguments is not None
    result = evaluate_expression(arguments["expression"], lambda: MONDAY + timedelta(days=days))
    assert describe_result(question, arguments, result, detect_language(question)) == sentence
