"""The tool `facts`: its tables are complete, and it answers only what they have."""

from __future__ import annotations

import pytest

from rightseat.tools.builtin.facts import facts, find_fact, load_records, look_up_fact, read_rows


@pytest.mark.parametrize(
    ("table", "columns", "least"),
    [("countries", 9, 160), ("places", 4, 80), ("works", 5, 120), ("abbreviations", 3, 100), ("elements", 3, 118)],
)
def test_each_row_has_its_columns(table: str, columns: int, least: int) -> None:
    rows = list(read_rows(table))
    assert len(rows) >= least
    assert [row for row in rows if len(row) != columns or not all(row)] == []


def test_no_country_stands_twice() -> None:
    names = [row[0] for row in read_rows("countries")]
    assert len(set(names)) == len(names)


def test_each_country_is_asked_in_both_languages() -> None:
    for row in read_rows("countries"):
        name, zh = (cell.split("/")[0] for cell in row[:2])
        assert row[2] in (find_fact(f"what is the capital of {name}") or ""), name
        assert row[3] in (find_fact(f"{zh}的首都是哪里") or ""), zh


def test_records_have_answers() -> None:
    assert all(record.groups_zh and record.zh for record in load_records())


@pytest.mark.demand("five_minutes.facts_looked_up")
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("which currency do I need in Poland?", "złoty"),
        ("what do people speak in Switzerland", "German, French"),
        ("Which continent does Kenya belong to?", "Africa"),
        ("in which country would i find petra", "Jordan"),
        ("who painted the starry night", "Vincent van Gogh"),
        ("who invented the telephone", "Bell"),
        ("gps is short for what again", "Global Positioning System"),
        ("whats the biggest ocean in the world", "Pacific"),
        ("which animal is the fastest on land", "cheetah"),
        ("a hexagon, thats how many sides?", "six"),
        ("when did world war two end", "1945"),
        ("what is the atomic number of carbon", "6"),
        ("Paris is the capital of which country?", "France"),
        ("What country is Cairo in?", "Egypt"),
        ("韩国用什么货币", "韩元"),
        ("富士山在哪个国家呀", "日本"),
        ("命运交响曲是谁的作品啊", "贝多芬"),
        ("电话是谁发明的", "贝尔"),
        ("足球比赛一个队上场多少人？", "11"),
        ("cpu的全称是什么", "中央处理器"),
        ("金的化学符号是什么", "Au"),
    ],
)
def test_facts(question: str, expected: str) -> None:
    assert expected in (find_fact(question) or "")


@pytest.mark.demand("five_minutes.facts_looked_up")
@pytest.mark.parametrize(
    "question",
    [
        "who is the president of france",
        "what is the largest city in china",
        "who wrote this code",
        "so who built you, google?",
        "who made the apple pie",
        "what does it mean",
        "who are you",
        "how many days are left in this year",
        "how many legs does a table have",
        "what is the capital gains tax in france",
        "how much money does France spend on defence every year",
        "which language should i learn for python",
        "I like Paris.",
        "中国最大的城市是哪个",
        "我画的画是谁的",
        "中国最高的人是谁",
        "你是谁写的",
        "长" * 200,
    ],
)
def test_other_questions(question: str) -> None:
    assert find_fact(question) is None


def test_the_tool_says_that_it_has_no_answer() -> None:
    assert facts.name == "facts"
    assert facts.effect == "reads"
    assert "Lima" in str(look_up_fact("capital of Peru?").content)
    assert "not_found" in str(look_up_fact("who is the mayor of Lima").content)
