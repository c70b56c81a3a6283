"""A conversation with a call and its result, and what the engine is sent for it."""

import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightseat.models.llamacpp.control import Control
from rightseat.models.llamacpp.formats import Ask, Format, Plan
from rightseat.models.llamacpp.formats.thinking import Thinking
from rightseat.models.llamacpp.proof import Question, judge
from rightseat.models.llamacpp.template import Template
from rightseat.types.messages import Call, Message, said
from rightseat.types.model import Prompt, ToolChoice, ToolSpec

ADD = ToolSpec(
    "add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
)
ASKED = said("user", "2 and 3?")
CALLED = Message(
    "assistant", calls=(Call("call_t_0", "add", '{"a": 2}'), Call("call_t_1", "add", '{"a": 3}'))
)
TOLD = (
    said("tool", "4", call_id="call_t_0", name="add"),
    said("tool", "5", call_id="call_t_1", name="add"),
)
TALK = (said("system", "Be brief."), ASKED, CALLED, *TOLD)


def golden(name: str) -> str:
    """A template of our own in a published one's shape, or a prompt that it must give."""
    return Path(__file__).with_name("golden").joinpath(name).read_text("utf-8")


def clock() -> datetime.datetime:
    return datetime.datetime(2026, 2, 3)


def made(source: str) -> Template:
    """Judged as `load` does it, but not in a child process: these sources are the tests' own."""
    abilities = judge(Question(source, "<s>", "</s>")).abilities
    assert abilities is not None
    return Template(source, abilities, bos="<s>", eos="</s>", clock=clock)


def planned(
    format: Format,
    template: Template,
    *messages: Message,
    mode: Any = "auto",
    tools: tuple[ToolSpec, ...] = (ADD,),
    **more: Any,
) -> tuple[Plan, str]:
    """The plan, and the prompt as text."""
    prompt = Prompt(messages=messages or TALK, tools=tools, tool_choice=ToolChoice(mode), **more)
    ask = Ask(
        prompt=prompt,
        abilities=template.abilities,
        thinking=Thinking.of(template.source, template.abilities.ending),
        clock=clock,
    )
    plan = format.plan(ask)
    rendered = template.render(plan.messages, control=Control(()), tools=plan.tools, **plan.names)
    return plan, rendered + plan.ending


def calls_of(plan: Plan, text: str) -> list[tuple[str, str]]:
    from tests.contract.models.cases import heard

    reader = plan.reader()
    return list(heard([*reader.feed(text), *reader.close()]).calls)


WITH_TEXT = replace(CALLED, parts=said("assistant", "Well.").parts)
