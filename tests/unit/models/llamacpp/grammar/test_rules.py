"""Composed grammars, hostile names, bad schemas, limits."""

import contextlib
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.rules import GrammarLimits, GrammarRules
from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.models.llamacpp.corpus import CORPUS
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.schema_grammar import build_grammar

NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    '"\\[]{}()|:=\n\t #^-*+?.<>!', max_size=8
)


@pytest.mark.demand("llamacpp.escaping_fuzzed_whatever_schema")
@settings(max_examples=limit_rounds(300))
@given(st.lists(NAME, max_size=6, unique=True), st.lists(NAME, min_size=1, max_size=4), st.booleans())
def test_whatever_names_contain_the_grammar_reads(names: list[str], values: list[str], extra: bool) -> None:
    schema = {
        "type": "object",
        "properties": {name: {"enum": values} for name in names},
        "required": names,
        "additionalProperties": {"type": "null"} if extra else False,
    }
    rules = Grammar.parse(build_grammar(schema).text)
    value = {name: values[at % len(values)] for at, name in enumerate(names)}
    assert rules.accepts(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    assert set(json.loads(rules.generate(random.Random(1)))) >= set(names)


@pytest.mark.demand("llamacpp.invalid_schema_unsupported_keyword")
def test_several_tools_in_one_grammar() -> None:
    rules = GrammarRules()
    calls = []
    for name in ("weather", "search", "天气", 'a" | root'):
        arguments = rules.add_schema(CORPUS.get(name, {"type": "object"}), name)
        calls.append(
            rules.add(f"{name} call", f'"{{\\"name\\": " {rules.quote(json.dumps(name))} ", " {arguments} "}}"')
        )
    assert rules.add("root", f'"<tool_call>" ({" | ".join(calls)}) "</tool_call>"') == "root"
    read = Grammar.parse(rules.to_gbnf())
    assert read.accepts('<tool_call>{"name": "weather", {"location":"Rome"}}</tool_call>')
    assert not read.accepts('<tool_call>{"name": "search", {"location":"Rome"}}</tool_call>')


def test_the_root_keeps_its_name() -> None:
    rules = GrammarRules()
    schema = {
        "type": "object",
        "properties": {name: {"type": "object"} for name in ("root", " Root", "_root_", "value")},
    }
    arguments = rules.add_schema(schema, "root")
    assert rules.add("root", arguments) == "root"
    assert Grammar.parse(rules.to_gbnf()).accepts('{"root":{}}')
    assert Grammar.parse(build_grammar(schema, root="value").text).accepts("{}", "value")


def test_names_are_unique_and_safe() -> None:
    rules = GrammarRules()
    names = [
        rules.add(name, '"x"') for name in ("a", "A", "a b", "a_b", "", "中文", "char", "comma", "root", 'x" ::= "y')
    ]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() and name.isascii() for name in names)
    assert "root" in names


def test_properties_come_in_order_and_optional_ones_may_be_left_out() -> None:
    read = Grammar.parse(
        build_grammar({"type": "object", "properties": {n: {"const": 1} for n in "abc"}, "required": ["b"]}).text
    )
    texts = {
        '{"b":1}': True,
        '{"a":1,"b":1}': True,
        '{"b":1, "c": 1}': True,
        '{"a":1,"b":1,"c":1}': True,
        "{}": False,
        '{"a":1}': False,
        '{"b":1,"a":1}': False,
        '{"b":1,}': False,
        '{,"b":1}': False,
        '{"b":1,"b":1}': False,
        '{"b":1,"d":1}': False,
    }
    assert {text: read.accepts(text) for text in texts} == texts


def test_rules_grow_with_the_number_of_optional_properties() -> None:
    sizes = [
        len(build_grammar({"type": "object", "properties": {f"p{n:03}": {} for n in range(count)}}).text)
        for count in (50, 100, 200)
    ]
    assert sizes[2] - sizes[1] < 2.2 * (sizes[1] - sizes[0])


def test_other_names_are_kept_apart_from_known_ones() -> None:
    read = Grammar.parse(build_grammar(CORPUS["open, near names"]).text)
    for name, free in {
        "a": False,
        "ab": False,
        "abc": False,
        "": True,
        "b": True,
        "abcd": True,
        "ac": True,
        "\\n": True,
    }.items():
        assert read.accepts(f'{{"{name}":"x"}}') is free
        assert read.accepts(f'{{"{name}":1}}') is not free


