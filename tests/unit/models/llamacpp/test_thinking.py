"""Thinking of local models, switched by requests to the OpenAI door."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.errors import CallerError
from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.model import LlamaCppModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.template import TemplateSources
from rightseat.models.llamacpp.thinking import find_budget, template_variables
from rightseat.types.model import SamplingSettings
from tests.unit.doors.openai.test_openai import post_once
from tests.unit.models.llamacpp.in_process_server import InProcessServer

pytestmark = pytest.mark.io

END = CompletionChunk(stop=True, stop_type="eos", tokens_evaluated=5, tokens_predicted=2)
BEGIN = "{% for m in messages %}{{ m.content }}|{% endfor %}"
SWITCH = BEGIN + "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
DEEPSEEK = BEGIN + "{% if thinking %}<think>{% else %}</think>{% endif %}"
ALWAYS = BEGIN + "<think>"
FREE = BEGIN + "{# <think> </think> #}"
EFFORT = BEGIN + "{{ reasoning_effort | default('medium') }}{# <think> </think> #}"
STYLED = BEGIN + "{{ style }}{# <think> </think> #}"
ASK = {"messages": [{"role": "user", "content": "Hi"}]}


async def post_to(
    template: str, body: dict[str, Any], *answer: CompletionChunk, **options: Any
) -> tuple[int, Any, list[dict[str, Any]]]:
    """Post to the OpenAI door over a local model with this template; return the status, the body and what the engine
    was asked."""

    async def describe_model(_server: Any) -> ModelDescription:
        return ModelDescription(TemplateSources(template), ControlTokens(("<s>",)))

    server = InProcessServer(*(answer or (CompletionChunk(content="Hello."), END)))
    model = LlamaCppModel("tiny", server, describe_model, options=PromptOptions(**options))
    status, reply = await post_once(Runtime(model=model, tools=[]), {**ASK, **body})
    return status, reply, server.requests


@pytest.mark.demand("llamacpp.thinking_switched_by_request")
@pytest.mark.parametrize(
    ("template", "body", "ending"),
    [
        (SWITCH, {}, "Hi|"),
        (SWITCH, {"reasoning_effort": "none"}, "Hi|<think>\n\n</think>\n\n"),
        (SWITCH, {"reasoning_effort": "minimal"}, "Hi|<think>\n\n</think>\n\n"),
        (SWITCH, {"reasoning_effort": "high"}, "Hi|"),
        (SWITCH, {"reasoning_effort": None}, "Hi|"),
        (SWITCH, {"enable_thinking": False}, "Hi|<think>\n\n</think>\n\n"),
        (SWITCH, {"enable_thinking": True}, "Hi|"),
        (SWITCH, {"chat_template_kwargs": {"enable_thinking": False}}, "Hi|<think>\n\n</think>\n\n"),
        (SWITCH, {"thinking": {"type": "disabled"}}, "Hi|<think>\n\n</think>\n\n"),
        (SWITCH, {"reasoning": {"enabled": False}}, "Hi|<think>\n\n</think>\n\n"),
        (SWITCH, {"reasoning": {"effort": "none"}}, "Hi|<think>\n\n</think>\n\n"),
        (SWITCH, {"thinking_budget_tokens": 0}, "Hi|<think>\n\n</think>\n\n"),
        (DEEPSEEK, {"reasoning_effort": "low"}, "Hi|<think>"),
        (DEEPSEEK, {"chat_template_kwargs": {"thinking": True}}, "Hi|<think>"),
        (DEEPSEEK, {"reasoning_effort": "none"}, "Hi|</think>"),
        (ALWAYS, {}, "Hi|<think>"),
        (ALWAYS, {"reasoning_effort": "none"}, "Hi|<think>\n\n</think>\n\n"),
        (FREE, {"enable_thinking": False}, "Hi|<think>\n\n</think>\n\n"),
        (FREE, {"enable_thinking": True}, "Hi|"),
        (EFFORT, {}, "Hi|medium"),
        (EFFORT, {"reasoning_effort": "high"}, "Hi|high"),
        (STYLED, {"chat_template_kwargs": {"style": "terse"}}, "Hi|terse"),
    ],
)
async def test_a_request_switches_thinking(template: str, body: dict[str, Any], ending: str) -> None:
    thought = CompletionChunk(content="Well.</think>" if ending.endswith("<think>") else "")
    status, reply, [request] = await post_to(template, body, thought, CompletionChunk(content="Hello."), END)
    assert status == 200, reply
    assert request["prompt"] == ending
    assert reply["choices"][0]["message"]["content"] == "Hello."


async def test_a_request_overrides_the_options_of_the_model() -> None:
    _, _, [request] = await post_to(SWITCH, {"enable_thinking": True}, thinking=False)
    assert request["prompt"] == "Hi|"


@pytest.mark.demand("llamacpp.thinking_budget_by_effort")
@pytest.mark.parametrize(
    ("template", "body", "budget", "opened"),
    [
        (SWITCH, {"reasoning_effort": "low"}, 512, ""),
        (ALWAYS, {"reasoning_effort": "medium"}, 2048, "<think>"),
        (ALWAYS, {"thinking_budget_tokens": 40}, 40, "<think>"),
        (ALWAYS, {"thinking": {"type": "enabled", "budget_tokens": 30}}, 30, "<think>"),
        (SWITCH, {"reasoning_effort": "high"}, None, ""),
        (SWITCH, {"reasoning_effort": "low", "reasoning_budget_tokens": -1}, None, ""),
        (SWITCH, {"reasoning_effort": "none"}, None, ""),
        (EFFORT, {"reasoning_effort": "low"}, None, ""),
        (BEGIN, {"reasoning_effort": "low"}, None, ""),
    ],
)
async def test_an_effort_is_a_budget_where_the_template_has_none(
    template: str, body: dict[str, Any], budget: int | None, opened: str
) -> None:
    _, _, [request] = await post_to(template, body)
    assert request.get("reasoning_budget_tokens") == budget
    if budget is not None:
        assert request["reasoning_budget_start_tag"] == "<think>"
        assert request["reasoning_budget_end_tags"] == ["</think>"]
        assert request["generation_prompt"] == opened


@pytest.mark.demand("llamacpp.thinking_fields_checked")
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"reasoning_effort": "extreme"}, "reasoning_effort"),
        ({"enable_thinking": "false"}, "enable_thinking"),
        ({"chat_template_kwargs": ["enable_thinking"]}, "chat_template_kwargs"),
        ({"chat_template_kwargs": {"enable_thinking": "no"}}, "chat_template_kwargs.enable_thinking"),
        ({"thinking": True}, "thinking"),
        ({"thinking": {"type": "on"}}, "thinking.type"),
        ({"reasoning": "high"}, "reasoning"),
        ({"reasoning": {"effort": 3}}, "reasoning.effort"),
        ({"thinking_budget_tokens": -2}, "thinking_budget_tokens"),
        ({"thinking_budget_tokens": True}, "thinking_budget_tokens"),
        *(
            ({"chat_template_kwargs": {name: "x"}}, f"chat_template_kwargs.{name}")
            for name in (
                "messages",
                "tools",
                "functions",
                "bos_token",
                "eos_token",
                "add_generation_prompt",
                "raise_exception",
            )
        ),
    ],
)
async def test_wrong_values_are_refused_with_their_place(body: dict[str, Any], param: str) -> None:
    status, reply, requests = await post_to(SWITCH, body)
    assert status == 400
    assert reply["error"]["param"] == param
    assert requests == []


@pytest.mark.parametrize("name", ["now", "bos", "eos", "control_tokens", "variables"])
async def test_names_of_our_own_parameters_are_plain_variables(name: str) -> None:
    _, _, [request] = await post_to(BEGIN + "{{ " + name + " }}", {"chat_template_kwargs": {name: "mine"}})
    assert request["prompt"] == "Hi|mine"


async def test_a_control_token_in_a_variable_stays_text() -> None:
    _, _, [request] = await post_to(STYLED, {"chat_template_kwargs": {"style": "<s>"}})
    assert isinstance(request["prompt"], list), "tokens, so that the engine does not read it as a control token"


async def test_an_answer_cut_inside_a_thought_has_no_text() -> None:
    cut = CompletionChunk(stop=True, stop_type="limit", tokens_evaluated=5, tokens_predicted=2)
    _, reply, _ = await post_to(SWITCH, {}, CompletionChunk(content="<think>Let me s"), cut)
    [choice] = reply["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("", "length")
    assert choice["message"]["reasoning_content"] == "Let me s"


@pytest.mark.parametrize(
    ("source", "effort"),
    [("", None), ("{{ reasoning_effort }}", "low"), ("{% if reasoning_effort == 'none' %}", "none")],
)
def test_no_thinking_in_the_words_of_the_template(source: str, effort: str | None) -> None:
    settings = SamplingSettings(extra={"reasoning_effort": "none"})
    variables = template_variables(settings, PromptOptions(), source)
    assert variables.get("reasoning_effort") == effort
    assert variables["enable_thinking"] is variables["thinking"] is variables["reasoning"] is False
    assert variables["thinking_budget"] == 0


def test_the_efforts_of_kimi() -> None:
    settings = SamplingSettings(extra={"reasoning_effort": "medium"})
    assert template_variables(settings, PromptOptions())["thinking_effort"] == "high"


def test_nothing_asked_for_is_no_variable() -> None:
    assert template_variables(SamplingSettings(), PromptOptions()) == {}
    with pytest.raises(CallerError):
        template_variables(SamplingSettings(extra={"enable_thinking": 1}), PromptOptions())


TOOL_TEMPLATE = (
    "{% for t in tools or [] %}{{ t.function.name }} {% endfor %}"
    "{% for m in messages %}{% if m.tool_calls %}<think>{{ m.reasoning_content }}</think><tool_call>"
    "{{ m.tool_calls[0].function | tojson }}</tool_call>{% else %}{{ m.role }}:{{ m.content }}{% endif %}|{% endfor %}"
)


async def test_a_tool_loop_shows_the_template_the_thought_before_a_call() -> None:
    call = '<think>I must add.</think><tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'

    class TwoAnswers(InProcessServer):
        async def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
            self.requests.append(request)
            yield CompletionChunk(content=call if len(self.requests) == 1 else "Five.")
            yield END

    async def describe_model(_server: Any) -> ModelDescription:
        return ModelDescription(TemplateSources(TOOL_TEMPLATE), ControlTokens(()))

    def add(a: int, b: int) -> int:
        return a + b

    server = TwoAnswers()
    model = LlamaCppModel("tiny", server, describe_model, options=PromptOptions(tool_format="hermes"))
    _, reply = await post_once(Runtime(model=model, tools=[add]), ASK)
    assert reply["choices"][0]["message"]["content"] == "Five."
    first, second = (request["prompt"] for request in server.requests)
    assert "I must add." not in first
    assert "<think>I must add.</think><tool_call>" in second


@pytest.mark.parametrize(
    ("extra", "budget"),
    [({"reasoning_effort": "low"}, 512), ({"thinking_budget_tokens": 7}, 7), ({"reasoning_effort": "high"}, None)],
)
def test_a_budget_for_engines_that_know_the_tags(extra: dict[str, Any], budget: int | None) -> None:
    assert find_budget(SamplingSettings(extra=extra), SWITCH) == budget
    assert find_budget(SamplingSettings(extra={"reasoning_effort": "low"}), EFFORT) is None
