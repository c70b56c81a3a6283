"""Stop words in a text that comes in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from rightseat.tools.text_calls.stops import Stops
from rightseat.types.chunks import CallName, Fragment, Reasoning, Text

WORDS = st.lists(st.text(alphabet="ab.", min_size=1, max_size=3), min_size=1, max_size=3)


def shown(stops: Stops, pieces: list[str]) -> str:
    found = [fragment for piece in pieces for fragment in stops.cut([Text(piece)])]
    return "".join(f.text for f in [*found, *stops.cut([], last=True)] if isinstance(f, Text))


@given(WORDS, st.lists(st.text(alphabet="ab. ", max_size=4), max_size=12))
def test_the_text_ends_before_the_first_stop_word(words: list[str], pieces: list[str]) -> None:
    text = "".join(pieces)
    places = [text.find(word) for word in words if word in text]
    stops = Stops(tuple(words))
    found = shown(stops, pieces)
    assert stops.met == bool(places)
    # Found in pieces, a stop word counts once it is whole: one that begins earlier may be whole later.
    assert text.startswith(found)
    assert not any(word in found for word in words)
    if not places:
        assert found == text
    elif len(words) == 1:
        assert found == text[: places[0]]


def test_what_is_held_comes_before_what_follows() -> None:
    stops = Stops(("END",))
    assert stops.cut([Text("one E")]) == [Text("one ")]
    assert stops.cut([CallName(0, "add")]) == [Text("E"), CallName(0, "add")]
    assert stops.cut([Text("EN")]) == []
    assert stops.cut([], last=True) == [Text("EN")]


def test_only_text_is_looked_at() -> None:
    stops = Stops(("a",))
    assert stops.cut([Reasoning("a"), Text("ba"), Text("c")]) == [Reasoning("a"), Text("b")]
    assert stops.met
    assert stops.cut([Text("more")], last=True) == []


def test_without_words_everything_passes_as_it_is() -> None:
    fragments: list[Fragment] = [Text("a", {"content": []}), Reasoning("b"), Text("")]
    assert Stops(()).cut(fragments) == fragments
    assert Stops(("",)).cut(fragments) == fragments
