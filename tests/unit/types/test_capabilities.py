"""What the table says of models, and a prompt as a model can take it."""

from typing import Any

import pytest

from rightseat.engine.history import fit_to_capabilities
from rightseat.errors import CallerError
from rightseat.models.catalog import lookup_capabilities, override_capabilities
from rightseat.types.messages import ImageMessagePart, Message, TextMessagePart, ToolCall, text_message
from rightseat.types.model import BoundModel, Capabilities, Prompt, SamplingSettings, ToolChoice, ToolSpec
from tests.kit.app_server import FakeModel
from tests.kit.cases import each_case

ADD = ToolSpec("add", "Adds.", {"type": "object"})
PICTURE = Message("user", (TextMessagePart("What is this?"), ImageMessagePart("data:image/png;base64,AA==")))


@pytest.mark.demand("models.table_model_tools_parallel")
@each_case(
    ("provider", "name", "facts"),
    [
        ("openai", "gpt-4o-2024-08-06", {"images": True, "schema": True, "context": 128_000}),
        ("openai", "ft:gpt-4o-mini:team::x", {"images": True, "context": 128_000}),
        ("openai", "gpt-3.5-turbo", {"images": False, "schema": False, "context": 16_000}),
        ("openai", "gpt-5-mini", {"reasoning": True, "images": True, "parallel": True}),
        ("openai", "o3-mini", {"reasoning": True, "images": False, "parallel": False}),
        ("openai", "o1-mini", {"tools": False, "reasoning": True}),
        ("openai", "gpt-6.1-sol", {"reasoning": True, "images": True, "context": None}),
        ("anthropic", "claude-opus-5-5", {"images": True, "schema": True, "context": None}),
        ("google", "gemini-4-argon", {"reasoning": True, "context": None}),
        ("azure", "gpt-4.1-nano", {"context": 1_047_000}),
        ("compatible", "Qwen/Qwen3-8B", {"images": False, "reasoning": True, "context": None}),
        ("compatible", "qwen3-vl:8b", {"images": True}),
        ("compatible", "my-own", {"images": True, "tools": True}),
        ("anthropic", "claude-sonnet-4-5", {"images": True, "reasoning": True, "context": 200_000}),
        ("anthropic", "claude-2.1", {"tools": False}),
        ("google", "models/gemini-2.5-flash", {"reasoning": True, "images": True, "context": 1_048_000}),
        ("google", "gemini-1.5-pro", {"reasoning": False, "context": 2_097_000}),
        ("langchain", "claude-3-haiku", {"images": True, "reasoning": False}),
        ("langchain", "FakeModel", {"tools": True}),
        ("nobody", "x", {"tools": True, "context": None}),
    ],
)
def test_the_table(provider: str, name: str, facts: dict[str, Any]) -> None:
    found = lookup_capabilities(provider, name)
    assert {key: getattr(found, key) for key in facts} == facts


@pytest.mark.demand("models.table_model_tools_parallel")
def test_options_are_said_over_the_table() -> None:
    found = override_capabilities(
        lookup_capabilities("openai", "gpt-4"), {"images": True, "tools": None, "spec": "x", "context": 5}
    )
    assert found == Capabilities(images=True, schema=False, context=5, max_output=8192)


class ModelWithCapabilities(FakeModel):
    capabilities = Capabilities(images=False, context=9)


def test_the_configuration_knows_the_context_better_than_the_table() -> None:
    assert BoundModel.from_model(ModelWithCapabilities()).context == 9
    assert BoundModel.from_model(ModelWithCapabilities(), 4).context == 4


def test_a_picture_is_refused_where_it_cannot_be_seen() -> None:
    prompt = Prompt(messages=(PICTURE,))
    assert fit_to_capabilities(prompt, Capabilities(images=True)) is prompt
    with pytest.raises(CallerError, match=r"does not accept images\. Ask one that does: a, b\."):
        fit_to_capabilities(prompt, Capabilities(images=False), ("a", "b"))
    with pytest.raises(CallerError, match="Leave it out"):
        fit_to_capabilities(prompt, Capabilities(images=False))


@pytest.mark.demand("models.unknown_tuning_knobs_ignored")
def test_tools_are_not_shown_to_a_model_that_calls_none() -> None:
    before = text_message("assistant", "", calls=(ToolCall("c", "add", '{"a": 1}'),))
    messages = (text_message("user", "sum"), before, text_message("tool", "1", call_id="c"))
    found = fit_to_capabilities(Prompt(messages=messages, tools=(ADD,)), Capabilities(tools=False))
    assert found.tools == ()
    assert [message.role for message in found.messages] == ["user", "assistant", "user"]
    assert "Result of add:\n1" in found.messages[-1].text
    required = Prompt(messages=messages, tools=(ADD,), tool_choice=ToolChoice("required"))
    with pytest.raises(CallerError, match="cannot call tools"):
        fit_to_capabilities(required, Capabilities(tools=False))


@pytest.mark.parametrize("given", [None, True, False])
def test_one_call_at_a_time_where_a_model_makes_no_more(given: bool | None) -> None:
    prompt = Prompt(messages=(), tools=(ADD,), settings=SamplingSettings(parallel_calls=given))
    assert fit_to_capabilities(prompt, Capabilities(parallel=False)).settings.parallel_calls is False
    assert fit_to_capabilities(prompt, Capabilities()) is prompt
