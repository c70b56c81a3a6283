"""Command R7B: prompts, and its marks around text. The rest is in tests/contract/formats."""

import pytest

from rightseat.models.llamacpp.formats import detect_format
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.formats.command_r7b import CommandR7BFormat
from rightseat.models.llamacpp.template import load_chatml
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.unit.models.llamacpp.formats.prompts import QUESTION, make_template, parse_calls, plan_prompt, read_golden
from tests.unit.models.llamacpp.gbnf import Grammar

NATIVE, PROMPT = read_golden("command-r7b.jinja"), read_golden("command-r7b.txt")


@pytest.mark.demand("llamacpp.mistral_nemo_command_r7b", "llamacpp.golden_prompts_per_format")
def test_the_prompt() -> None:
    template = make_template(NATIVE)
    assert detect_format(NATIVE, template.capabilities).name == "command-r7b"
    assert plan_prompt(CommandR7BFormat(), template)[1] == PROMPT


def test_what_the_template_shows_is_what_may_be_written() -> None:
    plan, _ = plan_prompt(CommandR7BFormat(), make_template(NATIVE), mode="required")
    shown = PROMPT[PROMPT.index("<|START_THINKING|>") : PROMPT.index("<|SYSTEM|><|START_TOOL")]
    assert Grammar.parse(plan.grammar).accepts(shown)
    assert Grammar.parse(plan.grammar).accepts(shown.replace("\n", "").replace("    ", ""))
    assert parse_calls(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


def test_its_thoughts_have_their_own_marks() -> None:
    assert ThinkingTags.from_template(NATIVE, make_template(NATIVE).capabilities.ending).active_tags == (
        "<|START_THINKING|>",
        "<|END_THINKING|>",
    )


def test_the_marks_around_text_are_not_text() -> None:
    said = "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Good day. <|END_RESPONSE|>"
    for mode in ("auto", "none"):
        plan, _ = plan_prompt(CommandR7BFormat(), make_template(NATIVE), QUESTION, mode=mode)
        for parts in ([said], list(said)):
            reader = plan.make_reader()
            fragments = [fragment for part in parts for fragment in reader.feed(part)]
            assert collect_answer([*fragments, *reader.close()]) == CollectedAnswer(reasoning="Hm.", text="Good day.")
        assert {"<|START_RESPONSE|>", "<|END_RESPONSE|>"} <= set(plan.preserved_tokens)


def test_an_output_schema_stands_within_the_marks_or_without() -> None:
    plan, _ = plan_prompt(CommandR7BFormat(), make_template(NATIVE), QUESTION, output_schema={"const": 7})
    grammar = Grammar.parse(plan.grammar)
    assert grammar.accepts("7")
    assert grammar.accepts("<|START_RESPONSE|>7<|END_RESPONSE|>")
    assert not grammar.accepts("<|START_RESPONSE|>8<|END_RESPONSE|>")


def test_in_words_where_the_template_knows_none() -> None:
    _, prompt = plan_prompt(CommandR7BFormat(), make_template(load_chatml()))
    call = '{"tool_call_id": "0", "tool_name": "add", "parameters": {"a": 2}}'
    assert f"assistant\n<|START_ACTION|>[{call}, " in prompt
    assert '{"name": "add", "description": "Adds."' in prompt
