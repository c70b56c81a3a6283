"""Times in places and days near today, known by their elements; tables with one column of numbers."""

from __future__ import annotations

import pytest

from rightseat.tools.builtin.match_calculation import match_calculation
from rightseat.tools.builtin.match_elements import find_places, match_elements
from rightseat.tools.builtin.match_table import match_table_question
from tests.kit.cases import each_case

VISITORS = "day,visitors\nMonday,120\nTuesday,95\nWednesday,180\n\n"
PLANTS = "| plant | {} | {} |\n|---|---|---|\n| roses | 8 | 3.50 |\n| ferns | 3 | 7.00 |\n\n"


@pytest.mark.demand("embedded.known_by_elements")
@each_case(
    ("question", "expression"),
    [
        ("What's the time over in Berlin atm?", 'now("Berlin")'),
        ("hey what time would it be in paris now", 'now("Paris")'),
        ("what's the time for my friend in seoul right now", 'now("Seoul")'),
        ("纽约那边现在是几点啊", 'now("纽约")'),
        ("remind me, what was the date yesterday?", "add_days(today(), -1)"),
        ("what was the date last friday", 'last_weekday("friday")'),
        ("so what date is this coming friday", 'next_weekday("friday")'),
        ("which date was it 10 days ago, i forgot", "add_days(today(), -10)"),
        ("what day will it be in a fortnight", "add_weeks(today(), 2)"),
        ("提醒我一下，三天后是几号", "add_days(today(), 3)"),
        ("大后天是星期几来着", "weekday(add_days(today(), 3))"),
        ("3 coffees cost 37.50, how much is one", "37.50 / 3"),
        ("今年还剩多少天", "days_between(today(), date(year(today()), 12, 31))"),
        ("what's 30 degrees c in f", 'convert(30, "c", "f")'),
    ],
)
def test_elements(question: str, expression: str) -> None:
    assert match_calculation(question) == {"expression": expression}


@pytest.mark.demand("embedded.known_by_elements")
@each_case(
    "question",
    [
        "what is the best time to visit Paris",
        "what time does the museum in Berlin open",
        "what's the time difference between London and Tokyo",
        "write about the time in Rome",
        "伦敦几点天黑",
        "what did you do yesterday",
        "book a table for tomorrow",
        "what was the date of the battle last friday",
        "明天天气怎么样",
        "x" * 500,
    ],
)
def test_no_elements(question: str) -> None:
    assert match_elements(question) is None


def test_places() -> None:
    assert find_places("is it late in Tokyo or in 伦敦, by UTC?") == {"tokyo", "伦敦"}


@pytest.mark.demand("embedded.known_by_elements")
@each_case(
    ("message", "sql"),
    [
        (f"{VISITORS}how many people came on average each day?", 'ROUND(AVG("visitors"), 2)'),
        (f"{VISITORS}add them all up please", 'SUM("visitors")'),
        (f"{VISITORS}which day was the busiest?", 'MAX("visitors")'),
        ("班级\t捐书\n一班\t46\n二班\t38\n\n平均每个班捐了多少本书？", 'AVG("捐书")'),
        ("组别\t植树\n甲组\t20\n乙组\t30\n\n一共种了多少棵树", 'SUM("植树")'),
        ("player,team,goals\nMia,Reds,14\nLena,Greens,11\n\nwhich team does Lena play for?", '"team" FROM t WHERE'),
        ("pet,owner,weight\nRex,Paul,28\nMilo,Ines,6\n\nwho owns Milo?", '"owner" FROM t WHERE'),
        (PLANTS.format("count", "price") + "How much is that all together?", '"price" * "count"'),
        (PLANTS.format("pots", "price per pot") + "what will the whole order cost?", '"price per pot" * "pots"'),
        (PLANTS.format("pcs", "each") + "How much for everything?", '"each" * "pcs"'),
    ],
)
def test_simple_tables(message: str, sql: str) -> None:
    assert sql in (match_table_question(message) or {"sql": ""})["sql"]


@pytest.mark.demand("embedded.known_by_elements")
@pytest.mark.parametrize(
    "message",
    [
        f"{VISITORS}what was the average temperature?",
        f"{VISITORS}how many visitors came on average before noon?",
        PLANTS.format("rating", "price per pot") + "what do I pay in total per pot rating?",
        "player,team,goals\nMia,Reds,14\nLena,Greens,11\n\nhow many cards did Lena get?",
        "班级\t捐书\n一班\t46\n二班\t38\n\n平均每个班有多少学生？",
    ],
)
def test_other_tables(message: str) -> None:
    assert match_table_question(message) is None
