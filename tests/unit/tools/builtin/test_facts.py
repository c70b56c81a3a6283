"""The tool `facts`: its tables are complete, and it answers only what they have."""

from __future__ import annotations

from collections import Counter

import pytest

from rightseat.tools.builtin.facts import (
    facts,
    find_fact,
    load_names,
    load_records,
    look_up_fact,
    read_rows,
    split_note,
)
from tests.kit.cases import each_case

# 193 members of the United Nations and Vatican City.
COUNTRIES = 194
# Names that two entries share: both capitals are asked for, the works differ by the verb of the question.
SHARED_CAPITALS = {"金斯敦"}
SHARED_WORKS = {"呐喊"}


@pytest.mark.parametrize(
    ("table", "columns", "least"),
    [
        ("countries", 9, COUNTRIES),
        ("places", 4, 80),
        ("works", 5, 120),
        ("abbreviations", 3, 100),
        ("elements", 3, 118),
    ],
)
def test_each_row_has_its_columns(table: str, columns: int, least: int) -> None:
    rows = list(read_rows(table))
    assert len(rows) >= least
    assert [row for row in rows if len(row) != columns or not all(row)] == []


def test_all_members_of_the_united_nations_are_there() -> None:
    names = {row[0].split("/")[0] for row in read_rows("countries")}
    assert len(names) == COUNTRIES
    assert {"Vatican City", "Tuvalu", "Palau", "Timor-Leste", "Republic of the Congo", "Guinea-Bissau"} <= names


@each_case(
    ("table", "columns", "shared"),
    [
        ("countries", (0, 1), set()),
        ("countries", (2,), set()),
        ("countries", (3,), SHARED_CAPITALS),
        ("places", (0, 1), set()),
        ("works", (0, 1), SHARED_WORKS),
        ("abbreviations", (0,), set()),
        ("elements", (0,), set()),
        ("elements", (1, 2), set()),
    ],
)
def test_no_name_stands_for_two_entries(table: str, columns: tuple[int, ...], shared: set[str]) -> None:
    assert {name for name, rows in load_names(table, columns).items() if len(rows) > 1} == shared


def test_no_row_names_one_thing_twice() -> None:
    cells = [cell for table in ("countries", "places", "works") for row in read_rows(table) for cell in row[:2]]
    assert [cell for cell in cells if "" in cell.split("/") or len(set(cell.split("/"))) < len(cell.split("/"))] == []


def test_no_country_has_two_capitals() -> None:
    """A second seat of government stands in brackets, as a note."""
    for row in read_rows("countries"):
        for cell in row[2:4]:
            name, note = split_note(cell)
            assert name, row[0]
            assert "/" not in name, row[0]
            assert name not in note, row[0]


def test_no_record_stands_twice() -> None:
    groups = Counter((record.groups, record.groups_zh) for record in load_records())
    assert [count for count in groups.values() if count > 1] == []
    assert all(all(group) for record in load_records() for group in (*record.groups, *record.groups_zh))
    assert all(record.en.endswith(".") for record in load_records() if record.en)
    assert all(record.zh.endswith("。") for record in load_records())


def test_each_place_and_each_work_can_be_asked_for() -> None:
    for row in read_rows("places"):
        for name in row[0].split("/"):
            assert row[2] in (find_fact(f"where is the {name}?") or ""), name
        for name in row[1].split("/"):
            assert row[3] in (find_fact(f"{name}在哪里？") or ""), name
    for row in read_rows("works"):
        verb = {"author": "wrote", "inventor": "invented", "discoverer": "discovered"}.get(row[2].split()[-1], row[2])
        for name in row[0].split("/"):
            assert row[3].lower() in (find_fact(f"who {verb} {name}?") or "").lower(), name


def test_a_shared_capital_is_told_for_both_countries() -> None:
    assert find_fact("金斯敦是哪个国家的首都") == "金斯敦是牙买加的首都，也是圣文森特和格林纳丁斯的首都。"


def test_each_country_is_asked_in_both_languages() -> None:
    for row in read_rows("countries"):
        name, zh = (cell.split("/")[0] for cell in row[:2])
        assert row[2] in (find_fact(f"what is the capital of {name}") or ""), name
        assert row[3] in (find_fact(f"{zh}的首都是哪里") or ""), zh


def test_records_have_answers() -> None:
    assert all(record.groups_zh and record.zh for record in load_records())


