"""Questions about a table in the message, in many wordings, and questions that no query answers."""

import contextlib
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.plugins.sql.guard import QueryRefused
from rightseat.plugins.sql.query import QueryFailed
from rightseat.plugins.sql.table_query import format_rows, query_table
from rightseat.tools.builtin.describe import describe_result
from rightseat.tools.builtin.match_table import MAX_CELLS, match_table_question
from rightseat.tools.builtin.table_words import mentions_name
from rightseat.types.language import detect_language
from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds
from tests.unit.tools.builtin.everyday_wordings import EVERYDAY_QUESTIONS, EVERYDAY_TABLES, UNANSWERED_QUESTIONS
from tests.unit.tools.builtin.table_wordings import OTHER_QUESTIONS, QUESTIONS, TABLES


def list_questions(text: str) -> list[tuple[str, str, str]]:
    cases = []
    for line in text.strip().splitlines():
        question, _, answer = line.partition(" => ")
        table, _, words = question.partition(" | ")
        cases.append((table, words, answer))
    return cases


def answer_question(message: str, question: str) -> str:
    arguments = match_table_question(message)
    assert arguments is not None
    result = format_rows(query_table(arguments["table"], arguments["sql"]), 500)
    return describe_result(message, arguments, result, detect_language(question)).replace("\n", " ")


@pytest.mark.demand("five_minutes.table_questions_recognized")
@each_case(("table", "question", "answer"), list_questions(QUESTIONS))
def test_a_question_about_a_table_is_computed(table: str, question: str, answer: str) -> None:
    assert answer_question(f"{TABLES[table]}\n{question}", question) == answer


