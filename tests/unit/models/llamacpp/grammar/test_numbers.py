"""Bounds of numbers, digit by digit: exactly those within pass."""

import json
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.rules import GrammarLimits
from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.schema_grammar import build_grammar

BOUND = st.integers(-1200, 1200) | st.integers(-12, 12)
DECIMAL = st.decimals(-20, 20, places=2) | st.decimals(-2, 2, places=3)


def build_grammar_for(**schema: Any) -> Grammar:
    built = build_grammar(schema)
    assert built.exact
    return Grammar.parse(built.text)


@pytest.mark.demand("llamacpp.json_schema_2020_12")
@settings(max_examples=limit_rounds(150))
@given(BOUND, BOUND, st.booleans(), st.booleans())
def test_integers_within_bounds_and_no_others(one: int, two: int, above: bool, below: bool) -> None:
    low, high = min(one, two) - 2, max(one, two) + 2
    keys = ("exclusiveMinimum" if above else "minimum", "exclusiveMaximum" if below else "maximum")
    rules = build_grammar_for(type="integer", **{keys[0]: low, keys[1]: high})
    first, last = low + above, high - below
    near = {*range(first - 12, first + 12), *range(last - 12, last + 12), 0, -1, 1, *range(first, last, 37)}
    for value in near:
        assert rules.accepts(str(value)) is (first <= value <= last), value


@settings(max_examples=limit_rounds(250))
@given(DECIMAL, DECIMAL, st.booleans(), st.booleans(), st.lists(DECIMAL, max_size=20))
def test_decimals_within_bounds_and_no_others(
    one: Decimal, two: Decimal, above: bool, below: bool, others: list[Decimal]
) -> None:
    low, high = min(one, two), max(one, two)
    if low == high:
        above = below = False
    keys = ("exclusiveMinimum" if above else "minimum", "exclusiveMaximum" if below else "maximum")
    rules = build_grammar_for(type="number", **{keys[0]: float(low), keys[1]: float(high)})
    steps = [Decimal(step) for step in ("0", "0.001", "0.01", "1", "-0.001", "-0.01", "-1")]
    for value in [*others, *(bound + step for bound in (low, high) for step in steps)]:
        inside = (low < value if above else low <= value) and (value < high if below else value <= high)
        text = f"{value:f}"
        if not text.startswith("-0") or value:
            assert rules.accepts(text) is inside, text


@each_case("text", ["01", "1.", ".5", "+1", "1e", "--1", "00", "1.5.2", "0x1", ""])
def test_what_is_no_number_in_json(text: str) -> None:
    for schema in ({"type": "number"}, {"type": "number", "minimum": 0}, {"type": "integer"}):
        assert not Grammar.parse(build_grammar(schema).text).accepts(text)


def test_multiples() -> None:
    tens = build_grammar_for(type="integer", multipleOf=10, minimum=-25, maximum=120)
    assert [n for n in range(-30, 130) if tens.accepts(str(n))] == list(range(-20, 121, 10))
    listed = build_grammar_for(type="integer", multipleOf=7, minimum=-15, exclusiveMaximum=28)
    assert [n for n in range(-30, 40) if listed.accepts(str(n))] == [-14, -7, 0, 7, 14, 21]
    cents = build_grammar_for(type="number", multipleOf=0.01, minimum=0)
    assert cents.accepts("12.34")
    assert cents.accepts("12")
    assert not cents.accepts("12.345")
    assert build_grammar_for(type="number", multipleOf=1).accepts("-12")
    assert not build_grammar_for(type="number", multipleOf=1).accepts("1.5")
    assert build_grammar({"type": "integer", "multipleOf": 7}).unenforced == ("#: multipleOf",)
    assert build_grammar({"type": "number", "multipleOf": 0.3}).unenforced == ("#: multipleOf",)


def test_digits_are_bounded() -> None:
    rules = Grammar.parse(build_grammar({"type": "integer"}, limits=GrammarLimits(digits=4)).text)
    assert rules.accepts("-9999")
    assert not rules.accepts("10000")
    endless = Grammar.parse(build_grammar({"type": "number"}).text)
    assert not endless.accepts("1" * 16)
    assert not endless.accepts("0." + "3" * 18)
    far = Grammar.parse(build_grammar({"type": "integer", "minimum": 10**17}).text)
    assert far.accepts(str(10**17))


def test_bounds_beyond_all_digits_are_left_unsaid() -> None:
    assert build_grammar({"type": "number", "minimum": 1e300}).unenforced == ("#: minimum",)
    assert build_grammar({"type": "number", "exclusiveMinimum": 1e-300}).unenforced == ("#: exclusiveMinimum",)


def test_bounds_that_cross_are_refused() -> None:
    with pytest.raises(CallerError, match="contradict"):
        build_grammar({"type": "integer", "minimum": 5, "maximum": 4})
    with pytest.raises(CallerError, match="contradict"):
        build_grammar({"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5})


def test_random_numbers_stay_within_bounds() -> None:
    rules = build_grammar_for(type="number", exclusiveMinimum=-0.125, maximum=3.5)
    rng = random.Random(7)
    for _ in range(500):
        assert -0.125 < json.loads(rules.generate(rng)) <= 3.5
