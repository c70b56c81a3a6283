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
ASKED = text_message("user", "2 and 3?")
CALLED = Message("assistant", calls=(ToolCall("call_t_0", "add", '{"a": 2}'), ToolCall("call_t_1", "add", '{"a": 3}')))
TOLD = (
    text_message("tool", "4", call_id="call_t_0", name="add"),
    text_message("tool", "5", call_id="call_t_1", name="add"),
)
TALK = (text_message("system", "Be brief."), ASKED, CALLED, *TOLD)


def golden(name: str) -> str:
    """A template of our own in a published one's shape, or a prompt that it must give."""
    return Path(__file__).with_name("golden").joinpath(name).read_text("utf-8")


def clock() -> datetime.datetime:
    return datetime.datetime(2026, 2, 3)


def made(source: str) -> ChatTemplate:
    """Judged as `load` does it, but not in a child process: these sources are the tests' own."""
    abilities = probe_template(ProbeRequest(source, "<s>", "</s>")).abilities
    assert abilities is not None
    return ChatTemplate(source, abilities, bos="<s>", eos="</s>", clock=clock)


def planned(
    format: ToolCallFormat,
    template: ChatTemplate,
    *messages: Message,
    mode: Any = "auto",
    tools: tuple[ToolSpec, ...] = (ADD,),
    **more: Any,
) -> tuple[PromptPlan, str]:
    """The plan, and the prompt as text."""
    prompt = Prompt(messages=messages or TALK, tools=tools, tool_choice=ToolChoice(mode), **more)
    ask = FormatContext(
        prompt=prompt,
        capabilities=template.capabilities,
        thinking=ThinkingTags.from_template(template.source, template.capabilities.ending),
        clock=clock,
    )
    plan = format.make_plan(ask)
    rendered = template.render(
        plan.messages, control_tokens=ControlTokens(()), tools=plan.tools, **plan.template_variables
    )
    return plan, rendered + plan.answer_prefix


def calls_of(plan: PromptPlan, text: str) -> list[tuple[str, str]]:
    from tests.contract.models.cases import heard

    reader = plan.make_reader()
    return list(heard([*reader.feed(text), *reader.close()]).calls)


WITH_TEXT = replace(CALLED, parts=text_message("assistant", "Well.").parts)
