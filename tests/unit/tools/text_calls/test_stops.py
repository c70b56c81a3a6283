"""Stop words in a text that comes in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from rightseat.tools.text_calls.reader import StopSequenceFilter
from rightseat.types.chunks import ModelChunk, ReasoningChunk, TextChunk, ToolCallStart

WORDS = st.lists(st.text(alphabet="ab.", min_size=1, max_size=3), min_size=1, max_size=3)


def filter_pieces(stops: StopSequenceFilter, pieces: list[str]) -> str:
    found = [fragment for piece in pieces for fragment in stops.filter([TextChunk(piece)])]
    return "".join(f.text for f in [*found, *stops.filter([], last=True)] if isinstance(f, TextChunk))


@given(WORDS, st.lists(st.text(alphabet="ab. ", max_size=4), max_size=12))
def test_the_text_ends_before_the_first_stop_word(words: list[str], pieces: list[str]) -> None:
    text = "".join(pieces)
    places = [text.find(word) for word in words if word in text]
    stops = StopSequenceFilter(tuple(words))
    found = filter_pieces(stops, pieces)
    assert stops.stopped == bool(places)
    # Found in pieces, a stop word counts once it is whole: one that begins earlier may be whole later.
    assert text.startswith(found)
    assert not any(word in found for word in words)
    if not places:
        assert found == text
    elif len(words) == 1:
        assert found == text[: places[0]]


def test_what_is_held_comes_before_what_follows() -> None:
    stops = StopSequenceFilter(("END",))
    assert stops.filter([TextChunk("one E")]) == [TextChunk("one ")]
    assert stops.filter([ToolCallStart(0, "add")]) == [TextChunk("E"), ToolCallStart(0, "add")]
    assert stops.filter([TextChunk("EN")]) == []
    assert stops.filter([], last=True) == [TextChunk("EN")]


def test_only_text_is_looked_at() -> None:
    stops = StopSequenceFilter(("a",))
    assert stops.filter([ReasoningChunk("a"), TextChunk("ba"), TextChunk("c")]) == [ReasoningChunk("a"), TextChunk("b")]
    assert stops.stopped
    assert stops.filter([TextChunk("more")], last=True) == []


def test_without_words_everything_passes_as_it_is() -> None:
    fragments: list[ModelChunk] = [TextChunk("a", {"content": []}), ReasoningChunk("b"), TextChunk("")]
    assert StopSequenceFilter(()).filter(fragments) == fragments
    assert StopSequenceFilter(("",)).filter(fragments) == fragments


def test_a_long_stop_word_costs_no_more_than_itself() -> None:
    """Words come from clients: a table of all prefixes of this one would need 5 GB."""
    word = "ab" * 50_000
    stops = StopSequenceFilter((word,))
    assert filter_pieces(stops, ["abab", "x", word, "after"]) == "ababx"
