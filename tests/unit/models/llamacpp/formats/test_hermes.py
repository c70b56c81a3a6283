"""Hermes: prompts, and what is particular to it. The rest is in tests/contract/formats."""

import pytest

from rightseat.models.llamacpp.formats import detect_format
from rightseat.models.llamacpp.formats.hermes import HermesFormat
from rightseat.models.llamacpp.template import load_chatml
from rightseat.types.messages import text_message
from tests.unit.models.llamacpp.formats.prompts import (
    QUESTION,
    TOOL_CALLS_WITH_TEXT,
    make_template,
    parse_calls,
    plan_prompt,
    read_golden,
)
from tests.unit.models.llamacpp.gbnf import Grammar

NATIVE, PROMPT, PROMPT_WITH_TOOLS = (
    read_golden("hermes.jinja"),
    read_golden("hermes.txt"),
    read_golden("hermes-told.txt"),
)
XML = NATIVE.replace(
    """{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}""",
    "<function={{ c.function.name }}>{{ c.function.arguments | tojson }}</function>",
)


@pytest.mark.demand("llamacpp.hermes_2_pro_hermes", "llamacpp.golden_prompts_per_format")
def test_a_template_that_knows_tools_tells_of_them() -> None:
    template = make_template(NATIVE)
    assert detect_format(NATIVE, template.capabilities).name == "hermes"
    plan, prompt = plan_prompt(HermesFormat(), template)
    assert prompt == PROMPT
    assert plan.tools[0]["function"]["name"] == "add"


@pytest.mark.demand("llamacpp.hermes_2_pro_hermes")
def test_a_template_that_does_not_gets_the_seeds_words() -> None:
    plan, prompt = plan_prompt(HermesFormat(), make_template(load_chatml()))
    assert prompt == PROMPT_WITH_TOOLS
    assert plan.tools == ()


@pytest.mark.demand("llamacpp.hermes_2_pro_hermes")
def test_what_the_template_shows_is_what_may_be_written() -> None:
    template = make_template(NATIVE)
    plan, _ = plan_prompt(HermesFormat(), template, mode="required")
    shown = PROMPT[PROMPT.index("<tool_call>\n") : PROMPT.index("</assistant>")]
    assert Grammar.parse(plan.grammar).accepts(shown)
    assert parse_calls(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


@pytest.mark.demand("llamacpp.chosen_probing_template_overridable")
def test_other_calls_within_the_same_tags_are_not_this_format() -> None:
    """Qwen's coders write XML there."""
    assert detect_format(XML, make_template(XML).capabilities).name == "generic"


@pytest.mark.demand("llamacpp.output_schema_told_model")
def test_the_output_schema_is_told_in_its_own_sentence() -> None:
    schema = {"type": "object", "properties": {}}
    plan, _ = plan_prompt(
        HermesFormat(), make_template(NATIVE), text_message("system", "Be brief."), QUESTION, output_schema=schema
    )
    assert plan.messages[0].text == (
        "Be brief.\n\nYou are a helpful assistant that answers in JSON. Here's the json schema you must "
        'adhere to:\n<schema>\n{\n  "type": "object",\n  "properties": {}\n}\n</schema>'
    )


def test_the_other_order_is_read_too() -> None:
    plan, _ = plan_prompt(HermesFormat(), make_template(NATIVE))
    text = 'Well. <tool_call>{"arguments": {"a": 1}, "name": "add"}</tool_call>\n<tool_call>{"name": "add", '
    assert parse_calls(plan, text + '"parameters": "{\\"a\\": 2}"}</tool_call>\n') == [
        ("add", '{"a": 1}'),
        ("add", '{"a": 2}'),
    ]


def test_text_beside_earlier_calls() -> None:
    _, prompt = plan_prompt(HermesFormat(), make_template(load_chatml()), QUESTION, TOOL_CALLS_WITH_TEXT)
    assert 'assistant\nWell.\n<tool_call>\n{"name"' in prompt
