from __future__ import annotations

import math

import pytest

from rightseat.models.llamacpp.embedded.plain_chat import (
    SYSTEM,
    WRITING_SYSTEM,
    SentenceChecker,
    ShortAnswer,
    declines,
    find_short_answer,
    make_plain_prompt,
    make_plain_settings,
)
from rightseat.types.chunks import TextChunk
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolSpec
from tests.kit.cases import each_case


def make_chunks(text: str, probabilities: dict[str, float] | None = None) -> list[TextChunk]:
    """A chunk for each word, with its probability."""
    tokens = [word if index == 0 else f" {word}" for index, word in enumerate(text.split(" "))]
    known = probabilities or {}
    return [
        TextChunk(token, {"content": [{"token": token, "logprob": math.log(known.get(token.strip(" .,!?\n"), 0.9))}]})
        for token in tokens
    ]


def check(
    question: str, text: str, probabilities: dict[str, float] | None = None, *, complete: bool = True
) -> list[str]:
    checker = SentenceChecker(question, [])
    shown = [sentence for chunk in make_chunks(text, probabilities) for sentence in checker.push(chunk)]
    return shown + list(checker.close(complete=complete))


def test_sentences_are_passed_as_they_end() -> None:
    assert check("x", "One is here. Mr. Smith came. Then two") == ["One is here.", " Mr. Smith came.", " Then two"]


def test_a_sentence_that_was_cut_is_left_out() -> None:
    assert check("x", "One is here. Then tw", complete=False) == ["One is here."]
    assert check("x", "Only this", complete=False) == ["Only this"]


def test_a_repeated_sentence_ends_the_answer() -> None:
    assert check("x", "I like cats. You like dogs. I like cats. More.") == ["I like cats.", " You like dogs."]


def test_a_repeated_phrase_is_cut() -> None:
    shown = check("x", "This is a long beginning and " + "again and again " * 5)
    assert "".join(shown).count("again and again") <= 2


@each_case(
    ("question", "text", "expected"),
    [
        (
            "Write a haiku",
            "The sea, wide and grey. It sings. It sleeps. It wakes.",
            "The sea,\nwide and grey.\nIt sings.",
        ),
        ("Write a two-line poem", "Rain falls,\nleaves shine.\nThe end.", "Rain falls,\nleaves shine."),
        ("I need a catchy slogan", "Good coffee, good day\n\nThis slogan is short.", "Good coffee, good day"),
        ("Write a three-line poem", "One\n\ntwo", "One\n\ntwo\n"),
        ("Explain rain in one sentence", "Water falls. It is wet.", "Water falls."),
        ("Write a poem", "One\ntwo\nthree\nfour", "One\ntwo\nthree\nfour"),
    ],
)
def test_a_text_has_the_length_that_was_asked_for(question: str, text: str, expected: str) -> None:
    assert "".join(check(question, text)) == expected


@pytest.mark.parametrize(
    ("text", "probability", "expected"),
    [
        ("A spider has 80 legs.", 0.2, []),
        ("Water boils at 100 degrees.", 0.8, ["Water boils at 100 degrees."]),
        ("There are five continents.", 0.3, []),
        ("There are seven continents.", 0.9, ["There are seven continents."]),
    ],
)
def test_a_number_that_the_weights_doubt_is_left_out(text: str, probability: float, expected: list[str]) -> None:
    unsure = dict.fromkeys(("80", "100", "five", "seven"), probability)
    assert check("How many?", text, unsure) == expected


def test_what_follows_a_doubtful_sentence_is_left_out() -> None:
    assert check("How were sales?", "They rose by 37 percent. This trend continues.", {"37": 0.1}) == []
    assert check("Sales?", "They rose. By 37 percent. This goes on.", {"37": 0.1}) == ["They rose."]


def test_a_number_of_the_question_needs_no_certainty() -> None:
    assert check("Is 80 a lot?", "Yes, 80 is a lot.", {"80": 0.1}) == ["Yes, 80 is a lot."]


def test_list_items_are_counted_again() -> None:
    text = "1. Sleep for 99 hours.\n2. Drink water.\n3. Rest."
    assert "".join(check("Tips?", text, {"99": 0.1})) == "1. Drink water.\n2. Rest."


