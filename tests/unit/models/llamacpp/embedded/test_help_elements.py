"""Greetings and questions for help in wordings that no vocabulary covers, and near misses."""

from __future__ import annotations

import pytest

from rightseat.models.llamacpp.embedded.help_answers import find_help_answer
from rightseat.models.llamacpp.embedded.passages import find_answer_sentence, find_lead_sentence
from rightseat.types.language import detect_language
from tests.kit.cases import each_case

WORDINGS = """
How can I help | heyy whats up
How can I help | hi there! first time using this
How can I help | hello, nice to finally try this
How can I help | evening all, how's everybody doing
可以帮您 | 嗨～第一次来，跟你打个招呼
可以帮您 | hi，初次见面请多关照
可以帮您 | 你好啊，我是新来的，来看看
SmolLM2 | are you the same thing as chatgpt or something else
No tools | ok so what is this page for, what can it help me with?
No tools | what's the point of this thing, what can i do here
No tools | give me a quick tour of what you do
没有 | 这个网页是干嘛用的，能帮我做点什么
没有 | 刚装好，能给我介绍一下你有哪些功能吗
Three ways | I've got Ollama on my laptop, what do I change so this uses a model from there?
Three ways | how do I point this at my own llama.cpp server
Three ways | We run vLLM at work, can I connect this to it?
三种办法 | 我电脑上装了ollama，怎么让你用里面的模型
三种办法 | 这个模型有点笨，怎么换个大点的
Python function | can I teach you to check our stock levels with my own code?
Python function | What's the easiest way to give you access to a function from my app?
Python 函数 | 自己写的小工具要放在哪儿，你才能用得上？
Python 函数 | 想加个自己的工具，该改哪个文件
A plugin is | How would I connect our company's REST api to this?
插件是 | 想接我们公司的接口，怎么弄
"""
OTHERS = """
what are you waiting for?
what is it for
how do I get a google maps api key?
How do I use a better model for predicting house prices?
where do I enter my key in this lock
how do I write a plugin for wordpress?
hi, capital of France
你好，介绍一下北京
my phone is broken
where do I put my garden tools?
"""


def find(question: str) -> str | None:
    return find_help_answer(question, detect_language(question), (), {}, has_own_voice=False)


@pytest.mark.demand("embedded.known_by_elements")
@each_case("line", WORDINGS.strip().splitlines())
def test_questions_known_by_their_elements(line: str) -> None:
    expected, _, question = line.partition(" | ")
    assert expected in (find(question) or "")


@pytest.mark.demand("embedded.known_by_elements")
@each_case("question", OTHERS.strip().splitlines())
def test_near_misses(question: str) -> None:
    assert find(question) is None


TEXT = "The new printer cost 210 euros. It was delivered on Monday by a very friendly driver."
TEXT_ZH = "公司食堂下周一开始装修，预计需要两周。装修期间，员工可以到隔壁大楼用餐。"


@pytest.mark.demand("embedded.known_by_elements")
@each_case(
    "message",
    [
        f"make this shorter please: {TEXT}",
        f"Could you put this in one sentence for me: {TEXT}",
        f"I don't have time to read this, short version please: {TEXT}",
        f"{TEXT}\n\ncan you condense that into one sentence",
        f"帮我精简成一句话：{TEXT_ZH}",
        f"{TEXT_ZH}\n帮我把这段话缩成一句",
    ],
)
def test_summaries_in_other_words(message: str) -> None:
    assert find_lead_sentence(message) in ("The new printer cost 210 euros.", "公司食堂下周一开始装修，预计需要两周。")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("妈妈昨天给爸爸买了一双运动鞋，花了280元，预计周五送到。\n这双鞋多少钱？", "花了280元。"),
        ("Lessons start on 3 May. Lessons are from 8:15 to 9:00.\n\nwhat time do the lessons start?", "8:15"),
        ("name,team\nMia,Reds\n\nwhat does Mia like?", ""),
    ],
)
def test_sentences(message: str, expected: str) -> None:
    assert expected in (find_answer_sentence(message) or "")
    assert bool(expected) == bool(find_answer_sentence(message))
