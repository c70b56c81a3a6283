"""What streams: the same however it is cut, nothing denied gets out, and no more is held than must be."""

import itertools
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.middleware.guardrails.matchers import MAX_GAP, PatternList, RuleViolation, WordList, WordScan, fold_text
from rightseat.middleware.guardrails.personal_data import DATA_KINDS, PersonalDataFinder
from rightseat.middleware.guardrails.rules import TextPiece, TextRules, TextStreamFilter
from tests.kit.cases import each_case
from tests.kit.rounds import limit_rounds

DENIED = ("bad word", "abba", "ab", "赌博", "Straße", "café", "a1-b2", "ba ba")
LETTERS = "abw 1-\u200b\u00ad赌博ßsStreéoräd.,\nＡａＢ"
PERSONAL = PersonalDataFinder(DATA_KINDS)


def split_at(text: str, places: Iterable[int]) -> list[str]:
    """The text in pieces that end at these places."""
    ends = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(ends)] or [text]


def filter_pieces(text_filter: TextStreamFilter, pieces: Iterable[str]) -> tuple[str, str | None]:
    """What gets through, and the kind of rule that ended it."""
    out: list[TextPiece] = []
    try:
        for piece in pieces:
            out += text_filter.feed(TextPiece(piece))
        out += text_filter.close()
    except RuleViolation as found:
        out += text_filter.release_before(found)
        return "".join(piece.text for piece in out), found.kind
    return "".join(piece.text for piece in out), None


texts = st.text(alphabet=LETTERS, max_size=60)
texts_with_denied = st.lists(
    st.one_of(texts, st.sampled_from([*DENIED, "BAD\u200b  word", "ＡＢＢＡ", "STRASSE", "cafe\u0301"])), max_size=6
).map("".join)
places = st.lists(st.integers(0, 400), max_size=40)


@pytest.mark.demand("models.streaming_output_guard_never")
@settings(max_examples=limit_rounds(100), deadline=None)
@given(texts_with_denied, places)
def test_a_denied_word_never_passes_however_it_is_cut(text: str, ends: list[int]) -> None:
    words = WordList(DENIED)
    whole, kind = filter_pieces(TextRules(deny=words).make_filter(), [text])
    assert (whole, kind) == filter_pieces(TextRules(deny=words).make_filter(), split_at(text, ends))
    assert words.matches(text) == (kind == "words")
    assert text.startswith(whole)
    assert not words.matches(whole)
    if kind is None:
        assert whole == text


def contains_denied_word(text: str, words: Iterable[str]) -> bool:
    """The same by looking at every word alone: slow and plain."""
    plain = fold_text(text)
    return any(fold_text(word) in plain for word in words)


@settings(max_examples=limit_rounds(100), deadline=None)
@given(texts_with_denied)
def test_words_are_found_as_by_looking_for_each_alone(text: str) -> None:
    assert WordList(DENIED).matches(text) == contains_denied_word(text, DENIED)


@pytest.mark.demand("models.input_before_model_output")
@settings(max_examples=limit_rounds(100), deadline=None)
@given(texts_with_denied, places)
def test_no_more_is_held_than_may_become_a_word(text: str, ends: list[int]) -> None:
    words = WordList(("bad word", "赌博", "abba"))
    scan = WordScan(words, "words")
    said = ""
    try:
        for piece in split_at(text, ends):
            held = scan.feed(piece)
            said += piece
            tail = fold_text(said[len(said) - held :]).rstrip("\x00 ")
            assert not held or any(fold_text(word).startswith(tail) for word in ("bad word", "赌博", "abba"))
            assert held <= len("bad word") * (MAX_GAP + 1)
    except RuleViolation:
        pass


personal = st.lists(
    st.one_of(
        st.text(alphabet="abAB09 .@-+:()_\n", max_size=20),
        st.sampled_from(
            [
                "joe@example.com",
                "4111 1111 1111 1111",
                "4111111111111111",
                "DE89 3704 0044 0532 0130 00",
                "GB29NWBK60161331926819",
                "11010519491231002X",
                "13812345678",
                "+49 30 1234567",
                "10.0.0.255",
                "078-05-1120",
                "sk-abcdefghijklmnopqrstuvwxyz",
                "-----BEGIN " + "PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
                "2001:db8:0:0:0:0:0:1",
            ]
        ),
    ),
    max_size=7,
).map("".join)


