"""`reasoning_effort` and its relatives in the words of each vendor."""

from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.messages import AIMessageChunk

from rightseat.errors import CallerError
from rightseat.models.anthropic import model as make_anthropic
from rightseat.models.google import model as make_google
from rightseat.models.langchain import model as make_langchain
from rightseat.models.openai import model as make_openai
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings
from tests.kit.vendors import langchain as langchain_kit
from tests.kit.waiting import read_into
from tests.unit.models.anthropic.model_calls import capture_request_body as capture_anthropic

pytestmark = pytest.mark.io
COMPATIBLE = {"base_url": "http://h/v1"}
DEEPSEEK, KIMI = {"base_url": "https://api.deepseek.com"}, {"base_url": "https://api.moonshot.ai/v1"}
DISABLED = {"thinking": {"type": "disabled"}}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}


def make_prompt(extra: dict[str, Any]) -> Prompt:
    return Prompt(messages=(text_message("user", "Hi"),), settings=SamplingSettings(extra=extra))


@pytest.mark.demand("models.effort_reaches_each_vendor")
@pytest.mark.parametrize(
    ("name", "extra", "thinking", "effort"),
    [
        ("claude-opus-5-5", {"reasoning_effort": "high"}, ADAPTIVE, "high"),
        ("claude-opus-5-5", {"reasoning_effort": "none"}, None, "low"),
        ("claude-opus-5", {"reasoning_effort": "none"}, {"type": "disabled"}, "low"),
        ("claude-opus-5", {"enable_thinking": False}, {"type": "disabled"}, None),
        ("claude-opus-4-8", {}, None, None),
        ("claude-opus-4-8", {"reasoning_effort": "medium"}, ADAPTIVE, "medium"),
        ("claude-sonnet-4-5", {"reasoning_effort": "low"}, {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 3000}}, 3000, None),
        ("claude-sonnet-4-5", {"thinking": {"type": "enabled"}}, 8192, None),
        ("claude-sonnet-4-5", {"reasoning_effort": "none"}, None, None),
        ("claude-3-5-haiku", {"reasoning_effort": "high"}, None, None),
    ],
)
async def test_anthropic(name: str, extra: dict[str, Any], thinking: Any, effort: str | None) -> None:
    body = await capture_anthropic(make_prompt(extra), name)
    expected = {"type": "enabled", "budget_tokens": thinking} if isinstance(thinking, int) else thinking
    assert body.get("thinking") == expected
    assert body.get("output_config", {}).get("effort") == effort


@pytest.mark.demand("models.effort_reaches_each_vendor")
@pytest.mark.parametrize(
    ("name", "extra", "expected"),
    [
        ("gemini-3-flash", {}, {"includeThoughts": True}),
        ("gemini-3-flash", {"reasoning_effort": "medium"}, {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-3-flash", {"reasoning_effort": "max"}, {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3-flash", {"reasoning_effort": "none"}, {"thinkingLevel": "MINIMAL"}),
        ("gemini-3-pro", {"reasoning_effort": "none"}, {"thinkingLevel": "LOW"}),
        ("gemini-2.5-flash", {"reasoning_effort": "none"}, {"thinkingBudget": 0}),
        ("gemini-2.5-flash", {"enable_thinking": False}, {"thinkingBudget": 0}),
        ("gemini-2.5-pro", {"reasoning_effort": "minimal"}, {"thinkingBudget": 128}),
        ("gemini-2.5-flash", {"reasoning_effort": "low"}, {"includeThoughts": True, "thinkingBudget": 1024}),
        ("gemini-2.5-flash", {"reasoning_effort": "xhigh"}, {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-2.5-flash", {"thinking_budget_tokens": 50}, {"includeThoughts": True, "thinkingBudget": 50}),
        ("gemini-2.5-flash", {"thinking_budget_tokens": -1}, {"includeThoughts": True, "thinkingBudget": -1}),
        ("gemini-2.0-flash", {"reasoning_effort": "low"}, None),
    ],
)
def test_google(name: str, extra: dict[str, Any], expected: Any) -> None:
    body = make_google(name, {"api_key": "k"})._build_request(make_prompt(extra)).body
    assert body["generationConfig"].get("thinkingConfig") == expected


@pytest.mark.demand("models.effort_reaches_each_vendor")
@pytest.mark.parametrize(
    ("name", "options", "extra", "expected"),
    [
        ("my-model", COMPATIBLE, {"reasoning_effort": "none"}, {"reasoning_effort": "none"}),
        ("my-model", COMPATIBLE, {"enable_thinking": False}, {"enable_thinking": False}),
        ("my-model", COMPATIBLE, {"chat_template_kwargs": {"a": 1}}, {"chat_template_kwargs": {"a": 1}}),
        ("deepseek-chat", DEEPSEEK, {"reasoning_effort": "none"}, DISABLED),
        ("kimi-k2.6", KIMI, {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        ("gpt-5.1", {"api_key": "k"}, {"reasoning_effort": "none"}, {"reasoning_effort": "none"}),
        ("gpt-5.1", {"api_key": "k"}, {"enable_thinking": False, "chat_template_kwargs": {}}, {}),
        ("gpt-4o", {"api_key": "k"}, {"reasoning_effort": "low", "thinking": {}}, {}),
    ],
)
def test_openai_and_compatible_servers(
    name: str, options: dict[str, Any], extra: dict[str, Any], expected: dict[str, Any]
) -> None:
    body = make_openai(name, options)._build_request(make_prompt(extra)).body
    fields = ("reasoning_effort", "enable_thinking", "chat_template_kwargs", "thinking")
    assert {field: body[field] for field in fields if field in body} == expected


class EffortModel(langchain_kit.FakeChatModel):
    reasoning_effort: str | None = None


class SwitchModel(langchain_kit.FakeChatModel):
    reasoning: bool | None = None


class BudgetModel(langchain_kit.FakeChatModel):
    thinking_budget: int | None = None


@pytest.mark.demand("models.effort_reaches_each_vendor")
@pytest.mark.parametrize(
    ("kind", "extra", "expected"),
    [
        (EffortModel, {"reasoning_effort": "none"}, {"reasoning_effort": "none"}),
        (SwitchModel, {"reasoning_effort": "none"}, {"reasoning": False}),
        (BudgetModel, {"thinking_budget_tokens": 0}, {"thinking_budget": 0}),
        (langchain_kit.FakeChatModel, {"reasoning_effort": "none"}, {}),
    ],
)
async def test_langchain(
    kind: type[langchain_kit.FakeChatModel], extra: dict[str, Any], expected: dict[str, Any]
) -> None:
    target = kind(chunks=[AIMessageChunk(content="Hi")])
    with patch.object(langchain_kit, "MODEL", target, create=True):
        model = make_langchain("tests.kit.vendors.langchain:MODEL", {})
    await read_into(model.stream(make_prompt(extra)), [])
    _, settings = target.requests[0]
    assert {key: value for key, value in settings.items() if key != "stop"} == expected


@pytest.mark.parametrize("make_model", [make_google, make_anthropic])
def test_a_wrong_value_is_refused(make_model: Any) -> None:
    model = make_model("gemini-3-flash", {"api_key": "k"})
    with pytest.raises(CallerError) as caught:
        model._build_request(make_prompt({"reasoning_effort": "extreme"}))
    assert caught.value.param == "reasoning_effort"
