"""Worker threads for large inputs, and the pieces in which long texts are handled."""

import threading
from contextvars import ContextVar

import pytest

from rightseat.types.messages import MESSAGE_SIZE, measure_messages, text_message
from rightseat.types.text import SAMPLE_CHARS, estimate_tokens, sample_text
from rightseat.types.turn import InterruptAnswer, Turn, measure_turn
from rightseat.types.workers import INLINE_SIZE, PIECE_CHARS, run_sized, split_text
from tests.kit.cases import each_case

language: ContextVar[str] = ContextVar("language", default="")


def describe_thread(prefix: str, *, suffix: str = "") -> tuple[int, str]:
    return threading.get_ident(), prefix + language.get() + suffix


@pytest.mark.demand("security.loop_stays_free")
@pytest.mark.parametrize(("size", "is_inline"), [(0, True), (INLINE_SIZE, True), (INLINE_SIZE + 1, False)])
async def test_only_a_large_input_is_handled_in_a_thread(size: int, is_inline: bool) -> None:
    language.set("zh")
    thread, text = await run_sized(size, describe_thread, "<", suffix=">")
    assert (thread == threading.get_ident()) is is_inline
    assert text == "<zh>"


async def test_an_error_in_a_thread_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_sized(INLINE_SIZE + 1, lambda: 1 // 0)


@pytest.mark.parametrize("size", [0, 1, PIECE_CHARS, PIECE_CHARS + 1, 3 * PIECE_CHARS])
def test_the_pieces_are_the_text(size: int) -> None:
    pieces = list(split_text("ab" * size))
    assert "".join(pieces) == "ab" * size
    assert all(len(piece) <= PIECE_CHARS for piece in pieces)


def test_a_conversation_is_measured_up_to_what_counts_as_large() -> None:
    assert measure_messages([text_message("user", "abc")]) == MESSAGE_SIZE + 3
    assert measure_messages([text_message("user", "")] * INLINE_SIZE) > INLINE_SIZE
    assert measure_turn(Turn(messages=(), answers=(InterruptAnswer("i", text="x" * (INLINE_SIZE + 1)),))) > INLINE_SIZE


@each_case("text", ["", "abc", "中文", "a中b", "\u2e7f\u2e80\u2fff\u3000\uffff", "é€😀", "\ud83d", "\u2eba\u2ebf⺀"])
def test_wide_characters_are_counted_by_their_first_bytes(text: str) -> None:
    wide = sum(char > "\u2e7f" for char in text)
    assert estimate_tokens(text) == wide + (len(text) - wide + 3) // 4


def test_a_long_text_is_sampled_at_its_ends() -> None:
    text = "a" * SAMPLE_CHARS + "b" + "c" * SAMPLE_CHARS
    assert sample_text(text) == "a" * SAMPLE_CHARS + "\n" + "c" * SAMPLE_CHARS
    assert sample_text(text[:-1]) == text[:-1]
