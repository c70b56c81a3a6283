"""Functionary v2, v3 and v3.2: prompts, recipients, Python. v3.1 is in test_llama31.py."""

import json

import pytest

from rightseat.errors import CallerError
from rightseat.models.llamacpp.formats import PromptPlan, ToolCallFormat, detect_format
from rightseat.models.llamacpp.formats.functionary import FunctionaryV2Format, FunctionaryV3Format, FunctionaryV32Format
from rightseat.models.llamacpp.template import load_chatml
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import ToolSpec
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

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CODE = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
over_formats = pytest.mark.parametrize(
    "format", [FunctionaryV2Format(), FunctionaryV3Format(), FunctionaryV32Format()], ids=lambda format: format.name
)


def read_native_template(format: ToolCallFormat) -> str:
    return read_golden(f"{format.name}.jinja")


def format_recipient(format: ToolCallFormat, recipient: str, content: str) -> str:
    middle = "\n<|content|>" if isinstance(format, FunctionaryV2Format) else "\n"
    return f"{recipient}{middle}{content}"


def get_separator(format: ToolCallFormat) -> str:
    return "\n<|from|>assistant\n<|recipient|>" if isinstance(format, FunctionaryV2Format) else ">>>"


def parse_text(plan: PromptPlan, text: str) -> CollectedAnswer:
    reader = plan.make_reader()
    fragments = [fragment for part in text for fragment in reader.feed(part)]
    return collect_answer([*fragments, *reader.close()])


@pytest.mark.demand("llamacpp.functionary_v2_v3_v3", "llamacpp.golden_prompts_per_format")
@over_formats
def test_the_prompt(format: ToolCallFormat) -> None:
    template = make_template(read_native_template(format))
    found = detect_format(template.source, template.capabilities)
    assert type(found) is type(format)
    assert plan_prompt(found, template)[1] == read_golden(f"{format.name}.txt")


@pytest.mark.demand("llamacpp.functionary_v2_v3_v3")
@over_formats
def test_what_the_template_shows_is_what_may_be_written(format: ToolCallFormat) -> None:
    plan, prompt = plan_prompt(format, make_template(read_native_template(format)), mode="required")
    begin = get_separator(format).lstrip()
    first = prompt.index(f"{begin}add") + len(begin)
    shown = prompt[first : prompt.index('{"a": 3}') + len('{"a": 3}')]
    assert Grammar.parse(plan.grammar).accepts(shown)
    assert parse_calls(plan, shown) == [("add", '{"a": 2}'), ("add", '{"a": 3}')]


@over_formats
def test_a_prompt_ends_where_the_recipient_begins(format: ToolCallFormat) -> None:
    for source in (read_native_template(format), load_chatml()):
        begin = get_separator(format).lstrip()
        _, prompt = plan_prompt(format, make_template(source), QUESTION)
        assert prompt.endswith(begin)
        assert not prompt.removesuffix(begin).rstrip().endswith(begin)
        # Where nobody else may be told anything, it is everybody's.
        for mode, tools in (("none", (ADD,)), ("auto", ())):
            _, prompt = plan_prompt(format, make_template(source), QUESTION, mode=mode, tools=tools)
            assert prompt.endswith(format_recipient(format, "all", ""))
            assert "type add" not in prompt


@over_formats
def test_text_is_told_to_all(format: ToolCallFormat) -> None:
    plan, _ = plan_prompt(format, make_template(read_native_template(format)), QUESTION)
    grammar = Grammar.parse(plan.grammar)
    text = format_recipient(format, "all", "It is >>> four\n>>>adds\n.")
    assert grammar.accepts(text)
    assert parse_text(plan, text) == CollectedAnswer(text="It is >>> four\n>>>adds\n.")
    both = text + get_separator(format) + format_recipient(format, "add", '{"a": 4}')
    assert grammar.accepts(both)
    assert parse_text(plan, both) == CollectedAnswer(text="It is >>> four\n>>>adds\n.", calls=(("add", '{"a": 4}'),))
    for wrong in (
        "Hello.",
        format_recipient(format, "sub", "{}"),
        format_recipient(format, "all", "x") + get_separator(format) + "all\nx",
    ):
        assert not grammar.accepts(wrong)


@over_formats
def test_text_without_a_recipient_is_still_text(format: ToolCallFormat) -> None:
    plan, _ = plan_prompt(format, make_template(read_native_template(format)), QUESTION)
    assert parse_text(plan, "Good day.") == CollectedAnswer(text="Good day.")


