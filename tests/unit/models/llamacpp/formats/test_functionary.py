"""Functionary v2, v3 and v3.2: prompts, recipients, Python. v3.1 is in test_llama31.py."""

import json

import pytest

from rightseat.errors import CallerError
from rightseat.models.llamacpp.formats import PromptPlan, ToolCallFormat, detect_format
from rightseat.models.llamacpp.formats.functionary import FunctionaryV2Format, FunctionaryV3Format, FunctionaryV32Format
from rightseat.models.llamacpp.template import load_chatml
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import ToolSpec
from tests.contract.models.cases import Heard, heard
from tests.unit.models.llamacpp.formats.prompting import ADD, ASKED, TALK, calls_of, golden, made, planned
from tests.unit.models.llamacpp.gbnf import Grammar

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CODE = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
over_formats = pytest.mark.parametrize(
    "format", [FunctionaryV2Format(), FunctionaryV3Format(), FunctionaryV32Format()], ids=lambda format: format.name
)


def native(format: ToolCallFormat) -> str:
    return golden(f"{format.name}.jinja")


def to(format: ToolCallFormat, recipient: str, told: str) -> str:
    middle = "\n<|content|>" if isinstance(format, FunctionaryV2Format) else "\n"
    return f"{recipient}{middle}{told}"


def between(format: ToolCallFormat) -> str:
    return "\n<|from|>assistant\n<|recipient|>" if isinstance(format, FunctionaryV2Format) else ">>>"


def read(plan: PromptPlan, text: str) -> Heard:
    reader = plan.make_reader()
    fragments = [fragment for part in text for fragment in reader.feed(part)]
    return heard([*fragments, *reader.close()])


@pytest.mark.demand("llamacpp.functionary_v2_v3_v3", "llamacpp.golden_prompts_per_format")
@over_formats
def test_the_prompt(format: ToolCallFormat) -> None:
    template = made(native(format))
    found = detect_format(template.source, template.capabilities)
    assert type(found) is type(format)
    assert planned(found, template)[1] == golden(f"{format.name}.txt")


