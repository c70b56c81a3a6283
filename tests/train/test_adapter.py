"""The shipped adapter through the real llama.cpp: a slice of the held-out questions."""

import pytest

from rightseat.models.llamacpp import options
from tests.kit.cases import each_case
from train.evaluate import EvaluatedAnswer, ask_model
from train.questions import HeldOutQuestion, load_questions

SLICE_STEP = 15
MEASURED = 1.0
"""Share of the slice that the shipped adapter answers right; docs/embedded-model.md has the whole."""
FLOOR = MEASURED - 0.05


def select_questions() -> list[HeldOutQuestion]:
    return list(load_questions("final"))[::SLICE_STEP][:20]


@pytest.mark.demand("adapter.test_model_asks_20")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_slice_of_the_held_out_questions() -> None:
    model = options.make_local_model("", {})
    try:
        seen = [await ask_model(model, item) for item in select_questions()]
    finally:
        await model.close()
    assert all(one.valid for one in seen)
    right = sum(one.right for one in seen) / len(seen)
    assert right >= FLOOR, [(one.item.question, one.calls, one.text) for one in seen if not one.right]


@pytest.mark.demand("adapter.test_model_asks_20")
def test_the_slice_has_all_skills_and_both_languages() -> None:
    slice_ = select_questions()
    assert len(slice_) == 20
    assert {item.skill for item in slice_} == {"calls", "missing", "results", "choices"}
    assert {item.zh for item in slice_} == {True, False}


@pytest.mark.demand("adapter.test_model_asks_20", "adapter.evaluator_prints_base_base")
@each_case(
    ("wanted", "calls", "text", "right"),
    [
        ('ring {"times": 2}', [("ring", {"times": 2})], "", True),
        ('ring {"times": 2}', [("ring", {"times": 3})], "", False),
        ('ring {"times": 2}', [], "Done.", False),
        ("none", [], "None of my tools can do that.", True),
        ("none", [("ring", {})], "", False),
        ("ask how many|times", [], "How many times?", True),
        ("ask how many", [], "Which bell?", False),
        ("say 12", [], "It rang 12 times.", True),
        ("say 12", [], "It rang 120 times.", False),
        ("say 12", [], '{"times": 12}', False),
    ],
)
def test_what_is_right_is_seen(wanted: str, calls: list[tuple[str, object]], text: str, right: bool) -> None:
    item = HeldOutQuestion("calls", "set", (), "question", wanted=wanted)
    assert EvaluatedAnswer(item, text, calls).right == right
