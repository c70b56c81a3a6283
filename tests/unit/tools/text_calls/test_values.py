"""JSON inside a model's text: found, passed on and decoded while it is written."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.tools.text_calls.reader import (
    Emit,
    ModelTextReader,
    ParseSteps,
    TextFormatError,
    copy_string,
    copy_value,
    read_call_list,
    read_call_object,
)
from tests.contract.models.cases import collect_answer
from tests.kit.cases import each_case
from tests.unit.tools.text_calls.test_reader import split_at

text = st.text(max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
cuts = st.lists(st.integers(0, 200), max_size=10)
styles = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def parse_value(
    read: Callable[[ModelTextReader, Emit], ParseSteps[None]], written: str, places: list[int]
) -> tuple[str, str]:
    """What was passed on, and the text after it."""
    found: list[str] = []
    rest: list[str] = []

    def reading(reader: ModelTextReader) -> ParseSteps[None]:
        yield from read(reader, found.append)
        yield from reader.text_until(emit=rest.append)

    reader = ModelTextReader(reading)
    for part in split_at(written, places):
        reader.feed(part)
    reader.close()
    return "".join(found), "".join(rest)


@given(values, styles, cuts)
def test_a_value_is_passed_on_to_its_end(given: Any, style: dict[str, Any], places: list[int]) -> None:
    written = json.dumps(given, **style)
    assert parse_value(copy_value, written + ", rest", places) == (written, ", rest")
    assert parse_value(copy_value, written, places) == (written, "")


@given(text, st.booleans(), cuts)
def test_a_string_is_passed_on_as_what_it_says(given: str, ascii: bool, places: list[int]) -> None:
    written = json.dumps(given, ensure_ascii=ascii)
    assert parse_value(copy_string, written + "rest", places) == (given, "rest")


@each_case(
    ("written", "said"),
    [
        (r'"\ud83c\udf89"', "🎉"),
        (r'"\ud83c"', "\ufffd"),
        (r'"\udf89x"', "\ufffdx"),
        (r'"\ud83c\u0041"', "\ufffdA"),
        (r'"\ud83c\ud83c\udf89"', "\ufffd" * 3),
        (r'"\/\b\f"', "/\b\f"),
    ],
)
def test_halves_of_characters(written: str, said: str) -> None:
    for places in ([], list(range(len(written)))):
        assert parse_value(copy_string, written, places)[0] == said


@pytest.mark.parametrize("written", [r'"\x"', r'"\u12g4"', "x"])
def test_what_is_no_string(written: str) -> None:
    with pytest.raises(TextFormatError):
        parse_value(copy_string, written, [])


@pytest.mark.parametrize("written", [",", "}", " 1"])
def test_what_is_no_value(written: str) -> None:
    with pytest.raises(TextFormatError):
        parse_value(copy_value, written, [])


def parse_calls(
    read: Callable[[ModelTextReader], ParseSteps[None]], written: str, places: list[int]
) -> list[tuple[str, Any]]:
    reader = ModelTextReader(read)
    fragments = [fragment for part in split_at(written, places) for fragment in reader.feed(part)]
    found = collect_answer([*fragments, *reader.close()]).calls
    assert not reader.inside_call
    return [(name, json.loads(arguments)) for name, arguments in found]


objects = st.dictionaries(text, values, max_size=3)


@given(text.filter(bool), objects, st.permutations(["name", "arguments", "id"]), styles, st.booleans(), cuts)
def test_a_call_in_any_order(
    name: str, arguments: dict[str, Any], order: list[str], style: dict[str, Any], quoted: bool, places: list[int]
) -> None:
    """Also with arguments that are JSON text within a string."""
    known = {"name": name, "arguments": json.dumps(arguments) if quoted else arguments, "id": {"a": [1]}}
    written = json.dumps({key: known[key] for key in order}, **style)
    assert parse_calls(read_call_object, written, places) == [(name, arguments)]
    assert parse_calls(read_call_list, f"[{written} ,\n{written}]", places) == [(name, arguments)] * 2


def test_a_call_without_arguments() -> None:
    assert parse_calls(read_call_object, '{"name": "ring"}', []) == [("ring", {})]
    assert parse_calls(read_call_list, "[]", []) == []


@pytest.mark.parametrize("written", ['{"arguments": {}}', "[]", '{"name": 1}', '{"name" "x"}'])
def test_what_is_no_call(written: str) -> None:
    with pytest.raises(TextFormatError):
        parse_calls(read_call_object, written, [])


@pytest.mark.parametrize("written", ["{}", '[{"name": "a"} {"name": "b"}]', '[{"name": "a"};'])
def test_what_is_no_list_of_calls(written: str) -> None:
    with pytest.raises(TextFormatError):
        parse_calls(read_call_list, written, [])


WHOLE = '[{"name": "a", "arguments": {"x": "}]"}}, {"name": "b", "arguments": {}}]'


@each_case("end", range(1, len(WHOLE)))
def test_a_list_that_is_cut_is_not_whole(end: int) -> None:
    reader = ModelTextReader(read_call_list)
    reader.feed(WHOLE[:end])
    reader.close()
    assert reader.inside_call or reader.calls == 0