@pytest.mark.demand("llamacpp.functionary_v2_v3_v3")
@over_formats
def test_what_the_template_shows_is_what_may_be_written(format: ToolCallFormat) -> None:
    plan, prompt = planned(format, made(native(format)), mode="required")
    begin = between(format).lstrip()
    first = prompt.index(f"{begin}add") + len(begin)
    shown = prompt[first : prompt.index('{"a": 3}') + len('{"a": 3}')]
    assert Grammar.read(plan.grammar).accepts(shown)
    assert calls_of(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


@over_formats
def test_a_prompt_ends_where_the_recipient_begins(format: ToolCallFormat) -> None:
    for source in (native(format), load_chatml()):
        begin = between(format).lstrip()
        _, prompt = planned(format, made(source), ASKED)
        assert prompt.endswith(begin)
        assert not prompt.removesuffix(begin).rstrip().endswith(begin)
        # Where nobody else may be told anything, it is everybody's.
        for mode, tools in (("none", (ADD,)), ("auto", ())):
            _, prompt = planned(format, made(source), ASKED, mode=mode, tools=tools)
            assert prompt.endswith(to(format, "all", ""))
            assert "type add" not in prompt


@over_formats
def test_text_is_told_to_all(format: ToolCallFormat) -> None:
    plan, _ = planned(format, made(native(format)), ASKED)
    grammar = Grammar.read(plan.grammar)
    text = to(format, "all", "It is >>> four\n>>>adds\n.")
    assert grammar.accepts(text)
    assert read(plan, text) == Heard(text="It is >>> four\n>>>adds\n.")
    both = text + between(format) + to(format, "add", '{"a": 4}')
    assert grammar.accepts(both)
    assert read(plan, both) == Heard(text="It is >>> four\n>>>adds\n.", calls=(("add", '{"a": 4}'),))
    for wrong in ("Hello.", to(format, "sub", "{}"), to(format, "all", "x") + between(format) + "all\nx"):
        assert not grammar.accepts(wrong)


@over_formats
def test_text_without_a_recipient_is_still_text(format: ToolCallFormat) -> None:
    plan, _ = planned(format, made(native(format)), ASKED)
    assert read(plan, "Good day.") == Heard(text="Good day.")


@over_formats
def test_with_tool_choice_none_other_recipients_are_not_heard(format: ToolCallFormat) -> None:
    plan, _ = planned(format, made(native(format)), ASKED, mode="none")
    assert read(plan, "Four." + between(format) + to(format, "add", '{"a": 4}')) == Heard(text="Four.")
    assert read(plan, "Good day. >>> x") == Heard(text="Good day. >>> x")


@over_formats
def test_an_output_schema_is_for_all(format: ToolCallFormat) -> None:
    plan, _ = planned(format, made(native(format)), ASKED, output_schema=SCHEMA)
    grammar = Grammar.read(plan.grammar)
    assert grammar.accepts(to(format, "all", '{"ok": true}'))
    assert read(plan, to(format, "all", '{"ok": true}')) == Heard(text='{"ok": true}')
    assert grammar.accepts(to(format, "add", '{"a": 1}'))
    assert not grammar.accepts(to(format, "all", "Yes."))
    assert not grammar.accepts('{"ok": true}')


@over_formats
def test_a_marker_that_is_cut_off_is_nobodys_text(format: ToolCallFormat) -> None:
    plan, _ = planned(format, made(native(format)), ASKED)
    call = to(format, "add", '{"a": 1}')
    for end in range(len(between(format))):
        assert read(plan, call + between(format)[:end]) == Heard(calls=(("add", '{"a": 1}'),))


@over_formats
def test_names_that_cannot_be_recipients(format: ToolCallFormat) -> None:
    for name in ("all", "a\nb", "a\n<|content|>b"):
        with pytest.raises(CallerError, match="name"):
            planned(format, made(native(format)), ASKED, tools=(ToolSpec(name, "", {"type": "object"}),))


def test_results_are_named_after_their_calls() -> None:
    talk = (*TALK[:3], text_message("tool", "4", call_id="call_t_0"), text_message("tool", "?", call_id="nobody's"))
    _, prompt = planned(FunctionaryV2Format(), made(native(FunctionaryV2Format())), *talk)
    assert "<|from|>add\n<|recipient|>all\n<|content|>4\n" in prompt
    assert "<|from|>tool\n<|recipient|>all\n<|content|>?\n" in prompt


@over_formats
def test_in_words_where_the_template_knows_none(format: ToolCallFormat) -> None:
    talk = (ASKED, Message("assistant", text_message("assistant", "Well.").parts, (ToolCall("c", "add", '{"a": 2}'),)))
    plan, prompt = planned(format, made(load_chatml()), *talk)
    assert "type add = (_: {\na: number,\n}) => any;" in prompt
    told = plan.messages[-1].text
    assert told.startswith(between(format).lstrip() + to(format, "all", "Well."))
    assert read(plan, told) == Heard(text="Well.", calls=(("add", '{"a": 2}'),))


# ---- v3.2's Python


@pytest.mark.parametrize("name", ["python", "ipython", "code_interpreter"])
def test_the_interpreter_is_told_code(name: str) -> None:
    template = made(native(FunctionaryV32Format()))
    code = 'print("é")\n>>> x\n'
    earlier = Message("assistant", calls=(ToolCall("c", name, json.dumps({"code": "1 +\n1"})),))
    tools = (ToolSpec(name, "", CODE), ADD)
    plan, prompt = planned(FunctionaryV32Format(), template, ASKED, earlier, mode="required", tools=tools)
    assert "// python runs code" in prompt
    assert ">>>python\n1 +\n1<|eot_id|>" in prompt
    assert Grammar.read(plan.grammar).accepts(f"python\n{code}")
    found = read(plan, f'python\n{code}>>>add\n{{"a": 1}}')
    assert [call for call, _ in found.calls] == [name, "add"]
    assert json.loads(found.calls[0][1]) == {"code": code.rstrip()}
    assert json.loads(read(plan, f"python\n{code}").calls[0][1]) == {"code": code.rstrip()}


def test_other_templates_know_no_interpreter() -> None:
    tools = (ToolSpec("python", "", CODE),)
    for format, source in (
        (FunctionaryV3Format(), native(FunctionaryV3Format())),
        (FunctionaryV32Format(), load_chatml()),
    ):
        plan, _ = planned(format, made(source), ASKED, mode="required", tools=tools)
        assert Grammar.read(plan.grammar).accepts('python\n{"code": "x"}')
        assert not Grammar.read(plan.grammar).accepts("python\nx")
