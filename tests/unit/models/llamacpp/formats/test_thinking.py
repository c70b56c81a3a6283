"""Thoughts are split off, and the answer's grammar binds only what comes after them."""

from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps
from rightseat.tools.text_calls.thinking import THINKING_TAGS
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.kit.cases import each_case
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.tools.text_calls.test_reader import split_at


def parse_as_text(reader: ModelTextReader) -> ParseSteps[None]:
    yield from reader.text_until()


def parse_parts(thinking: ThinkingTags, parts: list[str]) -> CollectedAnswer:
    reader = ModelTextReader(thinking.wrap_parser(parse_as_text))
    fragments = [fragment for part in parts for fragment in reader.feed(part)]
    return collect_answer([*fragments, *reader.close()])


def parse_grammar(thinking: ThinkingTags) -> Grammar:
    rules = GrammarRules()
    root = rules.reserve("root")
    rules.define(root, thinking.wrap_gbnf(rules, '"yes" | "no"'))
    return Grammar.parse(rules.to_gbnf())


@each_case(
    ("source", "ending", "expected"),
    [
        ("plain", "assistant:", ThinkingTags()),
        ("{{ '</think>' }}", "assistant:", ThinkingTags(allowed=True)),
        ("{{ '</think>' }}", "assistant:<think>\n", ThinkingTags(allowed=True, opened_by_prompt=True)),
        ("no end in the template", "assistant:<think>", ThinkingTags(opened_by_prompt=True)),
        ("{{ '</think>' }}", "assistant:<think>\n\n</think>\n\n", ThinkingTags()),
        ("<|END_THINKING|>", "", ThinkingTags(True, False, *THINKING_TAGS[1])),
        ("<|END_THINKING|>", "<|START_THINKING|>", ThinkingTags(True, True, *THINKING_TAGS[1])),
        ("[/THINK]", "", ThinkingTags(True, False, *THINKING_TAGS[2])),
    ],
)
def test_what_a_template_tells(source: str, ending: str, expected: ThinkingTags) -> None:
    found = ThinkingTags.from_template(source, ending)
    assert found == expected
    assert bool(found.active_tags) == (found.allowed or found.opened_by_prompt)


@given(st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_a_thought_and_a_text(places: list[int], begun: bool) -> None:
    text = f"{'' if begun else '<think>'}\nHm, <b> </thin\n</think>\n\n <think>Yes.</think>"
    expected = CollectedAnswer(reasoning="Hm, <b> </thin", text="<think>Yes.</think>")
    assert parse_parts(ThinkingTags(True, begun), split_at(text, places)) == expected


def test_an_answer_without_a_thought() -> None:
    assert parse_parts(ThinkingTags(True), ["\n<thin", "g>"]) == CollectedAnswer(text="<thing>")
    assert parse_parts(ThinkingTags(), ["<think>a</think>b"]) == CollectedAnswer(text="<think>a</think>b")


def test_a_thought_that_is_cut() -> None:
    assert parse_parts(ThinkingTags(True), ["<think>Hm"]) == CollectedAnswer(reasoning="Hm")
    assert parse_parts(ThinkingTags(True, True), ["Hm </thi"]) == CollectedAnswer(reasoning="Hm </thi")


def test_the_grammar_binds_after_the_thought() -> None:
    may, begun = parse_grammar(ThinkingTags(True)), parse_grammar(ThinkingTags(True, True))
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
    assert parse_grammar(ThinkingTags()).accepts("yes")
    assert not parse_grammar(ThinkingTags()).accepts("<think></think>yes")
