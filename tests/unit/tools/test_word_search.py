"""Tools are found by the words of a question, in English and in Chinese."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.tools.word_search import MAX_POSTINGS, MAX_QUERY_WORDS, SearchField, SearchIndex, tokenize
from tests.kit.cases import each_case
from tests.unit.plugins.catalogs import make_large_catalog, make_small_catalog


@each_case(
    ("text", "expected"),
    [
        ("getHostsById", ["host", "id"]),
        ("list_open_tickets", ["list", "open", "ticket"]),
        ("HTTPServer2 queries", ["http", "server", "2", "query"]),
        ("查询主机", ["查询", "询主", "主机"]),
        ("主机web-01的漏洞", ["主机", "web", "的漏", "漏洞", "01"]),
        ("的", ["的"]),
        ("please show me the", []),
        ("\ud800 \u2028 😀", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert list(tokenize(text)) == expected


@pytest.mark.demand("plugins.more_operations_model_shown")
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("帮我看看主机web-01有哪些高危漏洞", "cmdb_host_cves"),
        ("列出所有主机", "cmdb_list_hosts"),
        ("Will it rain? I need a forecast for Paris", "weather_forecast"),
        ("How windy is it in the city now?", "weather_current"),
        ("reserve the books by Woolf", "library_reserve_book"),
    ],
)
def test_the_best_tool_for_a_question_comes_first(question: str, expected: str) -> None:
    shelf = make_small_catalog()
    found = shelf.index.search(question)
    assert shelf.entries[found[0]].tool.name == expected


def test_only_what_is_allowed_is_found() -> None:
    shelf = make_small_catalog()
    allowed = {entry.number for entry in shelf.by_plugin["library"]}
    assert set(shelf.index.search("weather forecast hosts book", allowed)) <= allowed
    assert shelf.index.search("weather forecast", allowed) == []


def test_a_rare_word_is_found_among_thousands() -> None:
    shelf = make_large_catalog(100, 20)
    found = shelf.index.search("Handles records: how many bees are there?")
    assert shelf.entries[found[0]].tool.name == "bees_hive"


@pytest.mark.demand("plugins.100_plugins_2_000")
@pytest.mark.slow
def test_a_search_looks_at_no_more_among_thousands() -> None:
    question = "Which records of kind 3 does part 5 handle, and how many bees?"
    most = MAX_POSTINGS * len(set(tokenize(question)))
    assert len(make_large_catalog(5, 20).index.search(question)) <= most
    assert len(make_large_catalog(200, 20).index.search(question)) <= most
    long = " ".join(f"records of kind {number}" for number in range(300))
    assert len(make_large_catalog(200, 20).index.search(long)) <= MAX_POSTINGS * MAX_QUERY_WORDS


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_searched(text: str, query: str) -> None:
    index = SearchIndex([[SearchField(text, 1.0)], [SearchField("something else", 1.0)]])
    assert set(index.search(query)) <= {0, 1}
    shared = set(tokenize(text)) & set(tokenize(query))
    assert (0 in index.search(query)) == bool(shared)


def test_the_same_search_gives_the_same_order() -> None:
    texts = [[SearchField(f"alike {n % 3}", 1.0)] for n in range(40)]
    shuffled = random.Random(1).sample(["alike", "1", "alike", "2"], 4)
    assert SearchIndex(texts).search(" ".join(shuffled)) == SearchIndex(texts).search(" ".join(shuffled))
    assert SearchIndex([]).search("x") == []
