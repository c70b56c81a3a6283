"""The wordings of wordings.toml: each gets its call or its help, and the near misses get neither."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rightseat.models.llamacpp.embedded.clauses import split_clauses
from rightseat.models.llamacpp.embedded.help_answers import find_topic
from rightseat.models.llamacpp.embedded.help_topics import CAPABILITY, SETUP_TOPICS, WHO
from rightseat.models.llamacpp.embedded.request_intent import correct_slang
from rightseat.models.llamacpp.embedded.small_talk import SMALL_TALK
from rightseat.wiring.demo import BOOKING_TOOL, CLOCK_TOOL, SALES_TOOL
from rightseat.wiring.demo.shortcuts import SHORTCUTS
from tests.kit.cases import each_case

WORDINGS = tomllib.loads((Path(__file__).parent / "wordings.toml").read_text("utf-8"))
TOPICS = {
    "greeting": SMALL_TALK,
    "capability": (CAPABILITY,),
    "who": (WHO,),
    "tools": (SETUP_TOPICS[0],),
    "model": (SETUP_TOPICS[5],),
}
CALLS = [
    *((question, {BOOKING_TOOL: {"people": people}}) for question, people in WORDINGS["book"]),
    *((question, {SALES_TOOL: {}}) for question in WORDINGS["chart"]),
    *((question, {CLOCK_TOOL: {}}) for question in WORDINGS["clock"]),
]


def find_calls(question: str) -> dict[str, dict[str, Any]]:
    found = {shortcut.tool: shortcut.match(correct_slang(question)) for shortcut in SHORTCUTS}
    return {tool: arguments for tool, arguments in found.items() if arguments is not None}


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case(("question", "expected"), CALLS)
def test_a_request_in_ones_own_words_gets_its_call(question: str, expected: dict[str, dict[str, Any]]) -> None:
    assert find_calls(question) == expected


@each_case(
    ("question", "kind"), [(question, kind) for kind, questions in WORDINGS["help"].items() for question in questions]
)
def test_a_question_about_the_assistant_gets_its_topic(question: str, kind: str) -> None:
    assert not find_calls(question)
    assert find_topic(split_clauses(correct_slang(question))) in TOPICS[kind]


@pytest.mark.demand("demo.questions_recognized_by_rules")
@each_case("question", [question for questions in WORDINGS["other"].values() for question in questions])
def test_a_near_miss_gets_neither(question: str) -> None:
    assert not find_calls(question)
    assert find_topic(split_clauses(correct_slang(question))) is None


def test_every_intent_has_twenty_wordings_in_both_languages() -> None:
    kinds = [WORDINGS[kind] for kind in ("book", "chart", "clock")] + list(WORDINGS["help"].values())
    assert all(len(wordings) >= 20 for wordings in kinds)
    assert all({str(wording).isascii() for wording in wordings} == {True, False} for wordings in kinds)
    assert sum(map(len, WORDINGS["other"].values())) >= 200
