"""Formats in the real engine: its grammar parser takes every grammar, and a small model calls by them."""

import importlib.util
import json

import pytest

from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.model import LlamaCppChatModel, PromptOptions, TemplateChoice, describe_from_file
from rightseat.models.llamacpp.process import LaunchOptions
from rightseat.models.llamacpp.servers import ManagedServer
from rightseat.types.chunks import FinishChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice
from rightseat.types.schema import get_validator
from rightseat.types.streams import closing
from tests.contract.formats.asking import asked, fits
from tests.contract.formats.cases import CASES, FIND, OUTPUT, TOOLS, WRONG, Said
from tests.contract.formats.members import MEMBERS
from tests.contract.models.cases import heard
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.grammar.test_engine import judged

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]
HERE = ("hermes", "mistral", "mistral-args", "command-r7b", "deepseek", "deepseek-v3.1")


@pytest.mark.demand("llamacpp.escaping_fuzzed_whatever_schema")
@pytest.mark.long
def test_the_engine_agrees_on_every_grammar() -> None:
    texts, grammars, expected = [], [], []
    for member in MEMBERS.values():
        written = [member.write(case) for case in CASES if fits(member, case)]
        written += [member.write(Said("", calls=(call,))) for call in WRONG]
        asks = (
            asked(thinking=member.thinking),
            asked("required"),
            asked("named", name="ring"),
            asked("none"),
            asked(output=OUTPUT, parallel=False),
        )
        for grammar in filter(None, (member.format.make_plan(ask).grammar for ask in asks)):
            grammars.append(grammar)
            texts.append(written)
            read = Grammar.read(grammar)
            expected.append([read.accepts(text) for text in written])
    assert judged(list(zip(grammars, texts, strict=True))) == expected


class Shared(ManagedServer):
    """One process for several models."""

    async def start(self) -> None:
        if not self.ready:
            await super().start()


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_small_model_calls_in_every_format() -> None:
    engine = Shared(LaunchOptions(weights.require_weights()))
    prompt = Prompt(
        messages=(text_message("user", "What does the German word Haus mean in French?"),),
        tools=TOOLS,
        tool_choice=ToolChoice("named", FIND.name),
        settings=SamplingSettings(temperature=0, max_tokens=120, parallel_calls=False),
    )
    try:
        for name in HERE:
            model = LlamaCppChatModel(
                "small",
                engine,
                describe_from_file(weights.require_weights(), TemplateChoice()),
                options=PromptOptions(tool_format=name),
            )
            async with closing(model.stream(prompt)) as stream:
                fragments = [fragment async for fragment in stream]
            found = heard(fragments)
            assert fragments[-1] == FinishChunk("calls"), name
            [(called, arguments)] = found.calls
            assert (called, found.text) == (FIND.name, ""), name
            assert get_validator(FIND.parameters).find_problem(json.loads(arguments)) is None
    finally:
        await engine.close()