@over_formats
def test_with_tool_choice_none_other_recipients_are_not_heard(format: ToolCallFormat) -> None:
    plan, _ = plan_prompt(format, make_template(read_native_template(format)), QUESTION, mode="none")
    assert parse_text(
        plan, "Four." + get_separator(format) + format_recipient(format, "add", '{"a": 4}')
    ) == CollectedAnswer(text="Four.")
    assert parse_text(plan, "Good day. >>> x") == CollectedAnswer(text="Good day. >>> x")


@over_formats
def test_an_output_schema_is_for_all(format: ToolCallFormat) -> None:
    plan, _ = plan_prompt(format, make_template(read_native_template(format)), QUESTION, output_schema=SCHEMA)
    grammar = Grammar.parse(plan.grammar)
    assert grammar.accepts(format_recipient(format, "all", '{"ok": true}'))
    assert parse_text(plan, format_recipient(format, "all", '{"ok": true}')) == CollectedAnswer(text='{"ok": true}')
    assert grammar.accepts(format_recipient(format, "add", '{"a": 1}'))
    assert not grammar.accepts(format_recipient(format, "all", "Yes."))
    assert not grammar.accepts('{"ok": true}')


@over_formats
def test_a_marker_that_is_cut_off_is_nobodys_text(format: ToolCallFormat) -> None:
    plan, _ = plan_prompt(format, make_template(read_native_template(format)), QUESTION)
    call = format_recipient(format, "add", '{"a": 1}')
    for end in range(len(get_separator(format))):
        assert parse_text(plan, call + get_separator(format)[:end]) == CollectedAnswer(calls=(("add", '{"a": 1}'),))


@over_formats
def test_names_that_cannot_be_recipients(format: ToolCallFormat) -> None:
    for name in ("all", "a\nb", "a\n<|content|>b"):
        with pytest.raises(CallerError, match="name"):
            plan_prompt(
                format,
                make_template(read_native_template(format)),
                QUESTION,
                tools=(ToolSpec(name, "", {"type": "object"}),),
            )


def test_results_are_named_after_their_calls() -> None:
    talk = (
        *CONVERSATION[:3],
        text_message("tool", "4", call_id="call_t_0"),
        text_message("tool", "?", call_id="nobody's"),
    )
    _, prompt = plan_prompt(FunctionaryV2Format(), make_template(read_native_template(FunctionaryV2Format())), *talk)
    assert "<|from|>add\n<|recipient|>all\n<|content|>4\n" in prompt
    assert "<|from|>tool\n<|recipient|>all\n<|content|>?\n" in prompt


@over_formats
def test_in_words_where_the_template_knows_none(format: ToolCallFormat) -> None:
    talk = (
        QUESTION,
        Message("assistant", text_message("assistant", "Well.").parts, (ToolCall("c", "add", '{"a": 2}'),)),
    )
    plan, prompt = plan_prompt(format, make_template(load_chatml()), *talk)
    assert "type add = (_: {\na: number,\n}) => any;" in prompt
    told = plan.messages[-1].text
    assert told.startswith(get_separator(format).lstrip() + format_recipient(format, "all", "Well."))
    assert parse_text(plan, told) == CollectedAnswer(text="Well.", calls=(("add", '{"a": 2}'),))


# ---- v3.2's Python


@pytest.mark.parametrize("name", ["python", "ipython", "code_interpreter"])
def test_the_interpreter_is_told_code(name: str) -> None:
    template = make_template(read_native_template(FunctionaryV32Format()))
    code = 'print("é")\n>>> x\n'
    earlier = Message("assistant", calls=(ToolCall("c", name, json.dumps({"code": "1 +\n1"})),))
    tools = (ToolSpec(name, "", CODE), ADD)
    plan, prompt = plan_prompt(FunctionaryV32Format(), template, QUESTION, earlier, mode="required", tools=tools)
    assert "// python runs code" in prompt
    assert ">>>python\n1 +\n1<|eot_id|>" in prompt
    assert Grammar.parse(plan.grammar).accepts(f"python\n{code}")
    found = parse_text(plan, f'python\n{code}>>>add\n{{"a": 1}}')
    assert [call for call, _ in found.calls] == [name, "add"]
    assert json.loads(found.calls[0][1]) == {"code": code.rstrip()}
    assert json.loads(parse_text(plan, f"python\n{code}").calls[0][1]) == {"code": code.rstrip()}


def test_other_templates_know_no_interpreter() -> None:
    tools = (ToolSpec("python", "", CODE),)
    for format, source in (
        (FunctionaryV3Format(), read_native_template(FunctionaryV3Format())),
        (FunctionaryV32Format(), load_chatml()),
    ):
        plan, _ = plan_prompt(format, make_template(source), QUESTION, mode="required", tools=tools)
        assert Grammar.parse(plan.grammar).accepts('python\n{"code": "x"}')
        assert not Grammar.parse(plan.grammar).accepts("python\nx")