BAD: dict[str, dict[str, Any]] = {
    "no type": {"type": 7},
    "unknown type": {"type": "strng"},
    "bad pattern": {"type": "string", "pattern": "^+x"},
    "dangling reference": {"$ref": "#/$defs/none"},
    "reference to http": {"$ref": "http://example.com/schema.json"},
    "reference to a file": {"$ref": "file:///etc/passwd"},
    "too deep": json.loads('{"items":' * 70 + "{}" + "}" * 70),
    "far too deep": json.loads('{"items":' * 900 + "{}" + "}" * 900),
    "too large": {"enum": ["x" * 300_000]},
    "half a character": {"properties": {"\ud800": {}}},
    "not JSON": {"const": object()},
    "contradictory types": {"allOf": [{"type": "string"}, {"type": "integer"}]},
    "contradictory enum": {"type": "string", "enum": [1, 2]},
    "contradictory const": {"const": 1, "enum": [2]},
    "contradictory lengths": {"type": "string", "minLength": 3, "maxLength": 2},
    "contradictory items": {"type": "array", "minItems": 3, "maxItems": 2},
    "contradictory pattern": {"type": "string", "pattern": "^ab$", "minLength": 3},
    "items of nothing": {"type": "array", "items": False, "minItems": 1},
    "required and forbidden": {"type": "object", "required": ["a"], "additionalProperties": False},
    "required of no value": {"type": "object", "properties": {"a": False}, "required": ["a"]},
    "not anything": {"not": {}},
    "endless": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "itself": {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "itself by all of": {"allOf": [{"$ref": "#"}]},
    "too few properties": {
        "type": "object",
        "properties": {"a": {}},
        "additionalProperties": False,
        "minProperties": 2,
    },
}


@pytest.mark.demand("llamacpp.invalid_schema_unsupported_keyword")
@each_case("name", BAD)
def test_a_bad_schema_is_refused_in_words(name: str) -> None:
    with pytest.raises(CallerError) as caught:
        build_grammar(BAD[name])
    assert caught.value.status == 400
    assert caught.value.message[0].isupper()
    assert len(caught.value.message) < 400


@pytest.mark.demand("llamacpp.invalid_schema_unsupported_keyword")
@pytest.mark.long
def test_a_bomb_is_bounded_work() -> None:
    fork = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(40)}
    wide = {"allOf": [{"anyOf": [{"required": [f"{a}-{b}"]} for b in range(9)]} for a in range(9)]}
    twins = {f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "xy"}} for n in range(40)}
    merged = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    for schema in (
        {"$defs": fork | {"d40": {}}, "$ref": "#/$defs/d0"},
        wide,
        {"$defs": twins | {"d40": {}}, "$ref": "#/$defs/d0"},
        {"$defs": merged | {"d40": {}}, "$ref": "#/$defs/d0"},
    ):
        started = time.process_time()
        with contextlib.suppress(CallerError):
            Grammar.parse(build_grammar(schema).text)
        assert time.process_time() - started < HANG_TIMEOUT


def test_older_spellings_are_read() -> None:
    old = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "nullable": True},
            "b": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            "c": {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            "d": {"enum": ["x"], "nullable": True},
            "e": {"$ref": "#/properties/b", "nullable": True},
        },
    }
    said = build_grammar(old)
    read = Grammar.parse(said.text)
    assert said.exact
    assert read.accepts('{"a":null,"b":1,"c":["x"],"d":null,"e":null}')
    assert not read.accepts('{"b":0}')
    assert not read.accepts('{"c":["x",1]}')
    assert said.schema["properties"]["a"] == {"type": ["string", "null"]}


@pytest.mark.demand("llamacpp.json_schema_2020_12")
def test_limits_bound_what_the_schema_leaves_open() -> None:
    limits = GrammarLimits(items=2, properties=1, key=2, depth=1)
    read = Grammar.parse(build_grammar({}, limits=limits).text)
    texts = {
        "[1,2]": True,
        "[1,2,3]": False,
        '{"ab":1}': True,
        '{"abc":1}': False,
        '{"a":1,"b":2}': False,
        "[[]]": False,
    }
    assert {text: read.accepts(text) for text in texts} == texts


def test_the_rules_are_bounded() -> None:
    with pytest.raises(CallerError, match="grammar rules"):
        build_grammar(
            {"type": "object", "properties": {str(n): {"minLength": n} for n in range(99)}},
            limits=GrammarLimits(rules=50),
        )
