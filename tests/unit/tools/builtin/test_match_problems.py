"""Word problems and other natural wordings: every number is used, or there is no answer."""

import time

import pytest

from rightseat.tools.builtin.match_calculation import MAX_QUESTION, match_calculation
from rightseat.tools.builtin.match_clauses import split_clauses
from rightseat.tools.builtin.match_framed import match_framed, match_steps
from rightseat.tools.builtin.match_problems import match_problem
from rightseat.tools.builtin.match_quantities import prepare_chinese, read_chinese, read_english
from rightseat.tools.builtin.match_table import match_table_question
from tests.kit.cases import each_case
from tests.unit.tools.builtin.more_wordings import (
    MORE_NOT_PROBLEMS,
    MORE_OTHER_TABLE_PROBLEMS,
    MORE_PROBLEMS,
    MORE_TABLE_PROBLEMS,
    MORE_TABLES,
    TRAPS,
)
from tests.unit.tools.builtin.problem_wordings import (
    NOT_PROBLEMS,
    OTHER_TABLE_PROBLEMS,
    PROBLEMS,
    TABLE_PROBLEMS,
    TABLES,
)
from tests.unit.tools.builtin.test_match_calculation import compute_answer, list_cases
from tests.unit.tools.builtin.test_match_table import answer_question, list_questions

ALL_TABLES = TABLES | MORE_TABLES
CASES = list_cases(PROBLEMS) + list_cases(MORE_PROBLEMS)


@pytest.mark.demand("five_minutes.calculations_recognized")
@each_case(("question", "answer"), [case for case in CASES if case[1] != "NONE"])
def test_a_problem_is_computed(question: str, answer: str) -> None:
    assert compute_answer(question) == answer


@pytest.mark.demand("five_minutes.calculations_recognized")
@each_case(
    "question",
    [
        *(NOT_PROBLEMS + MORE_NOT_PROBLEMS.strip() + TRAPS).strip().splitlines(),
        *(case[0] for case in CASES if case[1] == "NONE"),
    ],
)
def test_what_is_no_problem_is_none(question: str) -> None:
    assert match_calculation(question) is None


@pytest.mark.demand("five_minutes.table_questions_recognized")
@each_case(("table", "question", "answer"), list_questions(TABLE_PROBLEMS) + list_questions(MORE_TABLE_PROBLEMS))
def test_a_table_problem_is_computed(table: str, question: str, answer: str) -> None:
    assert answer_question(f"{ALL_TABLES[table]}\n{question}", question) == answer


@pytest.mark.demand("five_minutes.table_questions_recognized")
@each_case(
    ("table", "question", "answer"), list_questions(OTHER_TABLE_PROBLEMS) + list_questions(MORE_OTHER_TABLE_PROBLEMS)
)
def test_what_the_table_does_not_say_is_none(table: str, question: str, answer: str) -> None:
    assert match_table_question(f"{ALL_TABLES[table]}\n{question}") is None


ENGLISH_EXTRAS = ("I have 7 hats. ", "My dog is 3 years old. ", "I have $40 in my pocket. ", "We live on floor 5. ")
CHINESE_EXTRAS = ("我有7顶帽子。", "我住在8楼，", "我家有3只猫。")


@each_case("question", [case[0] for case in CASES if case[1] != "NONE"])
def test_a_number_that_is_not_used_means_no_answer(question: str) -> None:
    extras = CHINESE_EXTRAS if any("\u4e00" <= char <= "\u9fff" for char in question) else ENGLISH_EXTRAS
    for extra in extras:
        assert match_calculation(extra + question) is None


def test_there_are_enough_wordings() -> None:
    texts = (PROBLEMS, MORE_PROBLEMS, TABLE_PROBLEMS, MORE_TABLE_PROBLEMS)
    others = (NOT_PROBLEMS, MORE_NOT_PROBLEMS, OTHER_TABLE_PROBLEMS, MORE_OTHER_TABLE_PROBLEMS)
    assert sum(len(text.strip().splitlines()) for text in texts) >= 300
    assert sum(len(text.strip().splitlines()) for text in others) >= 250


@each_case(
    ("words", "digits"),
    [
        ("鸡蛋6块8一斤", "鸡蛋6.8元1斤"),
        ("三块五一斤", "3.5元1斤"),
        ("15块一杯", "15块1杯"),
        ("半斤", "0.5斤"),
        ("两斤半", "2.5斤"),
        ("打八五折", "打8.5折"),
        ("一共百分之十五", "总共15%"),
    ],
)
def test_chinese_amounts_are_digits(words: str, digits: str) -> None:
    assert prepare_chinese(words) == digits


def test_quantities_have_units_and_rates() -> None:
    english = read_english(["apples cost $3 per kg", "i buy 4 kg"])
    chinese = read_chinese(["鸡蛋6块8一斤", "买5斤"])
    assert english is not None
    assert chinese is not None
    assert [(one.text, one.unit, one.per) for one in english] == [("3", "money", "kg"), ("4", "kg", "")]
    assert [(one.text, one.unit, one.per) for one in chinese] == [("6.8", "money", "斤"), ("5", "斤", "")]


@pytest.mark.parametrize("clause", ["room 12 is free", "at 10:30", "flight lh454", "version 3.11.2", "on 4 may"])
def test_a_number_that_counts_nothing_is_no_quantity(clause: str) -> None:
    assert read_english([clause]) is None


def test_clauses_are_without_politeness() -> None:
    assert split_clauses("hi there! quick question: what is 3.5 times 1,200? thanks") == ["what is 3.5 times 1,200"]


PIECES = (
    "1 + ", "5 dollars each ", "and then ", "what is ", "how many ", "is it ", "there ", "in a ", "- ", ", ", "a ", " ",
    "per ", "12", "1,", "1.", "%", "so ", "please ", "5 km ", "the answer is ", "now ", "right now ", "march 5 ",
    "half a ", "dozen ", "one ", "each ", "\n", "x", "√", "!", "((", "))",
    "乘", "再", "多少", "一", "每", "百分之", "5元一斤，", "还有", "几点", "是", "折", "半", "？",
)  # fmt: skip


@each_case("piece", PIECES)
def test_a_long_message_takes_little_work(piece: str) -> None:
    start = time.process_time()
    for end in ("", "?", " how much", "多少钱", "!x"):
        full = (piece * MAX_QUESTION)[: MAX_QUESTION - len(end)] + end
        match_calculation(full)
        match_calculation(f"what is {full}"[:MAX_QUESTION])
        match_calculation(piece * (20_000 // len(piece)) + end)
        match_table_question(f"|a|b|\n|---|---|\n|x|1|\n|y|2|\n\n{full}")
        match_table_question((piece * 20_000)[:19_900] + f"\n|a|b|\n|---|---|\n|x|1|\n\n{end}")
    assert time.process_time() - start < 2


@each_case("piece", PIECES)
def test_the_readers_of_clauses_are_linear(piece: str) -> None:
    """No reader depends on the limit of a question's length alone."""
    text = (piece * 2000)[:2000]
    start = time.process_time()
    match_framed(text, lambda clause: None)
    match_steps(text)
    match_problem(text, chinese=False)
    match_problem(text, chinese=True)
    assert time.process_time() - start < 2
