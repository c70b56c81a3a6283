"""With a real model: a question over a widget's table is one valid function call, then an answer."""

import pytest

from evals.widget_questions.asking import ask_question as ask_and_judge
from evals.widget_questions.asking import load_set
from evals.widgets.dashboard import ADDED_DATA_QUESTIONS, QUESTIONS
from evals.widgets.runs import WidgetAnswer, ask_over_added_data, ask_question, serve_model


@pytest.mark.demand("openbb.embedded_model_question_real")
@pytest.mark.parametrize(
    ("text", "number", "alone"),
    [
        ("It closed at 233.85.", True, True),
        ("233.85 on 2024-10-15", True, True),
        ("233.85, then 231.3", True, False),
        ("1233.85 or 233.851", False, False),
        ("I do not know.", False, False),
    ],
)
def test_what_counts_as_the_number(text: str, number: bool, alone: bool) -> None:
    seen = WidgetAnswer(("prices",), 1, text)
    assert (seen.has_number(QUESTIONS[0]), seen.has_only_number(QUESTIONS[0])) == (number, alone)
    assert WidgetAnswer((), 0, "364,980 million").has_only_number(QUESTIONS[3])


@pytest.mark.demand("openbb.embedded_model_question_real")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_question_over_a_table_is_one_call_and_then_an_answer() -> None:
    asked = QUESTIONS[0]
    async with serve_model() as running:
        seen = await ask_question(running.url, asked)
    # The calls themselves are held against the client's rules while they are read.
    assert seen.calls == 1
    assert seen.has_right_widget(asked)
    assert seen.text.strip()
    print(f"the number is in the answer: {seen.has_number(asked)}: {seen.text!r}")


@pytest.mark.demand("openbb.explicit_context_goes_model")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_question_over_data_that_was_added_makes_no_call() -> None:
    asked = ADDED_DATA_QUESTIONS[0]
    async with serve_model() as running:
        seen = await ask_over_added_data(running.url, asked)
    assert (seen.calls, seen.widgets) == (0, ())
    assert seen.text.strip()
    print(f"the number is in the answer: {asked.number in seen.text}: {seen.text!r}")


QUESTION_IDS = ("en-price-01", "en-eps-07", "en-is-16", "zh-bs-17", "en-add-26", "en-talk-10")


@pytest.mark.demand("openbb.embedded_model_widget_questions")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_questions_over_dashboards_are_answered_right() -> None:
    questions = load_set("seen")
    async with serve_model() as running:
        answers = [
            await ask_and_judge(running.url, questions.dashboards[question["dashboard"]], question)
            for question in questions.questions
            if question["id"] in QUESTION_IDS
        ]
    assert len(answers) == len(QUESTION_IDS)
    assert [answer.problems for answer in answers if answer.problems] == []
