"""The corpus: what a grammar makes satisfies its schema, and what satisfies the schema passes the grammar."""

import json
import random
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rightseat.models.llamacpp.grammar import Grammar, build_grammar
from tests.kit.rounds import rounds
from tests.unit.models.llamacpp import gbnf
from tests.unit.models.llamacpp.corpus import CORPUS
from tests.unit.models.llamacpp.instances import instances, plain, simple

TEXTS = max(1, rounds(40) // 5)
# Its grammar takes seconds to read.
SLOW = "200 last required"
SIMPLE = [name for name, schema in CORPUS.items() if simple(schema) and not name.startswith(("unsayable", "200"))]


@cache
def made(name: str) -> tuple[Grammar, gbnf.Grammar, Any]:
    said = build_grammar(CORPUS[name])
    judge = jsonschema_rs.Draft202012Validator(said.schema, validate_formats=True, offline=True)
    return said, gbnf.Grammar.read(said.text), judge


@pytest.mark.demand("llamacpp.json_schema_2020_12")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name == SLOW)) for name in CORPUS])
def test_what_the_grammar_makes_satisfies_the_schema(name: str) -> None:
    said, read, judge = made(name)
    rng = random.Random(name)
    for _ in range(TEXTS):
        text = read.make(rng, size=150)
        value = json.loads(text)
        assert read.accepts(text)
        if said.exact:
            assert judge.is_valid(value), text


@settings(max_examples=rounds(500), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_satisfies_the_schema_passes_the_grammar(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SIMPLE))
    _, read, judge = made(name)
    value = data.draw(instances(CORPUS[name], CORPUS[name]))
    assume(judge.is_valid(value))
    separators = data.draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    compact = "enum" in CORPUS[name] or "const" in CORPUS[name]
    text = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":") if compact else separators)
    assert read.accepts(text), (name, text)


@pytest.mark.demand("llamacpp.json_schema_2020_12")
@pytest.mark.slow
def test_most_of_the_corpus_is_said_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    exact = [name for name in CORPUS if made(name)[0].exact]
    with capsys.disabled():
        print(
            f" [{len(CORPUS)} schemas, {len(exact)} exact, {len(SIMPLE)} with instances, {TEXTS} texts each]", end=" "
        )
    assert len(CORPUS) > 500
    assert len(exact) > 0.95 * len(CORPUS)
    assert not any(name.startswith("unsayable") for name in exact)


def test_a_wrong_text_is_found_out() -> None:
    """The interpreter itself can fail."""
    _, read, _ = made("weather")
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
