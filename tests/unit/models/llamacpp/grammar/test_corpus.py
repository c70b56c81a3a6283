"""The corpus: what a grammar makes satisfies its schema, and what satisfies the schema passes the grammar."""

import json
import random
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds
from tests.unit.models.llamacpp import gbnf
from tests.unit.models.llamacpp.corpus import CORPUS
from tests.unit.models.llamacpp.instances import generate_instances, is_simple, normalise_numbers
from tests.unit.models.llamacpp.schema_grammar import SchemaGrammar, build_grammar

TEXTS = max(1, limit_rounds(40) // 5)
# Its grammar takes seconds to read.
SLOW_CASE = "200 last required"
SIMPLE_CASES = [
    name for name, schema in CORPUS.items() if is_simple(schema) and not name.startswith(("unsayable", "200"))
]


@cache
def build_case(name: str) -> tuple[SchemaGrammar, gbnf.Grammar, Any]:
    grammar = build_grammar(CORPUS[name])
    validator = jsonschema_rs.Draft202012Validator(grammar.schema, validate_formats=True, offline=True)
    return grammar, gbnf.Grammar.parse(grammar.text), validator


@pytest.mark.demand("llamacpp.json_schema_2020_12")
@each_case("name", [name for name in CORPUS if name != SLOW_CASE])
def test_what_the_grammar_makes_satisfies_the_schema(name: str) -> None:
    check_texts(name)


@pytest.mark.demand("llamacpp.json_schema_2020_12")
@pytest.mark.long
def test_what_a_grammar_of_200_fields_makes_satisfies_the_schema() -> None:
    check_texts(SLOW_CASE)


def check_texts(name: str) -> None:
    said, read, judge = build_case(name)
    rng = random.Random(name)
    for _ in range(TEXTS):
        text = read.generate(rng, size=150)
        value = json.loads(text)
        assert read.accepts(text)
        if said.exact:
            assert judge.is_valid(value), text


@settings(max_examples=limit_rounds(500), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_satisfies_the_schema_passes_the_grammar(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SIMPLE_CASES))
    _, read, judge = build_case(name)
    value = data.draw(generate_instances(CORPUS[name], CORPUS[name]))
    assume(judge.is_valid(value))
    separators = data.draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    compact = "enum" in CORPUS[name] or "const" in CORPUS[name]
    text = json.dumps(normalise_numbers(value), ensure_ascii=False, separators=(",", ":") if compact else separators)
    assert read.accepts(text), (name, text)


@pytest.mark.demand("llamacpp.json_schema_2020_12")
@pytest.mark.slow
def test_most_of_the_corpus_is_said_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    exact = [name for name in CORPUS if build_grammar(CORPUS[name]).exact]
    with capsys.disabled():
        print(
            f" [{len(CORPUS)} schemas, {len(exact)} exact, {len(SIMPLE_CASES)} with instances, {TEXTS} texts each]",
            end=" ",
        )
    assert len(CORPUS) > 500
    assert len(exact) > 0.95 * len(CORPUS)
    assert not any(name.startswith("unsayable") for name in exact)


def test_a_wrong_text_is_found_out() -> None:
    """The interpreter itself can fail."""
    _, read, _ = build_case("weather")
    assert read.accepts('{"location": "Rome","unit":"celsius"}')
    for wrong in (
        '{"location": "Rome"',
        '{"unit":"celsius"}',
        '{"location":1}',
        '{"location":"a"}x',
        "",
        '{"location":  ""}',
    ):
        assert not read.accepts(wrong)
