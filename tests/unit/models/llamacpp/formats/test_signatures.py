"""Signatures: what the embedded model's adapter was taught. The rest is in tests/contract/formats."""

import pytest

from rightseat.models.llamacpp.formats.hermes import SignatureFormat, format_signature
from rightseat.models.llamacpp.template import load_chatml
from rightseat.types.messages import text_message
from rightseat.types.model import ToolSpec
from tests.unit.models.llamacpp.formats.prompts import ADD, CONVERSATION, QUESTION, TOOL_CALLS, plan_prompt
from tests.unit.models.llamacpp.formats.prompts import make_template as template_of

WEATHER = ToolSpec(
    "get_weather",
    "Get the\nweather",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city's name"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "days": {"type": "array", "items": {"type": "integer"}},
            "at": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
            "note": {"type": ["string", "null"]},
            "any": {},
        },
        "required": ["city"],
    },
)


def test_a_tool_is_a_line_and_one_for_each_described_argument() -> None:
    assert format_signature(WEATHER) == (
        'get_weather(city: string, unit?: "celsius"|"fahrenheit", days?: integer[], at?: {lat: number}, '
        "note?: string|null, any?: any) // Get the weather\n  city: The city's name"
    )


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {"a": True}, "required": "a"}])
def test_odd_schemas_are_told_too(schema: dict[str, object]) -> None:
    assert format_signature(ToolSpec("f", "", schema)).startswith("f(")


def test_a_huge_enum_is_told_in_part() -> None:
    schema = {"properties": {"a": {"enum": list(range(5000))}}}
    assert format_signature(ToolSpec("f", "", schema)).endswith("38|39|...)")


def test_a_schema_without_end_is_told_to_some_depth() -> None:
    deep: dict[str, object] = {"type": "object", "properties": {}}
    deep["properties"] = {"more": deep}
    assert format_signature(ToolSpec("f", "", deep)).endswith("any}}}})")


@pytest.mark.demand("llamacpp.golden_prompts_per_format")
def test_the_prompt_is_as_it_was_taught() -> None:
    plan, prompt = plan_prompt(
        SignatureFormat(), template_of(load_chatml()), text_message("system", "Be brief."), QUESTION
    )
    assert prompt == (
        "<|im_start|>system\nBe brief.\n\n"
        'You can call these functions. To call one, reply <tool_call>{"name": ..., "arguments": {...}}'
        "</tool_call>. If none fits or a required value is missing, reply in plain words.\n\n"
        "add(a: integer) // Adds.<|im_end|>\n"
        "<|im_start|>user\n2 and 3?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert plan.uses_adapter


def test_after_results_the_adapter_answers() -> None:
    plan, prompt = plan_prompt(SignatureFormat(), template_of(load_chatml()), *CONVERSATION)
    assert "<|im_start|>user\n<tool_response>\n" in prompt
    assert plan.uses_adapter


def test_a_call_that_must_be_is_made_after_results_too() -> None:
    plan, _ = plan_prompt(SignatureFormat(), template_of(load_chatml()), *CONVERSATION, mode="required")
    assert plan.uses_adapter
    assert "add" in plan.grammar


@pytest.mark.demand("adapter.adapter_loaded_default_rests")
def test_without_tools_the_adapter_rests() -> None:
    for mode, tools in (("none", (ADD,)), ("auto", ())):
        plan, _ = plan_prompt(SignatureFormat(), template_of(load_chatml()), QUESTION, mode=mode, tools=tools)
        assert not plan.uses_adapter


@pytest.mark.demand("adapter.adapter_loaded_default_rests")
def test_the_adapter_chooses_among_names_and_fills_no_other_schema() -> None:
    for schema, adapted in (({"type": "string", "enum": ["a", "b"]}, True), ({"type": "integer"}, False)):
        plan, _ = plan_prompt(SignatureFormat(), template_of(load_chatml()), QUESTION, tools=(), output_schema=schema)
        assert plan.uses_adapter == adapted


def test_an_earlier_call_is_shown_as_it_was_written() -> None:
    _, prompt = plan_prompt(
        SignatureFormat(), template_of(load_chatml()), QUESTION, TOOL_CALLS, text_message("user", "Go on.")
    )
    assert '<tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>\n<tool_call>{' in prompt
