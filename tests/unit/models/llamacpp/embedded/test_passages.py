from __future__ import annotations

import time

import pytest

from rightseat.models.llamacpp.embedded.passages import (
    find_answer_sentence,
    find_context_sentence,
    find_lead_sentence,
    split_keeping_space,
    split_sentences,
)
from rightseat.models.llamacpp.embedded.request_intent import find_context
from rightseat.types.messages import CONTEXT_HEADING
from tests.kit.cases import each_case


@each_case(
    ("message", "expected"),
    [
        (
            "Mia has a red bike. Her brother Tom has a blue car.\n\nWhat does Tom have?",
            "Her brother Tom has a blue car.",
        ),
        (
            "The shop closed early because the power was out. Staff went home.\nWhy did the shop close early?",
            "because the power",
        ),
        ("Anna is 7 years old. Her brother Ben is 9. How old is Ben?", "Ben is 9"),
        ("When does the train leave? The bus leaves at 7:10. The train leaves at 8:05.", "The train leaves at 8:05."),
        ("李雷昨天感冒了，所以没有去上学。他在家看书。请问李雷为什么没有去上学？", "感冒"),
        ("小明有一只猫，叫咪咪。小红有一只狗，叫旺财。小红的狗叫什么名字？", "旺财"),
    ],
)
def test_the_sentence_of_a_text_answers(message: str, expected: str) -> None:
    answer = find_answer_sentence(message)
    assert answer is not None
    assert expected in answer


@each_case(
    "message",
    [
        "What is the capital of France?",
        "Hi. How are you?",
        "I have a question. What is a noun?",
        "Write a poem about rain. Make it short.",
        "What time is it? And what day is it?",
        "你好。今天星期几？",
        "",
    ],
)
def test_other_messages_have_no_text_to_answer_from(message: str) -> None:
    assert find_answer_sentence(message) is None


def test_a_line_of_the_context_answers() -> None:
    context = "- The selected customer: Ada Lovelace\n- The open page: invoices"
    assert find_context_sentence("Which customer is selected?", context) == "The selected customer: Ada Lovelace"
    assert find_context_sentence("What is a noun?", context) is None
    assert find_context_sentence("Which customer is selected?", "") is None


def test_the_date_answers_no_question_about_data() -> None:
    date = "- Today's date: 2026-11-16, a Monday, in the user's time zone Europe/Paris"
    assert find_context([f"{CONTEXT_HEADING}\n{date}"]) == ""
    context = find_context([f"Be brief.\n{CONTEXT_HEADING}\n- The open page: invoices\n{date}"])
    assert context == "- The open page: invoices"
    assert find_context_sentence("What was the price on Monday 2026-11-16?", context) is None


def test_the_day_is_in_the_sentence_that_names_one() -> None:
    text = "The Anchor is a pub run by Mary. They open at six every day except Tuesday. On which day is the pub closed?"
    assert find_answer_sentence(text) == "They open at six every day except Tuesday."


@each_case(
    ("message", "lead"),
    [
        ("Summarise: The shop moves in May. It will be larger.", "The shop moves in May."),
        ("Can you give me the gist of this? 'The call is on Friday. Ann leads it.'", "The call is on Friday."),
        ("总结一下：公司搬家了。新办公室更大。", "公司搬家了。"),
        ("can you sum this up in one sentence? The shop moves in May. It will be larger.", "The shop moves in May."),
        ("Summarise this in one sentence. The shop moves in May. It will be larger.", "The shop moves in May."),
        ("tl;dr The shop moves in May. It will be larger.", "The shop moves in May."),
        ("tldr in one sentence please: The shop moves in May. It will be larger.", "The shop moves in May."),
        ("In short: The shop moves in May. It will be larger.", "The shop moves in May."),
        ("In one sentence, what is this about?\nThe shop moves in May.\nIt will be larger.", "The shop moves in May."),
        ("The shop moves in May. It will be larger. Summarize this please.", "The shop moves in May."),
        ("The shop moves in May.\nIt will be larger.\n\nTLDR?", "The shop moves in May."),
        ("Sum up the following for me: Dr. Lee left. She was liked.", "Dr. Lee left."),
        ("请把下面这段话用一句话概括一下：公司搬家了。新办公室更大。", "公司搬家了。"),
        ("公司搬家了。新办公室更大。能帮我总结一下吗？", "公司搬家了。"),
        ("In short, we won the game. It was great. Everybody cheered.", None),
        ("The summary was bad. I liked it. What do you think?", None),
        ("Give me a summary of the plot of Hamlet. Keep it short. Thanks.", None),
        ("Summarize this in French: The shop moves in May. It will be larger.", None),
        ("总结会昨天开完了。大家都很高兴。", None),
        ("Summarise: The shop moves in May.", None),
        ("The shop moves in May. It will be larger.", None),
    ],
)
def test_a_summary_is_the_first_sentence(message: str, lead: str | None) -> None:
    assert find_lead_sentence(message) == lead


def test_sentences() -> None:
    assert split_sentences("One. Two! 三。四？") == ["One.", "Two!", "三。", "四？"]
    text = "First one. Second one!\n- a\n- b\n中文。好"
    assert "".join(split_keeping_space(text)) == text
    assert split_keeping_space("no end") == ["no end"]


@pytest.mark.parametrize("piece", ["please give me a short ", "请把下面这段文字用一句话", "in one sentence, ", "a. "])
def test_a_long_instruction_takes_little_work(piece: str) -> None:
    start = time.process_time()
    assert find_lead_sentence((piece * 5000)[:19_000]) is None
    assert time.process_time() - start < 0.5
