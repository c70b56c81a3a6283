"""Formats in the real engine: its grammar parser takes every grammar, and a small model calls by them."""

import importlib.util
import json

import pytest

from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.model import LlamaCppModel, PromptOptions, describe_from_file
from rightseat.models.llamacpp.supervision import ManagedServer
from rightseat.models.llamacpp.template import TemplateChoice
from rightseat.types.chunks import FinishChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice
from rightseat.types.schema import get_validator
from rightseat.types.streams import closing
from tests.contract.formats.cases import CASES, FIND_TOOL, INVALID_CALLS, OUTPUT_SCHEMA, TOOLS, FormatCase
from tests.contract.formats.checking import make_context, supports_case
from tests.contract.formats.members import MEMBERS
from tests.contract.models.cases import collect_answer
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.grammar.test_engine import match_in_engine

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]
TESTED_FORMATS = ("hermes", "mistral", "mistral-args", "command-r7b", "deepseek", "deepseek-v3.1")


@pytest.mark.demand("llamacpp.escaping_fuzzed_whatever_schema")
@pytest.mark.long
def test_the_engine_agrees_on_every_grammar() -> None:
    texts, grammars, expected = [], [], []
    for member in MEMBERS.values():
        written = [member.write(case) for case in CASES if supports_case(member, case)]
        written += [member.write(FormatCase("", calls=(call,))) for call in INVALID_CALLS]
        asks = (
            make_context(thinking=member.thinking),
            make_context("required"),
            make_context("named", name="ring"),
            make_context("none"),
            make_context(output=OUTPUT_SCHEMA, parallel=False),
        )
        for grammar in filter(None, (member.format.make_plan(ask).grammar for ask in asks)):
            grammars.append(grammar)
            texts.append(written)
            read = Grammar.parse(grammar)
            expected.append([read.accepts(text) for text in written])
    assert match_in_engine(list(zip(grammars, texts, strict=True))) == expected


class SharedManagedServer(ManagedServer):
    """One process for several models."""

    async def start(self) -> None:
        if not self.ready:
            await super().start()


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_small_model_calls_in_every_format() -> None:
    engine = SharedManagedServer(LaunchOptions(weights.require_weights()))
    prompt = Prompt(
        messages=(text_message("user", "What does the German word Haus mean in French?"),),
        tools=TOOLS,
        tool_choice=ToolChoice("named", FIND_TOOL.name),
        settings=SamplingSettings(temperature=0, max_tokens=120, parallel_calls=False),
    )
    try:
        for name in TESTED_FORMATS:
            model = LlamaCppModel(
                "small",
                engine,
                describe_from_file(weights.require_weights(), TemplateChoice()),
                options=PromptOptions(tool_format=name),
            )
            async with closing(model.stream(prompt)) as stream:
                fragments = [fragment async for fragment in stream]
            found = collect_answer(fragments)
            assert fragments[-1] == FinishChunk("calls"), name
            [(called, arguments)] = found.calls
            assert (called, found.text) == (FIND_TOOL.name, ""), name
            assert get_validator(FIND_TOOL.parameters).find_problem(json.loads(arguments)) is None
    finally:
        await engine.close()
