"""Schemas nobody wrote: whatever keywords meet, an exact grammar makes only what satisfies the schema."""

import json
import random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.rules import GrammarLimits
from tests.kit.rounds import limit_rounds
from tests.unit.models.llamacpp.corpus import PATTERNS
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.schema_grammar import build_grammar

Schemas = st.SearchStrategy[Any]
LIMITS = GrammarLimits(string=12, items=4, properties=3, depth=2)
NAMES = st.sampled_from(["a", "b", "ab", "c d", 'q"', "x-1", "中"])
SMALL = st.integers(0, 4)
BOUND = st.integers(-20, 20) | st.decimals(-9, 9, places=2).map(float)
VALUE = st.sampled_from([None, True, 0, 1, 1.5, -7, "", "a", "bb", 'q"', [], [1], {}, {"a": 1}])
KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def optional_keywords(**keywords: Schemas) -> Schemas:
    return st.fixed_dictionaries({}, optional=keywords)


SCALARS = st.one_of(
    optional_keywords(type=KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True)),
    optional_keywords(type=st.just("integer"), minimum=BOUND, maximum=BOUND, multipleOf=st.sampled_from([1, 2, 5, 10])),
    optional_keywords(
        type=st.just("number"), minimum=BOUND, exclusiveMaximum=BOUND, exclusiveMinimum=BOUND, maximum=BOUND
    ),
    optional_keywords(type=st.just("string"), minLength=SMALL, maxLength=SMALL, pattern=st.sampled_from(PATTERNS)),
    optional_keywords(enum=st.lists(VALUE, min_size=1, max_size=4), type=KINDS),
    optional_keywords(const=VALUE),
    st.just({"$ref": "#/$defs/x"}),
    st.just({"$ref": "#"}),
    st.booleans(),
)


def nest_schemas(inner: Schemas) -> Schemas:
    several = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=4)
    names = st.lists(NAMES, max_size=2, unique=True)
    objects = optional_keywords(
        type=st.just("object"),
        properties=named,
        required=names,
        additionalProperties=inner,
        minProperties=SMALL,
        maxProperties=SMALL,
        patternProperties=st.dictionaries(st.sampled_from(["^a", "b$", "^x-"]), inner, max_size=2),
        propertyNames=st.sampled_from([{"maxLength": 2}, {"enum": ["a", "b"]}, {"pattern": "^[a-c]+$"}]),
        unevaluatedProperties=inner,
    )
    arrays = optional_keywords(
        type=st.just("array"),
        items=inner,
        prefixItems=several,
        minItems=SMALL,
        maxItems=SMALL,
        uniqueItems=st.booleans(),
        contains=inner,
        unevaluatedItems=inner,
    )
    mixed = optional_keywords(
        anyOf=several,
        oneOf=several,
        allOf=several,
        type=KINDS,
        properties=named,
        required=names,
        minimum=BOUND,
        maxLength=SMALL,
        enum=st.lists(VALUE, min_size=1, max_size=4),
        **{"not": inner, "if": inner, "then": inner, "else": inner},
    )
    return objects | arrays | mixed


SCHEMAS = st.recursive(SCALARS, nest_schemas, max_leaves=8).filter(lambda schema: isinstance(schema, dict))
OUTCOMES = {"exact": 0, "partly": 0, "refused": 0}


@pytest.mark.demand("llamacpp.text_grammar_accepts_validates")
@settings(max_examples=limit_rounds(600), suppress_health_check=list(HealthCheck))
@given(SCHEMAS, SCHEMAS, st.integers(0, 999))
def test_an_exact_grammar_makes_only_valid_texts(schema: dict[str, Any], other: dict[str, Any], seed: int) -> None:
    schema = {**schema, "$defs": {"x": other}}
    try:
        said = build_grammar(schema, limits=LIMITS)
    except CallerError:
        OUTCOMES["refused"] += 1
        return
    OUTCOMES["exact" if said.exact else "partly"] += 1
    read, rng = Grammar.parse(said.text), random.Random(seed)
    judge = jsonschema_rs.Draft202012Validator(said.schema, offline=True)
    for _ in range(4):
        text = read.generate(rng, size=100)
        value = json.loads(text)
        assert not said.exact or judge.is_valid(value), text


def test_random_schemas_were_mostly_served(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f" [random schemas: {OUTCOMES}]", end=" ")
    if sum(OUTCOMES.values()):
        assert OUTCOMES["exact"] > OUTCOMES["refused"]