def test_a_fact_that_the_weights_doubt_is_left_out() -> None:
    words = dict.fromkeys(["The", "winner", "was", "Jacques", "Brel"], 0.1)
    assert check("who won in Paris", "The winner was Jacques Brel.", words) == []
    assert check("Write a story", "The winner was Jacques Brel.", words) == ["The winner was Jacques Brel."]


def test_declines() -> None:
    assert declines("I don't have a tool for that.", "What is a noun?")
    assert declines("对不起，现有的工具无法做到这一点。", "你好")
    assert not declines("A hammer is a tool.", "What tool drives nails?")
    assert not declines("The capital is Rome.", "What is the capital of Italy?")


def test_the_plain_prompt_has_no_tools_and_results() -> None:
    call = ToolCall("1", "clock", "{}")
    prompt = Prompt(
        messages=(
            text_message("user", "What time is it?"),
            Message("assistant", calls=(call,)),
            text_message("tool", "12:00", call_id="1"),
            text_message("assistant", "It is 12:00."),
            text_message("user", "Write a poem"),
        ),
        tools=(ToolSpec("clock", "", {}),),
    )
    plain = make_plain_prompt(prompt, "Write a poem")
    assert [(message.role, message.text) for message in plain.messages] == [
        ("system", WRITING_SYSTEM),
        ("user", "What time is it?"),
        ("assistant", "It is 12:00."),
        ("user", "Write a poem"),
    ]
    assert plain.tools == ()
    assert make_plain_prompt(prompt, "What is a noun?").messages[0].text == SYSTEM


def test_an_application_keeps_its_system_prompt() -> None:
    prompt = Prompt(messages=(text_message("system", "Be a pirate."), text_message("user", "hello")))
    assert make_plain_prompt(prompt, "hello").messages[0].text == "Be a pirate."


def test_the_second_attempt_is_drawn_more_freely() -> None:
    first, second = (make_plain_settings(SamplingSettings(), again=again) for again in (False, True))
    assert (first.temperature, second.temperature) == (0.0, 0.7)
    assert first.extra["repeat_penalty"] < second.extra["repeat_penalty"]
    assert make_plain_settings(SamplingSettings(temperature=0.3), again=True).temperature == 0.3


@pytest.mark.parametrize(
    ("text", "probability", "expected"),
    [
        ("It is Oslo. It is cold.", 0.9, "It is Oslo."),
        ("It is Oslo", 0.9, "It is Oslo"),
        ("It is Oslo.", 0.4, None),
        ("", 0.9, None),
        ("\n", 0.9, None),
    ],
)
def test_a_short_answer_is_a_probable_first_sentence(text: str, probability: float, expected: str | None) -> None:
    words = dict.fromkeys(("It", "is", "Oslo", "cold"), probability)
    short = find_short_answer(make_chunks(text, words))
    assert (short and short.text) == expected


@each_case(
    ("short", "text", "expected"),
    [
        (ShortAnswer("The liver pumps blood.", 0.5), "The heart does it.", ""),
        (ShortAnswer("The heart pumps blood.", 0.5), "A heart does it.", "The heart pumps blood."),
        (ShortAnswer("The liver pumps blood.", 0.95), "The heart does it.", "The liver pumps blood."),
        (ShortAnswer("The liver pumps blood.", 0.3), "The heart does it.", "The heart does it."),
        (ShortAnswer("A guitar has 45 strings.", 0.95), "It has 12 strings.", ""),
        (ShortAnswer("Newton pumps.", 0.35), "Newton did in 1687.", "Newton pumps."),
        (ShortAnswer("Egypt pumps.", 0.5), "The answer is what pumps.", "Egypt pumps."),
    ],
)
def test_the_surer_of_two_answers_is_shown(short: ShortAnswer, text: str, expected: str) -> None:
    checker = SentenceChecker("What pumps?", [], short)
    words = dict.fromkeys(text.rstrip(".").split(), 0.4)
    shown = [sentence for chunk in make_chunks(text, words) for sentence in checker.push(chunk)]
    assert "".join([*shown, *checker.close(complete=True)]) == expected
    assert checker.disagrees is (not expected)
