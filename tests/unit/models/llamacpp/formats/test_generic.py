"""The generic form in a prompt, and its grammar. More in tests/contract/formats and tests/unit/tools."""

import json
from typing import Any

import pytest

from rightseat.models.llamacpp.formats import FormatContext, PromptPlan, detect_format, get_format
from rightseat.models.llamacpp.formats.generic import GenericFormat
from rightseat.models.llamacpp.template import load_chatml
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, ToolSpec
from tests.contract.formats.cases import OUTPUT_SCHEMA, TOOLS
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.kit.cases import each_case
from tests.unit.models.llamacpp.formats.prompts import CONVERSATION, make_template, plan_prompt
from tests.unit.models.llamacpp.gbnf import Grammar

PROMPT_WITH_TOOLS = """<|im_start|>system
Be brief.

You are a function calling AI model.
Here are the tools available:
// Adds.
type add = (_: {
a: number,
}) => any;

Please respond in JSON format with the following schema:

{
  thought_about_next_step_only: string,
  next_step: {
    tool_calls: {
      name: string,
      arguments: any
    }[]
  } | {
    result: string
  }
}<|im_end|>
<|im_start|>user
2 and 3?<|im_end|>
<|im_start|>assistant
{"thought_about_next_step_only": "", "next_step": {"tool_calls": [\
{"name": "add", "arguments": {"a": 2}}, {"name": "add", "arguments": {"a": 3}}]}}<|im_end|>
<|im_start|>user
Result of add:
4<|im_end|>
<|im_start|>user
Result of add:
5<|im_end|>
<|im_start|>assistant
"""


def format_step(text: str, thought: str = "Hm.") -> str:
    return f'{{"thought_about_next_step_only": {json.dumps(thought)}, "next_step": {{{text}}}}}'


def parse_text(plan: PromptPlan, text: str) -> CollectedAnswer:
    reader = plan.make_reader()
    return collect_answer([*reader.feed(text), *reader.close()])


@pytest.mark.demand("llamacpp.generic_other_model_thought", "llamacpp.golden_prompts_per_format")
def test_the_prompt() -> None:
    template = make_template(load_chatml())
    assert detect_format(load_chatml(), template.capabilities).name == get_format("generic").name == "generic"
    plan, prompt = plan_prompt(GenericFormat(), template, *CONVERSATION)
    assert prompt == PROMPT_WITH_TOOLS
    assert (plan.tools, plan.stop_words, plan.filters_stop_words) == ((), (), True)


def test_a_result_is_told_with_the_name_that_its_call_had() -> None:
    talk = (
        *CONVERSATION[:3],
        text_message("tool", "4", call_id="call_t_0"),
        text_message("tool", "?", call_id="other"),
    )
    _, prompt = plan_prompt(GenericFormat(), make_template(load_chatml()), *talk)
    assert "Result of add:\n4<" in prompt
    assert "Result:\n?<" in prompt


def test_the_form_is_its_own_also_where_the_template_knows_tools() -> None:
    source = "{{ tools }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ m.tool_calls }}\n{% endfor %}"
    plan, prompt = plan_prompt(GenericFormat(), make_template(source), *CONVERSATION)
    assert plan.tools == ()
    assert prompt.startswith("None")
    assert '"next_step": {"tool_calls"' in prompt


@pytest.mark.demand("llamacpp.generic_other_model_thought")
@each_case(
    ("mode", "text", "taken"),
    [
        ("auto", format_step('"result": "Words."'), True),
        ("auto", format_step('"result": ""'), False),
        ("auto", format_step('"result": "' + "x" * 5000 + '"'), True),
        ("auto", format_step('"result": 5'), False),
        ("auto", format_step('"tool_calls": []'), False),
        ("auto", "Words.", False),
        ("required", format_step('"result": "Words."'), False),
        ("auto", format_step('"tool_calls": [{"name": "add", "arguments": {"a": 2}}]'), True),
        ("auto", format_step('"tool_calls": [{"name": "add", "arguments": {"a": 2}}]', "x" * 301), False),
        ("auto", format_step('"tool_calls": [{"name": "add", "arguments": {"a": "2"}}]'), False),
        # Where one tool is left there is nothing to think about.
        ("required", format_step('"tool_calls": [{"name": "add", "arguments": {"a": 2}}]'), False),
        ("required", format_step('"tool_calls": [{"name": "add", "arguments": {"a": 2}}]', ""), True),
        ("required", '{"next_step": {"tool_calls": [{"name": "add", "arguments": {"a": 2}}]}}', True),
    ],
)
def test_the_grammar(mode: Any, text: str, taken: bool) -> None:
    plan, _ = plan_prompt(GenericFormat(), make_template(load_chatml()), mode=mode)
    assert Grammar.parse(plan.grammar).accepts(text) == taken


@pytest.mark.demand("llamacpp.generic_other_model_thought", "llamacpp.output_schema_told_model")
def test_an_output_schema_shapes_the_result_and_the_thought_is_no_content() -> None:
    ask = FormatContext(
        prompt=Prompt(messages=(text_message("user", "?"),), tools=TOOLS, output_schema=OUTPUT_SCHEMA),
        capabilities=TemplateCapabilities(system=True),
    )
    plan = GenericFormat().make_plan(ask)
    grammar = Grammar.parse(plan.grammar)
    answer = format_step('"result": {"ok": true}')
    assert grammar.accepts(answer)
    assert not grammar.accepts(format_step('"result": "Yes."'))
    assert parse_text(plan, answer) == CollectedAnswer('{"ok": true}', "Hm.")
    assert '"ok"' in plan.messages[0].text


@pytest.mark.demand("llamacpp.generic_other_model_thought")
@pytest.mark.parametrize(
    ("thought", "found"), [("content", CollectedAnswer("Hm.")), ("reasoning", CollectedAnswer("", "Hm."))]
)
def test_where_the_thought_goes(thought: Any, found: CollectedAnswer) -> None:
    ask = FormatContext(
        prompt=Prompt(messages=(text_message("user", "?"),), tools=TOOLS),
        capabilities=TemplateCapabilities(system=True),
        thought_channel=thought,
    )
    plan = GenericFormat().make_plan(ask)
    assert parse_text(plan, format_step('"result": ""')) == (
        CollectedAnswer("Hm.\n\n") if thought == "content" else found
    )
    assert parse_text(plan, format_step('"x": 1')) == found


@pytest.mark.demand("llamacpp.chosen_probing_template_overridable")
def test_tools_as_json_schema() -> None:
    ask = FormatContext(
        prompt=Prompt(messages=(text_message("user", "?"),), tools=(ToolSpec("odd", "", {"title": "Odd"}),)),
        capabilities=TemplateCapabilities(system=True),
        publish="json",
    )
    assert '"parameters": {"title": "Odd"}' in GenericFormat().make_plan(ask).messages[0].text
