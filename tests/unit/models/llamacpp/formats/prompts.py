"""A conversation with a call and its result, and what the engine is sent for it."""

import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.formats import FormatContext, PromptPlan, ToolCallFormat
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.template import ChatTemplate
from rightseat.models.llamacpp.template_probe import ProbeRequest, probe_template
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, ToolChoice, ToolSpec

ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
QUESTION = text_message("user", "2 and 3?")
TOOL_CALLS = Message(
    "assistant", calls=(ToolCall("call_t_0", "add", '{"a": 2}'), ToolCall("call_t_1", "add", '{"a": 3}'))
)
TOOL_RESULTS = (
    text_message("tool", "4", call_id="call_t_0", name="add"),
    text_message("tool", "5", call_id="call_t_1", name="add"),
)
CONVERSATION = (text_message("system", "Be brief."), QUESTION, TOOL_CALLS, *TOOL_RESULTS)


def read_golden(name: str) -> str:
    """A template of our own in a published one's shape, or a prompt that it must give."""
    return Path(__file__).with_name("golden").joinpath(name).read_text("utf-8")


def read_fixed_clock() -> datetime.datetime:
    return datetime.datetime(2026, 2, 3)


def make_template(source: str) -> ChatTemplate:
    """Judged as `load` does it, but not in a child process: these sources are the tests' own."""
    abilities = probe_template(ProbeRequest(source, "<s>", "</s>")).abilities
    assert abilities is not None
    return ChatTemplate(source, abilities, bos="<s>", eos="</s>", clock=read_fixed_clock)


def plan_prompt(
    format: ToolCallFormat,
    template: ChatTemplate,
    *messages: Message,
    mode: Any = "auto",
    tools: tuple[ToolSpec, ...] = (ADD,),
    **more: Any,
) -> tuple[PromptPlan, str]:
    """The plan, and the prompt as text."""
    prompt = Prompt(messages=messages or CONVERSATION, tools=tools, tool_choice=ToolChoice(mode), **more)
    context = FormatContext(
        prompt=prompt,
        capabilities=template.capabilities,
        thinking=ThinkingTags.from_template(template.source, template.capabilities.ending),
        clock=read_fixed_clock,
    )
    plan = format.make_plan(context)
    rendered = template.render(
        plan.messages, control_tokens=ControlTokens(()), tools=plan.tools, variables=plan.template_variables
    )
    return plan, rendered + plan.answer_prefix


def parse_calls(plan: PromptPlan, text: str) -> list[tuple[str, str]]:
    from tests.contract.models.cases import collect_answer

    reader = plan.make_reader()
    return list(collect_answer([*reader.feed(text), *reader.close()]).calls)


TOOL_CALLS_WITH_TEXT = replace(TOOL_CALLS, parts=text_message("assistant", "Well.").parts)
