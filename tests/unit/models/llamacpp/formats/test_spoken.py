"""Formats in a whole model: which is chosen, what is sent, and why an answer ended."""

import functools
from typing import Any

import pytest

from rightseat.errors import CallerError, ConfigError
from rightseat.models.llamacpp import template
from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.formats import FORMATS, GENERIC, get_format
from rightseat.models.llamacpp.model import LlamaCppModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.template import TemplateSources, load_chatml
from rightseat.types.chunks import FinishChunk, ModelChunk, ToolCallArgs
from rightseat.types.messages import Message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.streams import closing
from tests.contract.formats.cases import FIND_CALL, RING_CALL, TOOLS, FormatCase
from tests.contract.formats.members import MEMBERS
from tests.contract.models.cases import collect_answer
from tests.unit.models.llamacpp.formats.prompts import ADD, QUESTION, TOOL_CALLS, TOOL_RESULTS, read_golden
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.in_process_server import InProcessServer

# Templates are judged in child processes: here each once.
pytestmark = pytest.mark.io
probe_cached = functools.cache(template.probe_in_child)


@pytest.fixture(autouse=True)
def cached_template_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "probe_in_child", probe_cached)


def make_model(
    answer: str, stop: str, sources: TemplateSources, format: str | None = None
) -> tuple[LlamaCppModel, InProcessServer]:
    """The answer comes in pieces of three characters."""
    parts = [CompletionChunk(content=answer[at : at + 3]) for at in range(0, len(answer), 3)]
    server = InProcessServer(*parts, CompletionChunk(stop=True, stop_type=stop))

    async def describe_model(_: object) -> ModelDescription:
        return ModelDescription(sources)

    return LlamaCppModel("test", server, describe_model, options=PromptOptions(tool_format=format)), server


async def collect_chunks(
    model: LlamaCppModel, *messages: Message, tools: Any = TOOLS, mode: Any = "auto", **settings: Any
) -> list[ModelChunk]:
    prompt = Prompt(
        messages=messages or (QUESTION,),
        tools=tools,
        tool_choice=ToolChoice(mode),
        settings=SamplingSettings(**settings),
    )
    async with closing(model.stream(prompt)) as stream:
        return [fragment async for fragment in stream]


@pytest.mark.parametrize("name", [kind.name for kind in (*FORMATS, GENERIC)])
async def test_why_an_answer_ended(name: str) -> None:
    member = MEMBERS[name]
    whole = member.write(FormatCase("", calls=(FIND_CALL, RING_CALL)))
    for text, stop, reason, calls in (
        (whole, "eos", FinishChunk("calls"), (FIND_CALL, RING_CALL)),
        (whole, "limit", FinishChunk("length"), None),
        (whole[: whole.index("Haus")], "limit", FinishChunk("length"), None),
        (whole[: whole.index("Haus")], "eos", FinishChunk("length"), None),
        (member.write(FormatCase("", text="Good day.")), "eos", FinishChunk("stop"), ()),
        (member.write(FormatCase("", text="Good day.")), "limit", FinishChunk("length"), ()),
    ):
        model, _ = make_model(text, stop, TemplateSources(load_chatml()), name)
        fragments = await collect_chunks(model)
        assert fragments[-1] == reason
        assert calls is None or collect_answer(fragments).calls == calls


@pytest.mark.demand("llamacpp.text_reasoning_argument_deltas")
async def test_arguments_come_while_they_are_written() -> None:
    for member in MEMBERS.values():
        model, _ = make_model(
            member.write(FormatCase("", calls=(FIND_CALL,))), "eos", TemplateSources(load_chatml()), member.format.name
        )
        pieces = [fragment for fragment in await collect_chunks(model) if isinstance(fragment, ToolCallArgs)]
        assert len(pieces) > 5


async def test_a_thought_that_the_prompt_opens_only_for_a_user() -> None:
    source = read_golden("deepseek.jinja")
    for history, thinks in (((QUESTION,), True), ((QUESTION, TOOL_CALLS, *TOOL_RESULTS), False)):
        model, server = make_model("Hm.</think>Well.", "eos", TemplateSources(source))
        found = collect_answer(await collect_chunks(model, *history, tools=(ADD,)))
        assert (found.reasoning, found.text) == (("Hm.", "Well.") if thinks else ("", "Hm.</think>Well."))
        grammar = Grammar.parse(server.requests[0]["grammar"])
        assert grammar.accepts("Well.") != thinks
        assert server.requests[0]["prompt"].rstrip().endswith("<think>") == thinks


ODD = ToolSpec("odd", "Odd.", {"type": "object", "properties": {"a": {"type": ["string", "null"]}}})
PICKY_TEMPLATE = """{% macro kind(t) %}{% if t is string %}{{ t }}{% else %}{{ raise_exception('!') }}{% endif %}
{% endmacro %}{% for t in tools %}{{ t.function.name }}
{% for p in t.function.parameters.properties.values() %}{{ kind(p.type) }}{% endfor %}{% endfor %}"""


async def test_a_template_for_tools_that_fails_on_some() -> None:
    """The published ones of Hermes do so on a type that is a list."""
    source = PICKY_TEMPLATE + read_golden("hermes.jinja")
    model, server = make_model("Good day.", "eos", TemplateSources(load_chatml(), source))
    await collect_chunks(model, tools=(ADD,))
    await collect_chunks(model, tools=(ODD,))
    assert server.requests[0]["prompt"].startswith("add")
    assert server.requests[1]["prompt"].startswith("<|im_start|>system\nYou are a function calling AI model.")
    assert all("<tool_call>" in asked["preserved_tokens"] for asked in server.requests)
    alone, _ = make_model("Good day.", "eos", TemplateSources(source))
    with pytest.raises(CallerError, match="template"):
        await collect_chunks(alone, tools=(ODD,))


async def test_the_callers_stop_words_are_for_text() -> None:
    for member in MEMBERS.values():
        for case, text, calls in (
            (FormatCase("", calls=(FIND_CALL,)), "", (FIND_CALL,)),
            (FormatCase("", text="My Haus is here."), "My ", ()),
        ):
            model, server = make_model(member.write(case), "eos", TemplateSources(load_chatml()), member.format.name)
            found = collect_answer(await collect_chunks(model, stop=("Haus", "\n", "}")))
            assert (found.text, found.calls) == (text, calls)
            assert found.finish == ("calls" if calls else "stop")
            assert "Haus" not in server.requests[0].get("stop", ())


async def test_no_engine_trigger_and_no_call_with_none() -> None:
    for member in MEMBERS.values():
        model, server = make_model(
            member.write(FormatCase("", calls=(FIND_CALL,))), "eos", TemplateSources(load_chatml()), member.format.name
        )
        fragments = await collect_chunks(model, mode="none")
        assert collect_answer(fragments).calls == ()
        assert fragments[-1] == FinishChunk("stop")
        assert "grammar_triggers" not in server.requests[0]


@pytest.mark.demand("llamacpp.chosen_probing_template_overridable")
def test_formats_by_name() -> None:
    for kind in (*FORMATS, GENERIC):
        assert type(get_format(kind.name)) is kind
    with pytest.raises(ConfigError, match="Did you mean 'hermes'"):
        get_format("hermess")
