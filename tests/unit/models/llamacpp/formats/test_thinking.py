"""Thoughts are split off, and the answer's grammar binds only what comes after them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.formats.thinking import MARKS, Thinking
from rightseat.models.llamacpp.grammar import Rules
from rightseat.tools.text_calls.reader import Reader, Reading
from tests.contract.models.cases import Heard, heard
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.tools.text_calls.test_reader import pieces


def as_text(reader: Reader) -> Reading[None]:
    yield from reader.text()


def read(thinking: Thinking, parts: list[str]) -> Heard:
    reader = Reader(thinking.before(as_text))
    fragments = [fragment for part in parts for fragment in reader.feed(part)]
    return heard([*fragments, *reader.close()])


def grammar(thinking: Thinking) -> Grammar:
    rules = Rules()
    root = rules.reserve("root")
    rules.define(root, thinking.rule(rules, '"yes" | "no"'))
    return Grammar.read(rules.text())


@pytest.mark.parametrize(
    ("source", "ending", "expected"),
    [
        ("plain", "assistant:", Thinking()),
        ("{{ '</think>' }}", "assistant:", Thinking(may=True)),
        ("{{ '</think>' }}", "assistant:<think>\n", Thinking(may=True, begun=True)),
        ("no end in the template", "assistant:<think>", Thinking(begun=True)),
        ("{{ '</think>' }}", "assistant:<think>\n\n</think>\n\n", Thinking()),
        ("<|END_THINKING|>", "", Thinking(True, False, *MARKS[1])),
        ("<|END_THINKING|>", "<|START_THINKING|>", Thinking(True, True, *MARKS[1])),
        ("[/THINK]", "", Thinking(True, False, *MARKS[2])),
    ],
)
def test_what_a_template_tells(source: str, ending: str, expected: Thinking) -> None:
    found = Thinking.of(source, ending)
    assert found == expected
    assert bool(found.marks) == (found.may or found.begun)


@given(st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_a_thought_and_a_text(places: list[int], begun: bool) -> None:
    text = f"{'' if begun else '<think>'}\nHm, <b> </thin\n</think>\n\n <think>Yes.</think>"
    expected = Heard(reasoning="Hm, <b> </thin", text="<think>Yes.</think>")
    assert read(Thinking(True, begun), pieces(text, places)) == expected


def test_an_answer_without_a_thought() -> None:
    assert read(Thinking(True), ["\n<thin", "g>"]) == Heard(text="<thing>")
    assert read(Thinking(), ["<think>a</think>b"]) == Heard(text="<think>a</think>b")


def test_a_thought_that_is_cut() -> None:
    assert read(Thinking(True), ["<think>Hm"]) == Heard(reasoning="Hm")
    assert read(Thinking(True, True), ["Hm </thi"]) == Heard(reasoning="Hm </thi")


def test_the_grammar_binds_after_the_thought() -> None:
    may, begun = grammar(Thinking(True)), grammar(Thinking(True, True))
    for found, text in ((may, "<think>"), (begun, "")):
        for thought in ("", "no", "é </think", "<think>", "a\n\n"):
            assert found.accepts(f"{text}{thought}</think>\n\nyes")
            assert found.accepts(f"{text}{thought}</think>no")
            assert not found.accepts(f"{text}{thought}</think>\n\n{thought}maybe")
            assert not found.accepts(f"{text}{thought}</think>")
    assert may.accepts("yes")
    assert not begun.accepts("yes")
    # The first end is the end: what comes then is the answer.
    assert not begun.accepts("a</think>b</think>yes")
    assert not begun.accepts("</think>" + "\n" * 99 + "yes")
    assert grammar(Thinking()).accepts("yes")
    assert not grammar(Thinking()).accepts("<think></think>yes")
