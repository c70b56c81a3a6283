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
from tests.contract.formats.cases import CASES, TOOLS, FormatCase
from tests.contract.formats.members import MEMBERS, FormatMember
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.unit.models.llamacpp.gbnf import Grammar

# What the best templates can, and what those can that know nothing of tools.
TOOL_TEMPLATE = TemplateCapabilities(system=True, tools=True, tool_calls=True, tool_role=True)
PLAIN_TEMPLATE = TemplateCapabilities(system=True)
USER = text_message("user", "What is a house?")

over_members = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)


def make_context(
    mode: Any = "auto",
    tools: tuple[ToolSpec, ...] = TOOLS,
    output: dict[str, Any] | None = None,
    parallel: bool | None = None,
    name: str | None = None,
    thinking: ThinkingTags | None = None,
    capabilities: TemplateCapabilities = TOOL_TEMPLATE,
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
        capabilities=capabilities,
        thinking=thinking or ThinkingTags(),
        control_tokens=control or ControlTokens(()),
    )


def read_answer(plan: PromptPlan, pieces: Iterable[str]) -> CollectedAnswer:
    reader = plan.make_reader()
    fragments = [fragment for piece in pieces for fragment in reader.feed(piece)]
    return collect_answer([*fragments, *reader.close()])


def make_expected(case: FormatCase) -> CollectedAnswer:
    return CollectedAnswer(text=case.text, reasoning=case.reasoning, calls=case.calls)


def split_text(text: str, offsets: Iterable[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in offsets} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def supports_case(member: FormatMember, case: FormatCase) -> bool:
    return member.mixes_text_and_calls or not (case.text and case.calls)


@functools.lru_cache
def parse_grammar(text: str) -> Grammar:
    return Grammar.parse(text)


def get_grammar(plan: PromptPlan) -> Grammar:
    return parse_grammar(plan.grammar)


def list_cases(member: FormatMember, *, with_calls: bool = False) -> list[FormatCase]:
    """Not a test for each: the house looks for leaks after every test, and these are many."""
    return [case for case in CASES if supports_case(member, case) and (case.calls or not with_calls)]


def accepts_text(plan: PromptPlan, text: str) -> bool:
    return get_grammar(plan).accepts(text)
