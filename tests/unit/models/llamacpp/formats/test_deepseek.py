"""DeepSeek: prompts of both shapes, and thoughts that they open. The rest is in tests/contract/formats."""

import pytest

from rightseat.models.llamacpp.formats import detect_format
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.formats.deepseek import DeepSeekFormat, DeepSeekV31Format
from tests.unit.models.llamacpp.formats.prompts import (
    QUESTION,
    TOOL_CALLS_WITH_TEXT,
    make_template,
    parse_calls,
    plan_prompt,
    read_golden,
)
from tests.unit.models.llamacpp.gbnf import Grammar

# R1 shows calls, but only where there is no text beside them, and both say nothing of tools.
R1, R1_PROMPT = read_golden("deepseek.jinja"), read_golden("deepseek.txt")
V31, V31_PROMPT = read_golden("deepseek-v3.1.jinja"), read_golden("deepseek-v3.1.txt")
over_shapes = pytest.mark.parametrize(
    ("source", "format", "expected"),
    [(R1, DeepSeekFormat, R1_PROMPT), (V31, DeepSeekV31Format, V31_PROMPT)],
    ids=["r1", "v3.1"],
)


@pytest.mark.demand("llamacpp.mistral_nemo_command_r7b", "llamacpp.golden_prompts_per_format")
@over_shapes
def test_the_prompt(source: str, format: type[DeepSeekFormat], expected: str) -> None:
    template = make_template(source)
    found = detect_format(source, template.capabilities)
    assert type(found) is format
    plan, prompt = plan_prompt(found, template)
    assert prompt == expected
    assert plan.tools == ()


@over_shapes
def test_what_the_template_shows_is_what_may_be_written(
    source: str, format: type[DeepSeekFormat], expected: str
) -> None:
    plan, _ = plan_prompt(format(), make_template(source), mode="required")
    shown = expected[expected.rindex("<｜tool▁calls▁begin｜>") : expected.index("</s>")]
    thought = "Hm.</think>\n\n" if source is R1 else ""
    grammar = Grammar.parse(plan.grammar)
    assert grammar.accepts(thought + shown)
    # Distilled models leave outer marks out.
    for short in (shown.replace("<｜tool▁calls▁begin｜>", ""), shown.replace("<｜tool▁calls▁end｜>", "")):
        assert grammar.accepts(thought + short)
        assert parse_calls(plan, thought + short) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


def test_the_prompt_opens_a_thought_or_closes_it() -> None:
    assert ThinkingTags.from_template(R1, make_template(R1).capabilities.ending) == ThinkingTags(
        allowed=True, opened_by_prompt=True
    )
    assert ThinkingTags.from_template(V31, make_template(V31).capabilities.ending) == ThinkingTags()


def test_text_beside_earlier_calls_does_not_hide_them() -> None:
    template = make_template(R1)
    assert not template.capabilities.text_and_calls
    _, prompt = plan_prompt(DeepSeekFormat(), template, QUESTION, TOOL_CALLS_WITH_TEXT)
    assert (
        "<｜Assistant｜>Well.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n" in prompt
    )


def test_a_name_that_ends_too_early_is_not_read() -> None:
    plan, _ = plan_prompt(DeepSeekV31Format(), make_template(V31))
    reader = plan.make_reader()
    reader.feed("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool")
    reader.close()
    assert reader.inside_call
    assert not reader.calls
