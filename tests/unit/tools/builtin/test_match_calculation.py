"""Questions that are calculations, in many wordings, and questions that are none."""

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from rightseat.tools.builtin.calculate import evaluate_expression, run_calculation
from rightseat.tools.builtin.describe import describe_result
from rightseat.tools.builtin.expression import CalculationError
from rightseat.tools.builtin.match_calculation import match_calculation
from rightseat.tools.builtin.numerals import replace_chinese_numerals, replace_english_numerals
from tests.kit.cases import each_case
from tests.unit.tools.builtin.wordings import CHINESE, CHINESE_OTHER, ENGLISH, ENGLISH_OTHER


def fixed_clock() -> datetime:
    return datetime(2026, 11, 16, 10, 30, tzinfo=UTC)


def list_cases(text: str) -> list[tuple[str, str]]:
    cases = [line.partition(" => ") for line in text.strip().splitlines()]
    return [(question, answer) for question, _, answer in cases]


def compute_answer(question: str) -> str:
    arguments = match_calculation(question)
    assert arguments is not None
    try:
        return evaluate_expression(arguments["expression"], fixed_clock)
    except CalculationError as error:
        return f"! {error}"


@pytest.mark.demand("five_minutes.calculations_recognized")
@each_case(("question", "answer"), list_cases(ENGLISH) + list_cases(CHINESE))
def test_a_calculation_is_recognized_in_any_wording(question: str, answer: str) -> None:
    assert compute_answer(question) == answer


@pytest.mark.demand("five_minutes.calculations_recognized")
@each_case("question", (ENGLISH_OTHER + CHINESE_OTHER).strip().splitlines())
def test_a_text_that_merely_has_numbers_is_none(question: str) -> None:
    assert match_calculation(question) is None


def test_there_are_sixty_wordings_of_each_kind() -> None:
    counts = [len(text.strip().splitlines()) for text in (ENGLISH, ENGLISH_OTHER, CHINESE, CHINESE_OTHER)]
    assert min(counts) >= 60


@each_case("question", ["", " ", "1 + 1\n2 + 2", "1 + " * 60 + "1", "?", "=", "\u0000", "１" * 300])
def test_odd_texts_are_none(question: str) -> None:
    assert match_calculation(question) is None


@each_case(
    ("words", "digits"),
    [
        ("one hundred and five", "105"),
        ("two thousand three hundred", "2300"),
        ("three and five", "3 and 5"),
        ("twenty-one", "21"),
        ("a hundred", "100"),
        ("1.5 million", "1500000"),
        ("someone bought a tent", "someone bought a tent"),
    ],
)
def test_english_numerals(words: str, digits: str) -> None:
    assert replace_english_numerals(words) == digits


@each_case(
    ("words", "digits"),
    [
        ("十", "10"),
        ("十五", "15"),
        ("一百二十五", "125"),
        ("一百零二", "102"),
        ("一百二", "120"),
        ("两千", "2000"),
        ("三万五千", "35000"),
        ("二〇二四", "2024"),
        ("三点一四", "3.14"),
        ("3万", "30000"),
        ("一亿", "100000000"),
        ("3万5千", "35000"),
        ("1亿2千万", "120000000"),
        ("1.5万", "15000"),
        ("2千", "2000"),
    ],
)
def test_chinese_numerals(words: str, digits: str) -> None:
    assert replace_chinese_numerals(words) == digits


