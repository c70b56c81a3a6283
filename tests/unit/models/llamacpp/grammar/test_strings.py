"""Strings: lengths in characters, patterns, escapes."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.expr import fit_length, matches_text
from rightseat.models.llamacpp.grammar.regex import UnsupportedPattern, parse_pattern
from rightseat.models.llamacpp.grammar.rules import GrammarLimits
from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds
from tests.unit.models.llamacpp.corpus import PATTERNS, UNSUPPORTED_PATTERNS
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.schema_grammar import build_grammar

# What Python's engine reads as ECMA-262 does.
PORTABLE_PATTERNS = [
    pattern for pattern in PATTERNS if "?<" not in pattern and "\\s" not in pattern and "\\S" not in pattern
]


def build_string_grammar(schema: dict[str, Any]) -> Grammar:
    return Grammar.parse(build_grammar({"type": "string", **schema}).text)


def to_json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@each_case("text", ["", "é", "😀", "\U0010ffff", '"', "\\", "/", "\n\t\r\b\f", "\x00\x1f", "\x7f", "\u2028", "中文"])
def test_every_character_passes_as_json_spells_it(text: str) -> None:
    rules = build_string_grammar({"maxLength": len(text), "minLength": len(text)})
    assert rules.accepts(to_json_string(text))
    assert rules.accepts(json.dumps(text))


@each_case(
    "text", ['"\n"', '"\\x"', '"\\u12"', '"\\ud800"', '"\\udc00"', '"', '"a', "'a'", '"\ud800"', '"\\ud800\\u0041"']
)
def test_what_is_no_string_in_json(text: str) -> None:
    assert not build_string_grammar({}).accepts(text)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 3), (2, 4), (3, 3), (5, None)])
def test_lengths_count_characters(low: int, high: int | None) -> None:
    rules = build_string_grammar({"minLength": low} | ({} if high is None else {"maxLength": high}))
    for size in range(8):
        for char in ("a", "中", "😀", '"', "\n"):
            assert rules.accepts(to_json_string(char * size)) is (low <= size <= (high if high is not None else 99))


def test_a_string_without_bound_is_bounded() -> None:
    assert build_string_grammar({}).accepts(to_json_string("a" * 1000))
    assert not build_string_grammar({}).accepts(to_json_string("a" * 1001))
    small = Grammar.parse(build_grammar({"type": "string", "pattern": "^a+$"}, limits=GrammarLimits(string=5)).text)
    assert [n for n in range(9) if small.accepts(to_json_string("a" * n))] == [1, 2, 3, 4, 5]


def test_a_length_beyond_reason_is_refused() -> None:
    with pytest.raises(CallerError, match="minLength"):
        build_grammar({"type": "string", "minLength": 10_000})
    assert Grammar.parse(build_grammar({"type": "string", "maxLength": 10**9}).text).accepts('"a"')


@pytest.mark.demand("llamacpp.json_schema_2020_12")
@settings(max_examples=limit_rounds(250))
@given(data=st.data())
def test_patterns_take_what_a_regex_engine_takes(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(PORTABLE_PATTERNS))
    regex = re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)
    near = st.from_regex(regex).filter(lambda text: len(text) < 30)
    text = data.draw(near | st.text('abcxyz019-_./ "\\', max_size=6))
    if any(0xD800 <= ord(char) < 0xE000 or char in "\r\u2028\u2029\x85" for char in text):
        return
    expected = regex.search(text) is not None
    # Nested repetitions are cut short, and so is what comes before an unanchored match.
    if expected or not text.endswith("\n"):
        assert build_string_grammar({"pattern": pattern}).accepts(to_json_string(text)) is expected, (pattern, text)


def test_a_pattern_keeps_the_length_too() -> None:
    rules = build_string_grammar({"pattern": "^[a-z]+-[0-9]+$", "minLength": 4, "maxLength": 6})
    for text in ("a-1", "a-12", "ab-1", "abc-12", "a-1234", "abcd-1", "abcd-12", "abcde-1", "ab-12345"):
        assert rules.accepts(to_json_string(text)) is (4 <= len(text) <= 6), text


@each_case("pattern", UNSUPPORTED_PATTERNS)
def test_what_no_grammar_says_is_named(pattern: str) -> None:
    said = build_grammar({"type": "object", "properties": {"a/b": {"type": "string", "pattern": pattern}}})
    assert said.unenforced == ("#/properties/a~1b: pattern",)
    assert not said.exact


@each_case(
    "pattern", ["(" * 60 + ")" * 60, "a" * 5000, "(a{9000}){9}", "(^a|b)(^c|d)" * 50, "[a-", "(a", "a)", "[z-a]"]
)
def test_a_pattern_beyond_reason_is_unsayable(pattern: str) -> None:
    with pytest.raises(UnsupportedPattern):
        parse_pattern(pattern, 1000, 32)


@pytest.mark.parametrize(
    "pattern", ["((a?){900}){900}", "((a+)+)+", "(a|aa|b)*", "((a{1000}){1000}){1000}", "(x*)*y*z*"]
)
def test_nested_repetitions_are_bounded_work(pattern: str) -> None:
    started = time.process_time()
    read = parse_pattern(pattern, 1000, 32)
    matches_text(read, "a" * 60 + "!")
    fit_length(read, 3, 40)
    assert time.process_time() - started < 15


@each_case(
    ("name", "wrong"),
    [
        ("date", "2023-02-29"),
        ("date", "1900-02-29"),
        ("date", "2024-13-01"),
        ("date", "2024-04-31"),
        ("time", "24:00:00Z"),
        ("date-time", "2024-01-01"),
        ("uuid", "123"),
        ("ipv4", "256.0.0.1"),
        ("ipv6", "1::2::3"),
        ("email", "a@b"),
        ("uri", "no scheme"),
        ("duration", "P"),
        ("duration", "PT"),
        ("hostname", "-a"),
    ],
)
def test_formats_refuse(name: str, wrong: str) -> None:
    assert not build_string_grammar({"format": name}).accepts(to_json_string(wrong))


def test_a_format_keeps_the_length_too() -> None:
    rules = build_string_grammar({"format": "hostname", "maxLength": 5})
    assert rules.accepts('"ab.cd"') or rules.accepts('"abcde"')
    assert build_grammar({"type": "string", "format": "nobody-knows"}).exact
