"""Rules on long texts, which are searched in pieces: the same matches as in a short text, wherever a piece ends."""

import pytest

from rightseat.middleware.guardrails.matchers import PatternList, WordList, fold_letters, split_at_words
from rightseat.middleware.guardrails.personal_data import (
    DATA_KINDS,
    PersonalDataFinder,
    PersonalDataScan,
    get_personal_data_finder,
)
from rightseat.types.workers import PIECE_CHARS

FINDER = get_personal_data_finder(DATA_KINDS)
DATA = {
    "a.b@example.com": "[email]",
    "4111 1111 1111 1111": "[card]",
    "DE89 3704 0044 0532 0130 00": "[iban]",
    "+49 30 12345678": "[phone]",
    "sk-abcdefghijklmnopqrstuvwx": "[secret]",
}


@pytest.mark.demand("security.loop_stays_free")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("before", [0, 1, 2, 5, 12, 40])
def test_personal_data_at_the_end_of_a_piece_is_found(data: str, before: int) -> None:
    padding = "word " * (PIECE_CHARS // 5) + "." * (PIECE_CHARS % 5)
    start = padding[: PIECE_CHARS - before - 1] + " "
    assert FINDER.redact(f"{start}{data} {padding}") == f"{start}{DATA[data]} {padding}"


@pytest.mark.parametrize("unit", ["a@b.co ", "4111 1111 1111 1111 x ", "'a.b@", "1.1.1.1 ", "+49 30 12345678, "])
def test_a_long_text_is_redacted_as_its_parts(unit: str) -> None:
    count = 2 * PIECE_CHARS // len(unit)
    assert FINDER.redact(unit * count) == FINDER.redact(unit) * count


def test_a_large_piece_of_a_stream_gives_the_edits_of_the_whole_text() -> None:
    text = "mail a@b.co, call +49 30 12345678 or 4111 1111 1111 1111; " * 300
    scan = PersonalDataScan(FINDER)
    scan.feed(text)
    scan.close()
    assert scan.edits == list(FINDER.find_edits(text))
    assert len(scan.edits) == 900


def test_a_finder_without_kinds_finds_nothing() -> None:
    assert PersonalDataFinder(()).redact("a@b.co " * PIECE_CHARS) == "a@b.co " * PIECE_CHARS


@pytest.mark.parametrize("place", [0, PIECE_CHARS - 3, PIECE_CHARS, 2 * PIECE_CHARS - 5, 3 * PIECE_CHARS])
def test_an_expression_matches_anywhere_in_a_long_text(place: int) -> None:
    padding = "- " * (2 * PIECE_CHARS)
    text = f"{padding[:place]} code-1234 {padding[place:]}"
    assert PatternList(["code-[0-9]{4}"]).matches(text)
    assert PatternList([r"\bcode-1234\b"]).matches(text)
    assert not PatternList(["code-[a-z]{4}"]).matches(text)
    assert not PatternList(["^code"]).matches(text)
    assert not PatternList(["1234$"]).matches(text)
    assert PatternList(["- $"]).matches(text)


def test_pieces_overlap_and_begin_and_end_beside_words() -> None:
    words = [f"w{number}" for number in range(PIECE_CHARS // 2)]
    text = " ".join(words)
    pieces = list(split_at_words(text))
    assert len(pieces) > 2
    position = 0
    for piece in pieces:
        place = text.index(piece)
        assert place <= position, "nothing is left out"
        position = max(position, place + len(piece))
        assert set(piece.split()) <= set(words), "no word is cut"
    assert position == len(text)


def test_a_long_word_is_cut_somewhere() -> None:
    text = "x" * (5 * PIECE_CHARS)
    assert len("".join(split_at_words(text))) > len(text)
    assert PatternList(["x{20}"]).matches(text)


def test_words_are_found_in_long_texts() -> None:
    text = "Ａb c\u200b " * PIECE_CHARS
    assert fold_letters(text) == "abc" * PIECE_CHARS
    assert WordList(["forbidden fruit"]).matches(f"{text} FORBIDDEN  fruit {text}")
    assert not WordList(["forbidden fruit"]).matches(f"{text} forbidden fruits {text}")
