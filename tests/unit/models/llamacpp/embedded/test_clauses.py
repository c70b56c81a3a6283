from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from rightseat.models.llamacpp.embedded.clauses import MAX_LENGTH, Vocabulary, is_statement, split_clauses
from rightseat.models.llamacpp.embedded.help_answers import find_help_answer
from tests.kit.cases import each_case


@each_case(
    ("message", "clauses"),
    [
        ("Hi! What can you do?", ["hi", "what can you do"]),
        ("A table at 7:30 p.m., for 4.", ["a table at 7:30 pm", "for 4"]),
        ("graph it: sales per month", ["graph it", "sales per month"]),
        ("it costs 3.50 at 18:00", ["it costs 3.50 at 18:00"]),
        ("你好，我有 OpenAI 的 key。", ["你好", "我有openai的key"]),
        ("nice to meet you :)", ["nice to meet you"]),
        ("book a table - 4 people", ["book a table", "4 people"]),
        ('Translate "hi" please', []),
        ("two\nlines", []),
        ("Heyyyy!!!", ["hey"]),
        ("", []),
        ("x" * (MAX_LENGTH + 1), []),
    ],
)
def test_clauses(message: str, clauses: list[str]) -> None:
    assert split_clauses(message) == clauses


@each_case(
    ("clause", "expected"),
    [
        ("my phone died", True),
        ("first time here", True),
        ("what time is it", False),
        ("i need a poem", False),
        ("我手表停了", True),
        ("帮我写首诗", False),
        ("你会做饭吗", False),
    ],
)
def test_statements_ask_nothing(clause: str, expected: bool) -> None:
    assert is_statement(clause) == expected


def test_a_vocabulary_covers_words_of_both_languages() -> None:
    vocabulary = Vocabulary("cheese deepseek 奶酪")
    assert vocabulary.covers("what's the cheese")
    assert vocabulary.covers("可以用deepseek吗")
    assert vocabulary.find_unknown("the cheesecake and 面包") == ["cheesecake", "面", "包"]
    assert Vocabulary("cheese", with_common=False).find_unknown("the cheese") == ["the"]


def test_a_long_message_is_not_normalized(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(form: str, text: str) -> str:
        raise AssertionError(form)

    monkeypatch.setattr("rightseat.models.llamacpp.embedded.clauses.unicodedata", SimpleNamespace(normalize=refuse))
    assert split_clauses("ﷺ" * 20_000) == []


@each_case(
    "text",
    [
        "what can you do ",
        "hi, ",
        "how ",
        "i ask ",
        "you can ",
        "第一次",
        "问你什么",
        "a.",
        ": ",
        "model use how ",
        "do you like ",
        "this is not ",
        "that was ",
        "i have api ",
        "my data ",
        "what is this ",
        "i'm so ",
        "it ",
        "你是",
        "陪我",
        "my name ",
    ],
)
def test_a_hostile_question_for_help_is_read_at_once(text: str) -> None:
    start = time.process_time()
    for message in (text * (MAX_LENGTH // len(text)), text * (20_000 // len(text))):
        find_help_answer(message, "en", (), {}, has_own_voice=False)
    assert time.process_time() - start < 1
