"""Llama 3.1 in both dialects: prompts, and its builtin tools. The rest is in tests/contract/formats."""

import importlib.util
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rightseat.models.llamacpp import completion
from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.completion import CompletionReader
from rightseat.models.llamacpp.formats import PromptPlan, ToolCallFormat, detect_format
from rightseat.models.llamacpp.formats.functionary import FunctionaryV31Format
from rightseat.models.llamacpp.formats.llama import Llama31Format, LlamaFunctionsFormat
from rightseat.models.llamacpp.template import load_chatml
from rightseat.types.chunks import FinishChunk, ToolCallArgs
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import SamplingSettings, ToolSpec
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.unit.models.llamacpp.formats.prompts import (
    ADD,
    CONVERSATION,
    QUESTION,
    make_template,
    parse_calls,
    plan_prompt,
    read_golden,
)
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.grammar.test_engine import match_in_engine

NATIVE, PROMPT = read_golden("llama-3.1.jinja"), read_golden("llama-3.1.txt")
FUNCTIONARY, FUNCTIONARY_PROMPT = read_golden("functionary-v3.1.jinja"), read_golden("functionary-v3.1.txt")
PROMPT_WITH_TOOLS = read_golden("llama-3.1-functions.txt")
# As the seed has them: "query" is no type, and the property has another name than the required one.
ODD = {"type": "object", "properties": {"code": {"type": "query"}}, "required": ["query"]}
IPYTHON = ToolSpec(
    "ipython", "Runs code.", {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
)
BRAVE, WOLFRAM = ToolSpec("brave_search", "Searches.", ODD), ToolSpec("wolfram_alpha", "Asks.", ODD)
BUILTIN = (IPYTHON, BRAVE, WOLFRAM)
CODE = 'for word in "a\\n", "é🎉":\n\tprint(f"{word!r}")  # </function> {"name": "add"}\n'
TAG = "<|python_tag|>"

over_dialects = pytest.mark.parametrize(
    ("format", "source"),
    [(Llama31Format(), NATIVE), (LlamaFunctionsFormat(), load_chatml())],
    ids=["json", "functions"],
)


def plan_all_tools(format: ToolCallFormat, source: str, mode: str = "auto") -> PromptPlan:
    return plan_prompt(format, make_template(source), QUESTION, mode=mode, tools=(ADD, *BUILTIN))[0]


def parse_parts(plan: PromptPlan, parts: list[str]) -> CollectedAnswer:
    reader = plan.make_reader()
    fragments = [fragment for part in parts for fragment in reader.feed(part)]
    return collect_answer([*fragments, *reader.close()])


@pytest.mark.demand("llamacpp.llama_3_1_both", "llamacpp.golden_prompts_per_format")
def test_the_prompt() -> None:
    template = make_template(NATIVE)
    found = detect_format(NATIVE, template.capabilities)
    assert found.name == "llama-3.1"
    plan, prompt = plan_prompt(found, template)
    # Two calls in one message are more than the template takes.
    assert prompt == PROMPT
    assert plan.stop_words == ("<|eom_id|>",)


@pytest.mark.demand("llamacpp.functionary_v2_v3_v3")
def test_the_prompt_of_functionary() -> None:
    template = make_template(FUNCTIONARY)
    found = detect_format(FUNCTIONARY, template.capabilities)
    assert found.name == "functionary-v3.1"
    plan, prompt = plan_prompt(found, template, mode="required")
    assert prompt == FUNCTIONARY_PROMPT
    shown = prompt[prompt.index("<function=add>") : prompt.index("<|eom_id|>")]
    assert Grammar.parse(plan.grammar).accepts(shown)
    assert parse_calls(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


@pytest.mark.demand("llamacpp.llama_3_1_both")
def test_the_seeds_words_with_builtin_tools_and_todays_date() -> None:
    plan, prompt = plan_prompt(
        LlamaFunctionsFormat(), make_template(load_chatml()), tools=(IPYTHON, BRAVE, ADD, WOLFRAM)
    )
    assert prompt == PROMPT_WITH_TOOLS
    assert plan.tools == ()
    assert plan.stop_words == ("<|eom_id|>",)


def test_the_seeds_words_where_there_is_nothing_to_say() -> None:
    only, _ = plan_prompt(LlamaFunctionsFormat(), make_template(load_chatml()), QUESTION, tools=(ADD,))
    assert only.messages[0].text.startswith("Cutting Knowledge Date: December 2023\nToday's Date: 2026-02-03")
    builtin, _ = plan_prompt(LlamaFunctionsFormat(), make_template(load_chatml()), QUESTION, tools=(BRAVE,))
    assert builtin.messages[0].text.startswith("Tools: brave_search\n\nCutting")
    assert builtin.messages[0].text.endswith("user question.")


def test_what_the_template_shows_is_what_may_be_written() -> None:
    plan, _ = plan_prompt(Llama31Format(), make_template(NATIVE), mode="required")
    shown = PROMPT[PROMPT.index('{"name": "add", "par') : PROMPT.index("<|eot_id|><|start_header_id|>ipython")]
    assert Grammar.parse(plan.grammar).accepts(shown)
    assert parse_calls(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


def test_results_have_their_role_where_the_model_knows_it() -> None:
    plan, prompt = plan_prompt(LlamaFunctionsFormat(), make_template(NATIVE))
    assert "ipython<|end_header_id|>\n\n4<|eot_id|>" in prompt
    assert plan.messages[-1].role == "tool"


def test_an_answer_that_begins_with_a_brace_is_a_call() -> None:
    grammar = Grammar.parse(plan_prompt(Llama31Format(), make_template(NATIVE))[0].grammar)
    assert grammar.accepts('{"name": "add", "parameters": {"a": 1}}')
    for text in ("{", '{"a": 1}', ' {"name": "add"', '\n{"name"', '{"name": "sub", "parameters": {}}'):
        assert not grammar.accepts(text)
    for text in ("", "Use {}.", 'It is {"name": "add"}'):
        assert grammar.accepts(text)


def test_an_output_schema_that_looks_like_a_call() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    plan, _ = plan_prompt(Llama31Format(), make_template(NATIVE), QUESTION, output_schema=schema)
    for text in ('{"name": "add"}', '{"name": "add me"}', '{"name": "Bob"}'):
        assert Grammar.parse(plan.grammar).accepts(text)
        assert parse_parts(plan, list(text)) == CollectedAnswer(text=text)


# ---- builtin tools


def test_builtin_tools_are_told_by_name() -> None:
    plan, prompt = plan_prompt(Llama31Format(), make_template(NATIVE), tools=(ADD, *BUILTIN))
    assert plan.template_variables == {"builtin_tools": ["code_interpreter", "brave_search", "wolfram_alpha"]}
    assert "Tools: brave_search, wolfram_alpha\n" in prompt
    assert [tool["function"]["name"] for tool in plan.tools] == ["add"]


def test_a_template_without_builtin_tools_is_told_of_functions() -> None:
    source = NATIVE.replace("builtin_tools", "nothing")
    plan, _ = plan_prompt(Llama31Format(), make_template(source), mode="required", tools=(ADD, *BUILTIN))
    assert plan.template_variables == {}
    assert plan.tools[2]["function"]["parameters"]["properties"] == {"query": {"type": "string"}}
    text = '{"name": "brave_search", "parameters": {"query": "x"}}'
    assert Grammar.parse(plan.grammar).accepts(text)
    assert parse_calls(plan, text) == [("brave_search", '{"query": "x"}')]
    assert not Grammar.parse(plan.grammar).accepts(f"{TAG}1")


@pytest.mark.demand("llamacpp.llama_3_1_both")
@over_dialects
@given(places=st.lists(st.integers(0, 200), max_size=10))
def test_what_follows_the_tag_is_code(format: ToolCallFormat, source: str, places: list[int]) -> None:
    plan = plan_all_tools(format, source, "required")
    text = TAG + CODE
    ends = sorted({place % len(text) for place in places} | {len(text)})
    parts = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    found = parse_parts(plan, parts)
    assert [name for name, _ in found.calls] == ["ipython"]
    assert json.loads(found.calls[0][1]) == {"code": CODE}
    assert "ipython" in plan.enforced_tools


@pytest.mark.demand("llamacpp.text_reasoning_argument_deltas")
@over_dialects
def test_code_that_is_cut_is_no_call_and_stop_words_do_not_cut_it(format: ToolCallFormat, source: str) -> None:
    plan = plan_all_tools(format, source)
    settings = SamplingSettings(stop=("print",))
    assert "print" not in completion.build_request_body(plan, "", settings, default_max_tokens=9)["stop"]
    for stop_type, expected in (("eos", FinishChunk("calls")), ("limit", FinishChunk("length"))):
        answer = CompletionReader(plan, settings)
        pieces = (CompletionChunk(content=TAG + CODE), CompletionChunk(stop=True, stop_type=stop_type))
        *found, _used, finish = [fragment for piece in pieces for fragment in answer.read_chunk(piece)]
        assert finish == expected
        # Half a program must not look like a whole one to a client that reads only the arguments.
        written = "".join(fragment.json for fragment in found if isinstance(fragment, ToolCallArgs))
        assert written.endswith('"}') == (stop_type == "eos")


@over_dialects
def test_text_before_the_tag(format: ToolCallFormat, source: str) -> None:
    plan = plan_all_tools(format, source)
    text = f"I compute.\n{TAG}1 + 1"
    assert Grammar.parse(plan.grammar).accepts(text)
    assert parse_parts(plan, list(text)) == CollectedAnswer(
        text="I compute.", calls=(("ipython", '{"code": "1 + 1"}'),)
    )


@pytest.mark.demand("llamacpp.llama_3_1_both")
@over_dialects
@pytest.mark.parametrize("tool", ["brave_search", "wolfram_alpha"])
def test_a_search_is_a_call_with_a_query(format: ToolCallFormat, source: str, tool: str) -> None:
    for tools in ((ADD, *BUILTIN), (BRAVE, WOLFRAM)):
        plan, _ = plan_prompt(format, make_template(source), QUESTION, mode="required", tools=tools)
        query = 'é 🎉 "quoted" \\ back'
        text = f'{TAG}{tool}.call(query="é 🎉 \\"quoted\\" \\\\ back")'
        assert Grammar.parse(plan.grammar).accepts(text)
        found = parse_parts(plan, list(text))
        assert [(name, json.loads(arguments)) for name, arguments in found.calls] == [(tool, {"query": query})]
        for end in range(len(TAG) + len(tool) + len('.call(query="'), len(text)):
            reader = plan.make_reader()
            assert collect_answer([*reader.feed(text[:end]), *reader.close()]).calls[0][0] == tool
            assert reader.inside_call


@over_dialects
def test_what_may_stand_behind_the_tag(format: ToolCallFormat, source: str) -> None:
    required = Grammar.parse(plan_all_tools(format, source, "required").grammar)
    for text in ("", "x", "brave_search", "brave_search.call(x)", "brave_search.call(query='x')"):
        assert required.accepts(TAG + text)
    for text in ("", "x", 'x" + "y")', 'x"'):
        assert not required.accepts(f'{TAG}brave_search.call(query="{text}')
    searches, _ = plan_prompt(format, make_template(source), QUESTION, tools=(BRAVE,))
    assert not Grammar.parse(searches.grammar).accepts(f"{TAG}print(1)")
    assert not Grammar.parse(searches.grammar).accepts(f'{TAG}wolfram_alpha.call(query="x")')
    without, _ = plan_prompt(format, make_template(source), QUESTION)
    assert not Grammar.parse(without.grammar).accepts(f"{TAG}print(1)")
    none, _ = plan_prompt(format, make_template(source), QUESTION, mode="none", tools=(ADD, *BUILTIN))
    assert not Grammar.parse(none.grammar).accepts(f"{TAG}print(1)")


@over_dialects
def test_whatever_stands_behind_the_tag_is_a_call(format: ToolCallFormat, source: str) -> None:
    plan = plan_all_tools(format, source, "required")
    grammar, rng = Grammar.parse(plan.grammar), random.Random(5)
    seen = set()
    for _ in range(60):
        for name, arguments in parse_parts(plan, [grammar.generate(rng, size=60)]).calls:
            assert isinstance(json.loads(arguments), dict)
            seen.add(name)
    assert seen == {"add", "ipython", "brave_search", "wolfram_alpha"}


@pytest.mark.long
@pytest.mark.model
@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_the_engine_agrees_on_what_stands_behind_the_tag() -> None:
    search = f"{TAG}brave_search.call("
    texts = [TAG, TAG + CODE, search, f'{search}query="', f'{search}query="é \\"x\\"")', f'{search}query="x") + 1']
    texts += ["{", '{"name": "add", "parameters": {"a": 1}}', "Good day.", f"Well. {TAG}x", "<function=add>"]
    asked, expected = [], []
    for format, source in ((Llama31Format(), NATIVE), (LlamaFunctionsFormat(), load_chatml())):
        for mode in ("auto", "required", "none"):
            grammar = plan_all_tools(format, source, mode).grammar
            asked.append((grammar, texts))
            expected.append([Grammar.parse(grammar).accepts(text) for text in texts])
    assert match_in_engine(asked) == expected
    assert sorted(set(expected[0]), reverse=True) == [True, False]


@pytest.mark.parametrize("name", ["ipython", "python", "code_interpreter"])
@pytest.mark.parametrize("format", [LlamaFunctionsFormat(), FunctionaryV31Format()], ids=lambda format: format.name)
def test_the_interpreter_by_any_of_its_names(format: ToolCallFormat, name: str) -> None:
    tools = (replace(IPYTHON, name=name), ADD)
    talk = (*CONVERSATION, Message("assistant", calls=(ToolCall("c9", name, '{"code": "1 +\\n1"}'),)))
    plan, prompt = plan_prompt(format, make_template(FUNCTIONARY), *talk, tools=tools)
    assert "Environment: ipython" in prompt
    assert f"{TAG}1 +\n1<|" in prompt
    assert parse_calls(plan, f"{TAG}1 +\n1") == [(name, '{"code": "1 +\\n1"}')]


def test_earlier_calls_to_builtin_tools_are_shown_as_they_were_written() -> None:
    calls = (
        ToolCall("c1", "brave_search", '{"query": "say \\"a\\\\b\\""}'),
        ToolCall("c2", "ipython", '{"code": "x"}'),
    )
    for call, shown in zip(calls, (r'brave_search.call(query="say \"a\\b\"")', "x"), strict=True):
        talk = (QUESTION, Message("assistant", calls=(call,)), text_message("tool", "7", call_id=call.id))
        plan, prompt = plan_prompt(Llama31Format(), make_template(NATIVE), *talk, tools=(ADD, *BUILTIN))
        assert f"assistant<|end_header_id|>\n\n{TAG}{shown}<|eot_id|>" in prompt
        ((name, arguments),) = parse_calls(plan, TAG + shown)
        assert (name, json.loads(arguments)) == (call.name, json.loads(call.arguments))


def test_arguments_that_are_not_what_was_meant_are_shown_as_they_are() -> None:
    for arguments in ("{", "[]", '{"query": 7}'):
        talk = (QUESTION, Message("assistant", calls=(ToolCall("c1", "ipython", arguments),)))
        _, prompt = plan_prompt(Llama31Format(), make_template(NATIVE), *talk, tools=(ADD, *BUILTIN))
        assert f"{TAG}{arguments}<|eot_id|>" in prompt


def test_a_tool_that_only_has_the_name_is_a_function() -> None:
    python = ToolSpec(
        "python", "", {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}
    )
    plan, _ = plan_prompt(
        LlamaFunctionsFormat(), make_template(load_chatml()), QUESTION, mode="required", tools=(python,)
    )
    assert Grammar.parse(plan.grammar).accepts('<function=python>{"file": "x"}</function>')
    assert not Grammar.parse(plan.grammar).accepts(f"{TAG}x")
    assert "ipython" not in plan.messages[0].text


def test_arguments_that_any_text_might_break_are_held() -> None:
    short = {"type": "object", "properties": {"code": {"type": "string", "maxLength": 9}}, "required": ["code"]}
    plan, _ = plan_prompt(
        LlamaFunctionsFormat(), make_template(load_chatml()), tools=(replace(IPYTHON, parameters=short), ADD)
    )
    assert plan.enforced_tools == {"add"}