@pytest.mark.demand("models.streaming_output_guard_never")
@settings(max_examples=limit_rounds(100), deadline=None)
@given(personal, places)
def test_a_stream_is_redacted_as_the_whole_text_is(text: str, ends: list[int]) -> None:
    streamed, kind = filter_pieces(TextRules(redacted=DATA_KINDS).make_filter(), split_at(text, ends))
    assert kind is None
    assert streamed == PERSONAL.redact(text)


@pytest.mark.demand("models.streaming_output_guard_never")
@settings(max_examples=limit_rounds(100), deadline=None)
@given(personal, places)
def test_refused_data_never_passes(text: str, ends: list[int]) -> None:
    whole = filter_pieces(TextRules(refused=DATA_KINDS).make_filter(), [text])
    assert whole == filter_pieces(TextRules(refused=DATA_KINDS).make_filter(), split_at(text, ends))
    assert (whole[1] == "personal") == (PERSONAL.redact(text) != text)


@pytest.mark.demand("models.streaming_output_guard_never")
@settings(max_examples=limit_rounds(100), deadline=None)
@given(st.text(alphabet="abc 019-x\n", max_size=120), places)
def test_a_pattern_within_its_window_never_passes(text: str, ends: list[int]) -> None:
    rules = TextRules(patterns=PatternList([r"\d{2}-[abc]+x"]), window=12)
    out, kind = filter_pieces(rules.make_filter(), split_at(text, ends))
    short = re.search(r"\d{2}-[abc]{1,8}x", text)
    assert not re.search(r"\d{2}-[abc]{1,8}x", out)
    assert text.startswith(out)
    assert short is None or kind == "pattern"
    assert kind is None or re.search(r"\d{2}-[abc]+x", text)


@settings(max_examples=limit_rounds(300), deadline=None)
@given(
    st.text(alphabet="clas -\n", max_size=60) | st.sampled_from(["cccccccccass-ccccccccc", "assssss", "a ass"]), places
)
def test_a_cut_is_not_the_edge_of_a_word(text: str, ends: list[int]) -> None:
    rules = TextRules(patterns=PatternList([r"\bass\b"]), window=3)
    out, kind = filter_pieces(rules.make_filter(), split_at(text, ends))
    assert (kind == "pattern") == (re.search(r"\bass\b", text) is not None)
    assert kind or out == text
    assert not re.search(r"\bass\b", out + "x")


@pytest.mark.demand("models.streaming_output_guard_never")
@settings(max_examples=limit_rounds(100), deadline=None)
@given(texts_with_denied, personal, places)
def test_all_rules_together_keep_what_each_promises(text: str, more: str, ends: list[int]) -> None:
    rules = TextRules(deny=WordList(DENIED), redacted=DATA_KINDS, patterns=PatternList([r"b{3}"]), window=5)
    out, kind = filter_pieces(rules.make_filter(), split_at(text + more, ends))
    assert not re.search("b{3}", out)
    if kind is None:
        assert out == PERSONAL.redact(text + more)


@pytest.mark.demand("models.input_before_model_output")
def test_pieces_stay_as_they_came_and_lose_likelihoods_only_where_they_change() -> None:
    screen = TextRules(deny=WordList(["secret plan"]), redacted=("email",)).make_filter()
    given = ["My", " secret", " is", " joe", "@", "example.com", ", ok"]
    out = [piece for text in given for piece in screen.feed(TextPiece(text, {"of": text}))] + screen.close()
    assert [piece.text for piece in out] == ["My", " secret", " is", " [email]", ", ok"]
    told = [piece.logprobs and piece.logprobs["of"] for piece in out]
    assert told == ["My", " secret", " is", None, ", ok"]


@pytest.mark.demand("models.input_before_model_output")
@each_case(
    ("text", "held"),
    [("Hello", 0), ("a ba", 2), ("a bad", 3), ("a bad ", 4), ("a bad wor", 7), ("a badly", 0), ("abad", 0)],
)
def test_the_tail_that_is_held(text: str, held: int) -> None:
    assert WordScan(WordList(["bad word"]), "words").feed(text) == held


def test_a_text_over_its_length_ends_there() -> None:
    assert filter_pieces(TextRules(max_chars=5).make_filter(), ["abc", "defg"]) == ("abcde", "length")
