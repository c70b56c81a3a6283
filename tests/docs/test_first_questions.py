"""The first questions of evals/: each is answered at both doors, and the page has the figures of the verdicts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.kit.cases import each_case

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "evals" / "first_questions"
PAGE = (ROOT / "docs" / "embedded-model.md").read_text("utf-8")
VERDICTS = tomllib.loads((FOLDER / "verdicts.toml").read_text("utf-8"))


def load_ids(name: str) -> list[str]:
    return [question["id"] for question in tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))["question"]]


@pytest.mark.demand("embedded.ninety_first_questions")
@each_case("name", VERDICTS)
def test_answers_and_verdicts(name: str) -> None:
    ids = load_ids(name.removesuffix("-first"))
    lines = (FOLDER / f"answers-{name}.jsonl").read_text("utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    assert sorted((answer["id"], answer["door"]) for answer in answers) == sorted(
        (id, door) for id in ids for door in ("openai", "agui")
    )
    assert VERDICTS[name].keys() <= set(ids)
    good = len(ids) - len(VERDICTS[name])
    assert f"{good}/{len(ids)}" in PAGE
    for answer in answers:
        shown = answer["text"]
        assert "<tool_" not in shown
        assert "<|" not in shown


@pytest.mark.demand("embedded.ninety_first_questions")
def test_the_ninety_are_a_third_chinese() -> None:
    ids = load_ids("seen") + load_ids("unseen")
    assert len(ids) == 90
    assert sum(id.startswith("zh") for id in ids) == 30