@pytest.mark.parametrize(("table", "question", "answer"), list_questions(QUESTIONS)[::4])
def test_the_question_may_come_first_or_without_the_guard(
    table: str, question: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightseat.plugins.sql.table_query.find_spec", lambda name: None)
    assert answer_question(f"{question}\n\n{TABLES[table]}", question) == answer


@pytest.mark.demand("five_minutes.table_questions_recognized")
@each_case(("table", "question", "answer"), list_questions(OTHER_QUESTIONS))
def test_a_question_that_no_query_answers_is_none(table: str, question: str, answer: str) -> None:
    assert match_table_question(f"{TABLES[table]}\n{question}") is None


@pytest.mark.demand("five_minutes.table_questions_recognized")
@each_case(("table", "question", "answer"), EVERYDAY_QUESTIONS)
def test_a_natural_question_about_an_everyday_table_is_computed(table: int, question: str, answer: str) -> None:
    assert answer_question(f"{EVERYDAY_TABLES[table]}\n\n{question}", question) == answer


@each_case(("table", "question"), UNANSWERED_QUESTIONS)
def test_a_quantity_or_a_condition_that_the_table_lacks_is_none(table: int, question: str) -> None:
    assert match_table_question(f"{EVERYDAY_TABLES[table]}\n\n{question}") is None


@each_case(
    "message",
    [
        "",
        "What is the highest mountain?",
        "Book a table for 4 people\nat 7 pm\nplease",
        "Dear all, we met on Monday, and talked.\nThe team, now new, sang.\nWe ate, and left.\nWhat was most fun?",
        TABLES["FRUIT"],
        f"{TABLES['FRUIT']}\nWhich fruit sold the most? And which is the cheapest?",
        "fruit,sold\napples,3\npears,4,5\nplums,6\nWhich fruit sold the most?",
    ],
)
def test_a_message_without_a_table_or_one_question_is_none(message: str) -> None:
    assert match_table_question(message) is None


def test_a_row_of_totals_is_not_counted_twice() -> None:
    message = f"{TABLES['FRUIT']}| Total | 97 | $9.60 |\n\nHow many fruits were sold in total?"
    assert answer_question(message, "How") == "The total sold is 97."
    message = f"{TABLES['FRUIT']}| Total | 97 | $9.60 |\n\nWhich fruit sold the most?"
    assert answer_question(message, "Which") == "pears: 51."


def test_equal_rows_are_all_named() -> None:
    message = (
        "| team | points |\n|---|---|\n| Reds | 9 |\n| Blues | 9 |\n| Greens | 3 |\n\nWhich team has the most points?"
    )
    assert answer_question(message, "Which") == "- Reds: 9 - Blues: 9"


def test_names_with_quotes_are_quoted() -> None:
    message = '| name | "a" score |\n|---|---|\n| O\'Hara | 3 |\n| D"Arcy | 5 |\n\nWhat is the score of O\'Hara?'
    assert answer_question(message, "What") == "O'Hara: 3."


@each_case(
    "message",
    [
        "```csv\nfruit,sold\napples,3\npears,5\n```\nWhich fruit sold the most?",
        "Which fruit sold the most:\r\n| fruit | sold |\r\n|---|---|\r\n| apples | 3 |\r\n| pears | 5 |\r\n",
        "Given the table below, which fruit sold the most?\n\nfruit\tsold\napples\t3\npears\t5",
        "Hi! My data.\n| fruit | sold |\n|---|---|\n| apples | 3 |\n| pears | 5 |\nWhich fruit sold the most? Thanks!",
        "The sales:\nfruit    sold\napples   3\npears    5\nplums    4\nWhich fruit sold the most",
        '[{"fruit": "apples", "sold": 3}, {"fruit": "pears", "sold": 5}] which fruit sold the most?',
    ],
)
def test_a_table_is_found_in_any_form(message: str) -> None:
    assert answer_question(message, "Which") == "pears: 5."


def test_a_long_message_is_left_to_the_model() -> None:
    rows = "\n".join(f"fruit{number},{number}" for number in range(5000))
    assert match_table_question(f"fruit,sold\n{rows}\nWhich fruit sold the most?") is None


PIECES = [
    "fruit",
    "sold",
    "|",
    "-",
    "\n",
    ",",
    "\t",
    "  ",
    "3",
    "$2",
    "%",
    ":",
    "most",
    "which",
    "?",
    "total",
    "北京",
    "最多",
]
PIECES += [
    "[",
    "]",
    "{",
    "}",
    '"',
    "---",
    "apples",
    "than",
    "difference",
    "latest",
    "2024-01-01",
    "fruit,sold\n",
    "a,1\n",
]


@settings(max_examples=limit_rounds(3000), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_gets_a_query_or_none(message: str) -> None:
    if arguments := match_table_question(message):
        with contextlib.suppress(QueryFailed, QueryRefused):
            query_table(arguments["table"], arguments["sql"])


@each_case(
    "message",
    [
        "a|b\n-" + " " * 9000 + "x|1\nx|2\n\nwhat is the total?",
        " " * 19_000 + "x|1\n a|2\n\nwhat?",
        "|---" + " " * 19_000 + "x|\n|a|b|\n",
        "Hello" + "\n" * 19_000 + "\n|a|b|\n|1|2|\n\nwhat is the total?",
        "a:" + " " * 19_000 + "\nb:" + " " * 900 + "x y\n",
        "a|" * 4000 + "\n" + "1|" * 4000 + "\n\nwhat is the total?",
        "a|" * 5000 + "\n" + "|\n" * 4900 + "\nwhat is the total?",
        "[" + ",".join(f'{{"{number}":1}}' for number in range(1900)) + "]\nwhat is the total?",
    ],
)
def test_a_long_message_takes_little_work(message: str) -> None:
    start = time.process_time()
    match_table_question(message)
    assert time.process_time() - start < 0.5


def test_a_large_table_is_left_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_message(rows: int) -> str:
        lines = [f"|n{number}|{number}|x|y|" for number in range(rows)]
        return "\n".join(["|name|sold|c|d|", "|---|---|---|---|", *lines, "", "What is the total sold?"])

    assert match_table_question(write_message(MAX_CELLS // 4)) is not None
    monkeypatch.setattr("rightseat.tools.builtin.match_table.MAX_CELLS", MAX_CELLS - 1)
    assert match_table_question(write_message(MAX_CELLS // 4)) is None


def test_a_question_that_names_many_cells_is_left_to_the_model() -> None:
    names = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"
    rows = "\n".join(f"|{name}|{number}|" for number, name in enumerate(dict.fromkeys(names + "闰余成岁律吕调阳")))
    question = f"{names}闰余成岁律吕调阳一共多少？"
    assert match_table_question(f"|名字|数量|\n|---|---|\n{rows}\n\n{question}") is None


def test_a_lone_surrogate_in_a_message_is_no_error() -> None:
    assert match_table_question('[{"a": "\ud800"}]\nwhat is the total?') is None


@pytest.mark.parametrize(
    ("ask", "cell", "at"),
    [
        ("how many apples?", "Apple", 9),
        ("how many apples?", "apples", 9),
        ("how many boxes?", "box", 9),
        ("pineapple or apple?", "apple", 13),
        ("apple-pie or tart", "apple", -1),
        ("apple", "apple", 0),
        ("appless", "apple", -1),
        ("is a better?", "a", -1),
        ("苹果卖了多少", "苹果", 0),
        ("what?", "", -1),
    ],
)
def test_a_cell_is_found_without_a_pattern_for_each(
    ask: str, cell: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr("rightseat.tools.builtin.table_words.re", SimpleNamespace(search=refuse, escape=refuse))
    assert mentions_name(ask, cell) == at


def test_the_cost_of_everything_is_price_times_quantity() -> None:
    table = "| item | qty | price |\n|---|---|---|\n| pens | 12 | 1.50 |\n| notebooks | 5 | 4.00 |\n\n"
    cost = match_table_question(table + "What's the total cost of everything?")
    assert cost is not None
    assert 'SUM("price" * "qty")' in cost["sql"]
    quantity = match_table_question(table + "What is the total qty?")
    assert quantity is not None
    assert 'SUM("qty")' in quantity["sql"]