@each_case(
    ("question", "sentence"),
    [
        ("what's 17% of 240", "17% of 240 is 40.8."),
        ("What is 12 times 13?", "12 × 13 = 156."),
        ("how many days until Christmas?", "39 days until Christmas."),
        ("What weekday is it today?", "Monday."),
        ("what's the date tomorrow", "Tuesday, 17 November 2026."),
        ("what time is it in New York", "It is 05:30 in New York (EST), Monday, 16 November 2026."),
        ("convert 5 km to miles", "5 km is 3.10686 miles."),
        ("what percent of 80 is 20", "The result is 25%."),
        ("average of 3 and 5", "The average is 4."),
        ("is 2023 a leap year", "No, it is not a leap year."),
        ("what is 5 factorial", "5! = 120."),
        ("100的15%是多少", "结果是 15。"),
        ("今天星期几", "星期一。"),
        ("今天几号", "2026年11月16日，星期一。"),
        ("北京现在几点", "北京现在是 18:30，2026年11月16日，星期一。"),
        ("距离元旦还有多少天", "还有 46 天。"),
        ("How long until midnight?", "13 hours and 30 minutes until 24:00 UTC."),
        ("how long until 11:31 am", "1 hour and 1 minute until 11:31 UTC."),
        ("how long until 6:30 pm in Tokyo", "23 hours until 18:30 in Tokyo."),
        ("离下午六点还有多久", "距离 UTC 18:00 还有 7 小时 30 分钟。"),
        ("5公里等于多少英里", "5 公里是 3.10686 英里。"),
        ("2024年是闰年吗", "是闰年。"),
    ],
)
def test_a_result_is_told_in_the_persons_language(question: str, sentence: str) -> None:
    arguments = match_calculation(question)
    assert arguments is not None
    language = "zh" if "\u4e00" <= question.strip("0123456789 ")[0] <= "\u9fff" else "en"
    assert describe_result(question, arguments, compute_answer(question), language) == sentence  # type: ignore[arg-type]


def test_a_failed_call_is_told() -> None:
    failed = '{"error":{"code":"invalid_expression","message":"Unexpected \'3\'."}}'
    assert describe_result("2 3", {"expression": "2 3"}, failed, "en") == "That cannot be computed: Unexpected '3'."
    assert describe_result("2 3", {"expression": "2 3"}, failed, "zh") == "无法计算：Unexpected '3'."
    undefined = run_calculation("5/0").text
    sentence = "5/0 cannot be computed: division by zero."
    assert undefined == f'{{"error":{{"code":"undefined_result","message":"{sentence}"}}}}'
    assert describe_result("5/0", {"expression": "5/0"}, undefined, "en") == sentence
    assert describe_result("5/0", {"expression": "5/0"}, undefined, "zh") == "5/0 无法计算：除数为零。"
    too_long = run_calculation("1+" * 60 + "1/0").text
    assert "The expression cannot be computed: division by zero." in too_long


@pytest.mark.parametrize(
    "question",
    [
        "sum of " + ",".join(["111"] * 26) + " x",
        "average 5% " + "1,000,000 " * 13 + "x",
        "add up " + ",".join(["111"] * 26) + " x",
        "add " + "1 and " * 20 + "x",
    ],
)
def test_a_list_of_numbers_takes_little_work(question: str) -> None:
    start = time.process_time()
    assert match_calculation(question) is None
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("sum of 1,200 and 3,400", "sum(1200, 3400)"),
        ("sum of 1,200, 5 and 7%", "sum(1200, 5, 7%)"),
        ("add up 1,2,3", "sum(1, 2, 3)"),
        ("average of 12,345,6789", "avg(12345, 6789)"),
        # One number or three: not certain.
        ("sum of 100,200,300", None),
    ],
)
def test_a_comma_divides_a_number_or_a_list(question: str, expression: str | None) -> None:
    assert match_calculation(question) == (expression and {"expression": expression})


def test_a_long_question_is_not_normalized(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(form: str, text: str) -> str:
        raise AssertionError(form)

    monkeypatch.setattr("rightseat.tools.builtin.match_calculation.unicodedata", SimpleNamespace(normalize=refuse))
    assert match_calculation("ﷺ" * 20_000) is None


def test_an_expression_that_no_tool_takes_is_not_described() -> None:
    assert describe_result("", {"expression": "a" * 500_000}, "1", "en") == ""
