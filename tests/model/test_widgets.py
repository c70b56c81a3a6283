"""With a real model: a question over a widget's table is one valid function call, then an answer."""

import pytest

from evals.widgets.asking import Seen, ask, ask_over, server
from evals.widgets.dashboard import ADDED, QUESTIONS


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
    seen = Seen(("prices",), 1, text)
    assert (seen.numbered(QUESTIONS[0]), seen.alone(QUESTIONS[0])) == (number, alone)
    assert Seen((), 0, "364,980 million").alone(QUESTIONS[3])


@pytest.mark.demand("openbb.embedded_model_question_real")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_question_over_a_table_is_one_call_and_then_an_answer() -> None:
    asked = QUESTIONS[0]
    async with server() as running:
        seen = await ask(running.url, asked)
    # The calls themselves are held against the client's rules while they are read.
    assert seen.calls == 1
    assert seen.right(asked)
    assert seen.text.strip()
    print(f"the number is in the answer: {seen.numbered(asked)}: {seen.text!r}")


@pytest.mark.demand("openbb.explicit_context_goes_model")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_question_over_data_that_was_added_makes_no_call() -> None:
    asked = ADDED[0]
    async with server() as running:
        seen = await ask_over(running.url, asked)
    assert (seen.calls, seen.called) == (0, ())
    assert seen.text.strip()
    print(f"the number is in the answer: {asked.number in seen.text}: {seen.text!r}")
