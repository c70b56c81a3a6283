"""What the suite over all formats asks of each."""

import functools
from collections.abc import Iterable
from typing import Any

import pytest

from rightseat.models.llamacpp.abilities import Abilities
from rightseat.models.llamacpp.control import Control
from rightseat.models.llamacpp.formats import Ask, Plan
from rightseat.models.llamacpp.formats.thinking import Thinking
from rightseat.types.messages import Message, said
from rightseat.types.model import Prompt, Settings, ToolChoice, ToolSpec
from tests.contract.formats.cases import CASES, TOOLS, Said
from tests.contract.formats.members import MEMBERS, Member
from tests.contract.models.cases import Heard, heard
from tests.unit.models.llamacpp.gbnf import Grammar

# What the best templates can, and what those can that know nothing of tools.
KNOWING = Abilities(system=True, tools=True, tool_calls=True, tool_role=True)
IGNORANT = Abilities(system=True)
USER = said("user", "What is a house?")

over_members = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)


def asked(
    mode: Any = "auto",
    tools: tuple[ToolSpec, ...] = TOOLS,
    output: dict[str, Any] | None = None,
    parallel: bool | None = None,
    name: str | None = None,
    thinking: Thinking | None = None,
    abilities: Abilities = KNOWING,
    messages: tuple[Message, ...] = (USER,),
    control: Control | None = None,
) -> Ask:
    prompt = Prompt(
        messages=messages,
        tools=tools,
        tool_choice=ToolChoice(mode, name),
        output_schema=output,
        settings=Settings(parallel_calls=parallel),
    )
    return Ask(
        prompt=prompt, abilities=abilities, thinking=thinking or Thinking(), control=control or Control(())
    )


def read(plan: Plan, pieces: Iterable[str]) -> Heard:
    reader = plan.reader()
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


def grammar(plan: Plan) -> Grammar:
    return parsed(plan.grammar)


def fitting(member: Member, *, calling: bool = False) -> list[Said]:
    """Not a test for each: the house looks for leaks after every test, and these are many."""
    return [case for case in CASES if fits(member, case) and (case.calls or not calling)]


def takes(plan: Plan, text: str) -> bool:
    return grammar(plan).accepts(text)
