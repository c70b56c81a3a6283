"""Reading a text while it is written: the same as reading it whole, however it is cut."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.tools.text_calls.reader import (
    MAX_MARKUP_SPACE,
    SPACE,
    EndOfText,
    ModelTextReader,
    ParseSteps,
    TextFormatError,
)
from rightseat.types.chunks import ReasoningChunk, TextChunk, ToolCallArgs, ToolCallStart, merge_text_chunks

Outcome = list[object]
letters = st.text(alphabet="ab< \n", max_size=24)
words = st.lists(st.text(alphabet="ab<", min_size=1, max_size=4), min_size=1, max_size=3, unique=True)
cuts = st.lists(st.integers(0, 24), max_size=8)


def split_at(text: str, places: list[int]) -> list[str]:
    ends = sorted({min(place, len(text)) for place in places} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def record_outcome(read: Callable[[ModelTextReader, Outcome], ParseSteps[None]], parts: list[str]) -> Outcome:
    """What a reading notes, and whether it failed."""
    notes: Outcome = []
    try:
        reader = ModelTextReader(lambda it: read(it, notes))
        for part in parts:
            reader.feed(part)
        reader.close()
    except TextFormatError:
        notes.append("unreadable")
    return notes


def record_passages(reader: ModelTextReader, notes: Outcome, *markers: str) -> ParseSteps[None]:
    """All text and markers; neighbouring text is one note."""
    said: list[str] = []
    while True:
        found = yield from reader.text_until(*markers, emit=said.append)
        notes += ["".join(said), found]
        said.clear()
        if found is None:
            return


def find_passages(text: str, markers: list[str]) -> Outcome:
    """The leftmost marker, the longest of those that begin there; no space before it."""
    pattern = re.compile("|".join(map(re.escape, sorted(markers, key=len, reverse=True))))
    notes: Outcome = []
    at = 0
    while found := pattern.search(text, at):
        notes += [text[at : found.start()].rstrip(SPACE), found.group()]
        at = found.end()
    return [*notes, text[at:], None]


@given(letters, words, cuts)
def test_text_up_to_markers(text: str, markers: list[str], places: list[int]) -> None:
    found = record_outcome(lambda reader, notes: record_passages(reader, notes, *markers), split_at(text, places))
    assert found == find_passages(text, markers)


def test_markers_that_begin_within_each_other() -> None:
    for text in ("abcd", "abcx", "xbc"):
        whole = record_outcome(lambda r, n: record_passages(r, n, "abcd", "bc", "b"), [text])
        assert whole == record_outcome(lambda r, n: record_passages(r, n, "abcd", "bc", "b"), list(text))


@given(letters, st.lists(st.text(alphabet="ab<", max_size=4), min_size=1, max_size=3), cuts)
def test_peeking_waits_only_as_long_as_it_must(text: str, options: list[str], places: list[int]) -> None:
    def peek(reader: ModelTextReader, notes: Outcome) -> ParseSteps[None]:
        notes.append((yield from reader.peek(*options)))

    expected = next((option for option in options if text.startswith(option)), None)
    assert record_outcome(peek, split_at(text, places)) == [expected]


@given(letters, st.text(alphabet="ab<", min_size=1, max_size=3), cuts)
def test_everything_up_to_an_end(text: str, end: str, places: list[int]) -> None:
    def upto(reader: ModelTextReader, notes: Outcome) -> ParseSteps[None]:
        notes.append((yield from reader.read_until(end)))
        notes.append((yield from reader.read_chars(0)))

    before, found, _ = text.partition(end)
    assert record_outcome(upto, split_at(text, places)) == ([before, ""] if found else [])


@given(letters, st.text(alphabet="ab<", min_size=1, max_size=3), cuts)
def test_literals(text: str, expected: str, places: list[int]) -> None:
    def literal(reader: ModelTextReader, notes: Outcome) -> ParseSteps[None]:
        yield from reader.skip_space()
        yield from reader.expect(expected)
        notes.append("found")

    rest = text.lstrip(SPACE)
    want = ["found"] if rest.startswith(expected) else [] if expected.startswith(rest) else ["unreadable"]
    assert record_outcome(literal, split_at(text, places)) == want


def parse_greeting(reader: ModelTextReader) -> ParseSteps[None]:
    yield from reader.text_until("<call>")
    emit = reader.begin_call("ring")
    emit("{")
    yield from reader.expect("}")
    emit("}")
    reader.end_call()


def test_what_is_certain_comes_out_at_once() -> None:
    reader = ModelTextReader(parse_greeting, enforced=frozenset({"ring"}))
    assert reader.feed("Hello") == [TextChunk("Hello")]
    assert reader.feed(" <ca") == []
    assert reader.feed("t> ") == [TextChunk(" <cat>")]
    assert reader.feed(" <call>") == [ToolCallStart(0, "ring", True), ToolCallArgs(0, "{")]
    assert reader.inside_call
    assert reader.feed("}") == [ToolCallArgs(0, "}")]
    assert (reader.inside_call, reader.calls) == (False, 1)
    assert reader.close() == []


def test_an_end_within_a_call_is_seen() -> None:
    reader = ModelTextReader(parse_greeting)
    reader.feed("<call>")
    assert reader.close() == []
    assert reader.inside_call


@pytest.mark.demand("openai.cut_calls")
@pytest.mark.parametrize(("length_limited", "text"), [(True, "See."), (False, "See. <ca")])
def test_the_beginning_of_a_marker_that_the_limit_cut_is_no_text(length_limited: bool, text: str) -> None:
    def read(reader: ModelTextReader) -> ParseSteps[None]:
        while (yield from reader.text_until("<call>")):
            reader.begin_call("add")
            reader.end_call()

    for parts in (["See. <ca"], list("See. <ca")):
        reader = ModelTextReader(read)
        chunks = [chunk for part in parts for chunk in reader.feed(part)] + reader.close(length_limited=length_limited)
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)).rstrip() == text
    reader = ModelTextReader(read)
    chunks = reader.feed("<call>\n<ca") + reader.close(length_limited=True)
    assert [type(chunk) for chunk in chunks] == [ToolCallStart]


def test_text_that_breaks_the_format() -> None:
    reader = ModelTextReader(parse_greeting)
    with pytest.raises(TextFormatError, match="expected"):
        reader.feed("<call>]")


def test_after_its_end_nothing_is_read() -> None:
    reader = ModelTextReader(parse_greeting)
    reader.feed("<call>}")
    assert reader.feed("more") == []
    assert reader.close() == []


def test_thoughts_are_not_text() -> None:
    def thinking(reader: ModelTextReader) -> ParseSteps[None]:
        yield from reader.text_until("|", emit=reader.emit_reasoning)
        yield from reader.text_until()

    reader = ModelTextReader(thinking)
    assert [*reader.feed("a |b"), *reader.close()] == [ReasoningChunk("a"), TextChunk("b")]


def test_more_than_there_is() -> None:
    notes: Outcome = []

    def asking(reader: ModelTextReader) -> ParseSteps[None]:
        try:
            yield from reader.read_chars(3)
        except EndOfText:
            notes.append("ended")

    reader = ModelTextReader(asking)
    reader.feed("ab")
    reader.close()
    assert notes == ["ended"]


@pytest.mark.demand("security.parsers_fuzzed")
def test_white_space_without_end_is_passed_on() -> None:
    """Only the last of it may belong to a marker; all of it would be searched again with each piece."""

    def read(reader: ModelTextReader) -> ParseSteps[None]:
        yield from reader.text_until("<call>")

    count = 3 * MAX_MARKUP_SPACE
    text = "x" + " " * count + "<call>"
    expected = [TextChunk("x" + " " * (count - MAX_MARKUP_SPACE))]
    reader = ModelTextReader(read)
    assert merge_text_chunks([chunk for letter in text for chunk in reader.feed(letter)]) == expected
    assert ModelTextReader(read).feed(text) == expected
