"""What the suite over all formats asks of each."""

import functools
from collections.abc import Iterable
from typing import Any

import pytest

from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.formats import FormatContext, PromptPlan
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from tests.contract.formats.cases import CASES, TOOLS, Said
from tests.contract.formats.members import MEMBERS, Member
from tests.contract.models.cases import Heard, heard
from tests.unit.models.llamacpp.gbnf import Grammar

# What the best templates can, and what those can that know nothing of tools.
KNOWING = TemplateCapabilities(system=True, tools=True, tool_calls=True, tool_role=True)
IGNORANT = TemplateCapabilities(system=True)
USER = text_message("user", "What is a house?")

over_members = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)


def asked(
    mode: Any = "auto",
    tools: tuple[ToolSpec, ...] = TOOLS,
    output: dict[str, Any] | None = None,
    parallel: bool | None = None,
    name: str | None = None,
    thinking: ThinkingTags | None = None,
    abilities: TemplateCapabilities = KNOWING,
    messages: tuple[Message, ...] = (USER,),
    control: ControlTokens | None = None,
) -> FormatContext:
    prompt = Prompt(
        messages=messages,
        tools=tools,
        tool_choice=ToolChoice(mode, name),
        output_schema=output,
        settings=SamplingSettings(parallel_calls=parallel),
    )
    return FormatContext(
        prompt=prompt,
        capabilities=abilities,
        thinking=thinking or ThinkingTags(),
        control_tokens=control or ControlTokens(()),
    )


def read(plan: PromptPlan, pieces: Iterable[str]) -> Heard:
    reader = plan.make_reader()
    fragments = [fragment for piece in pieces for fragment in reader.feed(piece)]
    return heard([*fragments, *reader.close()])


def expected(case: Said) -> Heard:
    return Heard(text=case.text, reasoning=case.thought, calls=case.calls)


def cut(text: str, places: Iterable[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def fits(member: Member, case: Said) -> bool:
    return member.mixed or not (case.text and case.calls)


@functools.lru_cache
def parsed(text: str) -> Grammar:
    return Grammar.read(text)


def grammar(plan: PromptPlan) -> Grammar:
    return parsed(plan.grammar)


def fitting(member: Member, *, calling: bool = False) -> list[Said]:
    """Not a test for each: the house looks for leaks after every test, and these are many."""
    return [case for case in CASES if fits(member, case) and (case.calls or not calling)]


def takes(plan: PromptPlan, text: str) -> bool:
    return grammar(plan).accepts(text)
