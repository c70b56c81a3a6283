"""Mistral: prompts and ids. The rest is in tests/contract/formats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.formats import detect_format
from rightseat.models.llamacpp.formats.mistral import MistralArgsFormat, MistralFormat, to_mistral_id
from rightseat.models.llamacpp.template import load_chatml
from rightseat.types.messages import text_message
from tests.unit.models.llamacpp.formats.prompts import CONVERSATION, make_template, parse_calls, plan_prompt
from tests.unit.models.llamacpp.gbnf import Grammar

# No system role of its own, tools before the last user, ids of nine characters or an error.
NATIVE = """{{ bos_token }}{% set talk = messages[1:] if messages[0].role == 'system' else messages %}
{% macro id(text) %}{% if text | length != 9 %}{{ raise_exception('id') }}{% endif %}{{ text }}{% endmacro %}
{% for m in talk %}
{% if m.role == 'user' %}
{% if tools and loop.index0 == 0 %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif -%}
[INST]{% if messages[0].role == 'system' %}{{ messages[0].content }} {% endif %}{{ m.content }}[/INST]
{%- elif m.tool_calls %}
[TOOL_CALLS][{% for c in m.tool_calls %}{{ (c.function | tojson)[:-1] }}, "id": "{{ id(c.id) }}"}
{{- ', ' if not loop.last }}{% endfor %}]{{ eos_token }}
{%- elif m.role == 'tool' -%}
[TOOL_RESULTS]{"content": {{ m.content }}, "call_id": "{{ id(m.tool_call_id) }}"}[/TOOL_RESULTS]
{%- else %}
{{ m.content }}{{ eos_token }}
{%- endif %}
{% endfor %}"""
ONE, TWO = to_mistral_id("call_t_0"), to_mistral_id("call_t_1")
PROMPT = (
    '<s>[AVAILABLE_TOOLS][{"type": "function", "function": {"name": "add", "description": "Adds.", '
    '"parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}]'
    "[/AVAILABLE_TOOLS][INST]Be brief. 2 and 3?[/INST][TOOL_CALLS]"
    f'[{{"name": "add", "arguments": {{"a": 2}}, "id": "{ONE}"}}, '
    f'{{"name": "add", "arguments": {{"a": 3}}, "id": "{TWO}"}}]</s>'
    f'[TOOL_RESULTS]{{"content": 4, "call_id": "{ONE}"}}[/TOOL_RESULTS]'
    f'[TOOL_RESULTS]{{"content": 5, "call_id": "{TWO}"}}[/TOOL_RESULTS]'
)
NAMED = """{{ bos_token }}{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{% for m in messages %}{% for c in m.tool_calls or [] -%}
[TOOL_CALLS]{{ c.function.name }}[CALL_ID]{{ c.id }}[ARGS]{{ c.function.arguments | tojson }}
{%- endfor %}[{{ m.role }}]{{ m.content }}{% endfor %}"""


@pytest.mark.demand("llamacpp.mistral_nemo_command_r7b", "llamacpp.golden_prompts_per_format")
def test_the_prompt_with_ids_that_the_template_takes() -> None:
    template = make_template(NATIVE)
    assert detect_format(NATIVE, template.capabilities).name == "mistral"
    _, prompt = plan_prompt(MistralFormat(), template)
    assert prompt == PROMPT


def test_what_the_template_shows_is_what_may_be_written() -> None:
    plan, _ = plan_prompt(MistralFormat(), make_template(NATIVE), mode="required")
    shown = PROMPT[PROMPT.index("[TOOL_CALLS]") : PROMPT.index("</s>")]
    assert Grammar.parse(plan.grammar).accepts(shown)
    assert Grammar.parse(plan.grammar).accepts(shown.replace("[TOOL_CALLS]", "[TOOL_CALLS] "))
    assert not Grammar.parse(plan.grammar).accepts(shown.replace(ONE, ONE[1:]))
    assert parse_calls(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


def test_in_words_where_the_template_knows_none() -> None:
    plan, prompt = plan_prompt(MistralFormat(), make_template(load_chatml()))
    assert plan.tools == ()
    assert "Be brief.\n\n[AVAILABLE_TOOLS] [{" in prompt
    call = f'[TOOL_CALLS] [{{"name": "add", "arguments": {{"a": 2}}, "id": "{ONE}"}}, '
    assert f"<|im_start|>assistant\n{call}" in prompt
    assert f'[TOOL_RESULTS] {{"content": "4", "call_id": "{ONE}"}}[/TOOL_RESULTS]' in prompt


def test_later_models_name_the_tool_first() -> None:
    template = make_template(NAMED)
    format = detect_format(NAMED, template.capabilities)
    assert isinstance(format, MistralArgsFormat)
    plan, prompt = plan_prompt(format, template, mode="required")
    shown = prompt[prompt.index("[TOOL_CALLS]") : prompt.index("[assistant]")]
    assert shown == f'[TOOL_CALLS]add[CALL_ID]{ONE}[ARGS]{{"a": 2}}[TOOL_CALLS]add[CALL_ID]{TWO}[ARGS]{{"a": 3}}'
    assert Grammar.parse(plan.grammar).accepts(shown)
    assert parse_calls(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]
    _, told = plan_prompt(format, make_template(load_chatml()))
    assert 'assistant\n[TOOL_CALLS]add[ARGS]{"a": 2}[TOOL_CALLS]add[ARGS]{"a": 3}' in told


@given(st.text(alphabet=st.characters(codec=None)))
def test_ids_are_nine_letters_or_digits_and_stay_the_same(id: str) -> None:
    short = to_mistral_id(id)
    assert len(short) == 9
    assert short.isascii()
    assert short.isalnum()
    assert to_mistral_id(id) == short == to_mistral_id(short)


@pytest.mark.parametrize("pair", [("call_t_0", "call_t_1"), ("", "a")])
def test_different_ids_stay_different(pair: tuple[str, str]) -> None:
    assert to_mistral_id(pair[0]) != to_mistral_id(pair[1])


def test_a_result_without_an_id() -> None:
    _, prompt = plan_prompt(MistralFormat(), make_template(load_chatml()), *CONVERSATION[:3], text_message("tool", "4"))
    assert '"content": "4"' in prompt
