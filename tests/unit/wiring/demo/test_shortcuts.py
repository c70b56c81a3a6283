from __future__ import annotations

import pytest

from rightseat.wiring.demo.recognize import match_booking
from rightseat.wiring.demo.shortcuts import SHORTCUTS, describe_booking, describe_time, match_sales
from tests.kit.cases import each_case

SHORTCUT = {shortcut.tool: shortcut for shortcut in SHORTCUTS}


@pytest.mark.parametrize(
    "question",
    [
        "how did sales go this year? can you plot it",
        "which month had the best sales?",
        "上半年哪个月销售最差？",
        "今年各月份卖得怎么样，最好有图",
    ],
)
def test_questions_about_sales(question: str) -> None:
    assert match_sales(question) == {}


@pytest.mark.parametrize("question", ["Write a sales email for this month", "How can I improve sales this year?", "hi"])
def test_other_questions_with_sales(question: str) -> None:
    assert match_sales(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "what time did WW2 end?",
        "if it's 3pm in London what time is it in New York?",
        "what time do shops close on sunday",
        "what hour should i wake up",
        "现在学Python什么时间合适？",
    ],
)
def test_the_weights_do_not_see_the_clock_for_other_times(question: str) -> None:
    assert not SHORTCUT["demo_clock"].related.search(question)


@each_case(
    ("question", "related"),
    [
        ("book a table for my family tonight", True),
        ("I need a restaurant reservation for tomorrow", True),
        ("periodic table", False),
        ("Write a table of contents for my book", False),
        ("Can we get a table tonight?", True),
        ("please reserve me a table at Luigi's on may 3rd at 8 pm", True),
        ("how do I reserve a table for 4 people at a Michelin restaurant?", False),
        ("I don't want to book a table", False),
        ("Book a hotel with a restaurant", False),
        ("怎么订四个人的位子？", False),
        ("推荐一家餐厅订位方便的", False),
        ("帮我订个位", True),
    ],
)
def test_a_request_for_a_table_without_a_number_is_known(question: str, related: bool) -> None:
    assert bool(SHORTCUT["demo_book"].related.search(question)) == related


def test_friends_come_on_top() -> None:
    assert match_booking("今晚想和两个朋友吃饭，能帮我订位吗？") == {"people": 3}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("me and two friends want to eat out, please get us a table", {"people": 3}),
        ("I need a table, it's me and 4 colleagues", {"people": 5}),
        ("me and two friends talked about the periodic table", None),
        ("me and two friends want to eat out", None),
    ],
)
def test_a_party_is_counted(question: str, expected: dict[str, int] | None) -> None:
    assert match_booking(question) == expected


def test_results_are_told_in_the_persons_language() -> None:
    assert describe_time("", {}, "2026-11-16 09:05:01 UTC", "en") == "It is 09:05:01 UTC on Monday, 16 November 2026."
    assert (
        describe_time("", {}, "2026-11-16 09:05:01 UTC", "zh")
        == "现在是 UTC 时间 09:05:01，2026 年 11 月 16 日，星期一。"
    )
    assert describe_time("", {}, "noon", "en") is None
    assert describe_booking("", {"people": 3}, "A table for 3 is booked.", "zh") == "已为您预订 3 人的餐桌。"