@pytest.mark.demand("five_minutes.facts_looked_up")
@each_case(
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
        ("what is the capital of Equatorial Guinea", "Ciudad de la Paz (since January 2026"),
        ("currency of bulgaria?", "euro (since 2026"),
        ("what is the capital of the U.S.?", "Washington, D.C."),
        ("what's the capital of Georgia", "Tbilisi (that of the US state is Atlanta)"),
        ("Jerusalem is the capital of which country", "by Israeli law"),
        ("which continent is cyprus in", "Western Asia"),
        ("刚果（金）的首都是哪里", "金沙萨"),
        ("what was the capital of Peru again?", "Lima"),
        ("I am going to Poland next week, what currency do they use?", "złoty"),
        ("where are the pyramids", "are in Giza"),
        ("where is red square", "Red Square is in Moscow"),
        ("who wrote the art of war", "is usually credited to Sun Tzu"),
        ("who invented the lightbulb", "Swan"),
        ("who discovered america", "Norse"),
        ("who made Google?", "founded Google"),
        ("who made the first telephone", "credited to Alexander Graham Bell"),
        ("what does wifi stand for", "not short for anything"),
        ("which planet is the biggest one in our solar system", "Jupiter"),
        ("呐喊是谁画的", "蒙克"),
        ("呐喊的作者是谁", "鲁迅"),
        ("西游记是谁写的", "一般认为"),
        ("鿔的化学符号是什么", "Cn"),
        ("AI是什么的缩写", "人工智能"),
        ("谁是美国第一任总统", "华盛顿"),
        ("how far away is the moon", "384,400"),
        ("what year did the berlin wall come down", "1989"),
        ("帕劳的首都是哪里", "梅莱凯奥克"),
    ],
)
def test_facts(question: str, expected: str) -> None:
    assert expected in (find_fact(question) or "")


@pytest.mark.demand("five_minutes.facts_looked_up")
@each_case(
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


@pytest.mark.demand("five_minutes.facts_looked_up")
@each_case(
    "question",
    [
        "who wrote the report",
        "who wrote the paper",
        "who wrote this paper?",
        "capital of my company",
        "what is the capital of my company?",
        "what is the currency of the future",
        "what is the capital of new mexico",
        "what is the capital of northern ireland",
        "what's the capital of western australia?",
        "what is the capital of ancient egypt",
        "what was the first capital of the united states",
        "what was the capital of Brazil",
        "what is the old capital of Japan",
        "what is the fashion capital of italy",
        "how much money do I need in Poland?",
        "how much cash can i bring to japan",
        "do I need cash in Japan?",
        "can I pay with euro money in Poland?",
        "how many languages are spoken in India?",
        "who is on the money in France?",
        "what is the capital of Congo",
        "who designed the car",
        "who made the battery",
        "who started the radio?",
        "who started the family",
        "who sang yesterday?",
        "who created the apple",
        "who discovered the amazon",
        "who built the titanic",
        "who wrote the trial report",
        "who invented the car battery",
        "who invented paper planes",
        "who founded apple valley",
        "who wrote the google doc",
        "who painted the white house",
        "who made the paper",
        "where should i eat in Rome",
        "where to go in Rome",
        "where is the office in Paris",
        "where was Casablanca filmed",
        "where is paris hilton",
        "what does AI mean for jobs",
        "WHAT DOES IT MEAN?",
        "what is the mean GDP",
        "what does my CPU mean by that",
        "did you mean the API?",
        "what is the longest river in the US",
        "what is the largest lake in germany",
        "what is the highest mountain in france",
        "who was the first president of france",
        "how many hours a day do people use their phone",
        "how many weeks vacation in a year",
        "how many minutes a day does the average person read",
        "how many continents have you visited",
        "how many players are on our football team",
        "how many states are in germany",
        "how many bones does a cat have",
        "when did the titanic come out",
        "how many keys does a keyboard have",
        "what is the tallest building in china",
        "what is the second largest ocean",
        "how many days does it take to get to the moon",
        "what is the chemical symbol of love",
        "what's the speed of sound design",
        "which language should we speak in the meeting in France?",
        "北爱尔兰的首都是哪里",
        "马里兰首府是哪里",
        "刚果的首都是哪里",
        "美国最长的河是哪条",
        "中国最大的岛是哪个",
        "中国最高的楼是哪座",
        "泰坦尼克是哪年上映的",
        "这张纸是谁写的",
        "电话是谁打的",
        "飞机是谁开的",
        "汽车是谁造的",
        "在日本要用多少钱",
        "去法国怎么换货币",
        "日本以前的首都是哪里",
        "小王子是谁",
        "半程马拉松多长",
        "我们公司的首都在哪里",
        "未来的货币是什么",
        "谁写的报告",
        "罗马哪里好玩",
        "谁是CEO代表",
        "法国最大的湖是哪个",
        "我们足球队有多少人",
        "北京马拉松有多少人",
        "章鱼小丸子几个",
        "what currency will Sweden use next year",
        "who directed the play hamlet",
        "who plays hamlet",
        "who wrote hamlet 2",
        "who invented the word car",
        "who created the apple logo",
        "what does API key mean",
        "what does BMI of 30 mean",
        "how many strings in python",
        "where is Santiago Bernabeu",
        "what is the capital of the state of Washington",
        "中国的货币政策是什么",
        "印度洋在哪里",
        "长城汽车在哪里",
        "世界最高的人是谁",
    ],
)
def test_near_misses(question: str) -> None:
    assert find_fact(question) is None


def test_the_tool_says_that_it_has_no_answer() -> None:
    assert facts.name == "facts"
    assert facts.effect == "reads"
    assert "Lima" in str(look_up_fact("capital of Peru?").content)
    assert "not_found" in str(look_up_fact("who is the mayor of Lima").content)
