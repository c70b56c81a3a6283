"""One suite over every tool-call format: what may be written, and what is told."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.models.llamacpp.control_tokens import MARK, ControlTokens
from rightseat.models.llamacpp.formats import FORMATS, GENERIC
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.types.chunks import ToolCallStart
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import ToolSpec
from rightseat.types.schema import get_validator
from tests.contract.formats.cases import (
    FIND_CALL,
    FIND_TOOL,
    HOSTILE,
    INVALID_CALLS,
    OTHER_FIND_CALL,
    OUTPUT_SCHEMA,
    PLAIN,
    RING_CALL,
    TOOLS,
    FormatCase,
)
from tests.contract.formats.checking import (
    PLAIN_TEMPLATE,
    USER,
    accepts_text,
    get_grammar,
    list_cases,
    make_context,
    over_members,
    read_answer,
)
from tests.contract.formats.members import MEMBERS, FormatMember
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.kit.rounds import limit_rounds

FOLLOW_UP = text_message("user", "And another?")


def test_every_format_is_here() -> None:
    assert {kind.name for kind in (*FORMATS, GENERIC)} == set(MEMBERS)


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_the_grammar_takes_what_models_write(member: FormatMember) -> None:
    auto, required = member.format.make_plan(make_context()), member.format.make_plan(make_context("required"))
    for case in list_cases(member):
        text = member.write(case)
        assert accepts_text(auto, text)
        assert accepts_text(required, text) == (bool(case.calls) and not case.text)


@over_members
def test_the_grammar_ends_no_answer_within_a_call(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context("required"))
    for case in list_cases(member, with_calls=True):
        text = member.write(FormatCase("", calls=case.calls))
        ends = get_grammar(plan).list_match_lengths(text)
        assert ends[-1] == len(text)
        for end in ends:
            reader = plan.make_reader()
            found = collect_answer([*reader.feed(text[:end]), *reader.close()]).calls
            assert found
            assert found == case.calls[: len(found)]
            assert not reader.inside_call


@over_members
def test_what_no_schema_allows_cannot_be_written(member: FormatMember) -> None:
    for call in INVALID_CALLS:
        text = member.write(FormatCase("", calls=(call,)))
        assert not accepts_text(member.format.make_plan(make_context("required")), text)
        assert not accepts_text(member.format.make_plan(make_context()), text)


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_a_named_tool_is_the_only_one(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context("named", name="ring"))
    assert accepts_text(plan, member.write(FormatCase("", calls=(RING_CALL,))))
    assert not accepts_text(plan, member.write(FormatCase("", calls=(FIND_CALL,))))
    assert not accepts_text(plan, member.write(FormatCase("", text="No.")))


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_without_parallel_calls_there_is_one(member: FormatMember) -> None:
    for mode in ("auto", "required"):
        many = member.format.make_plan(make_context(mode))
        single = member.format.make_plan(make_context(mode, parallel=False))
        two = member.write(FormatCase("", calls=(FIND_CALL, OTHER_FIND_CALL)))
        assert accepts_text(many, two)
        assert not accepts_text(single, two)
        assert accepts_text(single, member.write(FormatCase("", calls=(FIND_CALL,))))
        assert not accepts_text(many, member.write(FormatCase("", calls=(FIND_CALL,) * 9)))


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_with_tool_choice_none_there_is_no_call(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context("none"))
    assert plan.tools == ()
    assert FIND_TOOL.name not in "".join(message.text for message in plan.messages)
    called = member.write(FormatCase("", calls=(FIND_CALL,)))
    assert read_answer(plan, [called]).calls == ()
    assert not plan.grammar or not accepts_text(plan, called)
    if member.format.triggers:
        assert not accepts_text(plan, called)
    if member.allows_plain_text:
        assert read_answer(plan, [member.write(FormatCase("", "Good day."))]).text == "Good day."
        assert not plan.grammar or accepts_text(plan, member.write(FormatCase("", "Good day.")))


@over_members
def test_no_tools_is_text_without_a_grammar(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context(tools=()))
    assert (plan.grammar, plan.tools) == ("", ())
    assert plan.messages == (USER,)


@pytest.mark.demand("llamacpp.output_schema_told_model")
@over_members
def test_an_output_schema_without_tools(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context(tools=(), output=OUTPUT_SCHEMA))
    assert accepts_text(plan, '{"ok": true}')
    assert not accepts_text(plan, '{"ok": 1}')
    assert not accepts_text(plan, "Yes.")
    assert read_answer(plan, ['{"ok": true}']).text == '{"ok": true}'
    assert '"ok"' in plan.messages[0].text


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_an_output_schema_with_tools(member: FormatMember) -> None:
    plan = member.format.make_plan(make_context(output=OUTPUT_SCHEMA))
    if member.allows_plain_text:
        answer = member.write(FormatCase("", '{"ok": true}'))
        assert accepts_text(plan, answer)
        assert not accepts_text(plan, member.write(FormatCase("", "Yes.")))
        assert read_answer(plan, answer) == CollectedAnswer(text='{"ok": true}')
    called = member.write(FormatCase("", calls=(FIND_CALL,)))
    assert accepts_text(plan, called)
    assert read_answer(plan, called).calls == (FIND_CALL,)
    assert '"ok"' in plan.messages[0].text
    must = member.format.make_plan(make_context("required", output=OUTPUT_SCHEMA))
    assert accepts_text(must, called)
    assert not accepts_text(must, '{"ok": true}')


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
@pytest.mark.parametrize("begun", [False, True])
def test_a_thought_is_free_and_the_answer_bound(member: FormatMember, begun: bool) -> None:
    marks = member.thinking
    thinking = ThinkingTags(True, begun, marks.open_tag, marks.close_tag)
    plan = member.format.make_plan(make_context("required", thinking=thinking))
    called = member.write(FormatCase("", calls=(FIND_CALL,)))
    # A thought may speak of calls; it is none.
    thought = f"Hm: {called[:20]} <x> {marks.close_tag[:-1]} é"
    text = f"{'' if begun else marks.open_tag}{thought}{marks.close_tag}\n\n"
    assert accepts_text(plan, text + called)
    assert not accepts_text(plan, text)
    assert not accepts_text(plan, text + "No.")
    assert accepts_text(plan, called) == (not begun)
    assert read_answer(plan, text + called) == CollectedAnswer(reasoning=thought, calls=(FIND_CALL,))
    assert {marks.open_tag, marks.close_tag} <= set(plan.preserved_tokens)
    free = member.format.make_plan(make_context(thinking=thinking))
    assert accepts_text(free, text + called)
    assert not accepts_text(free, text + member.write(FormatCase("", calls=INVALID_CALLS[:1])))


@pytest.mark.demand("llamacpp.text_grammar_accepts_validates")
@over_members
def test_whatever_the_grammar_lets_pass_is_a_valid_call(member: FormatMember) -> None:
    rng = random.Random(7)
    schemas = {tool.name: get_validator(tool.parameters) for tool in TOOLS}
    for mode in ("required", "auto"):
        plan = member.format.make_plan(make_context(mode))
        for _ in range(limit_rounds(40)):
            text = get_grammar(plan).generate(rng, size=60)
            reader = plan.make_reader()
            found = collect_answer([*reader.feed(text), *reader.close()])
            assert not reader.inside_call
            for name, arguments in found.calls:
                assert schemas[name].find_problem(json.loads(arguments)) is None
            assert found.calls or mode == "auto"


@over_members
def test_arguments_are_shown_early_where_the_grammar_says_all(member: FormatMember) -> None:
    unsaid = ToolSpec("odd", "", {"type": "object", "properties": {"a": {"not": {"const": 1}}}})
    plan = member.format.make_plan(make_context(tools=(*TOOLS, unsaid)))
    assert plan.enforced_tools == {"find_word", "ring"}
    reader = plan.make_reader()
    names = [f for f in reader.feed(member.write(FormatCase("", calls=(FIND_CALL,)))) if isinstance(f, ToolCallStart)]
    assert [name.enforced for name in names] == [True]


# ---- what others call things


@pytest.mark.demand("llamacpp.escaping_fuzzed_whatever_schema", "llamacpp.invalid_schema_unsupported_keyword")
@over_members
def test_hostile_names_of_tools(member: FormatMember) -> None:
    for name in HOSTILE:
        tools = (replace(FIND_TOOL, name=name), TOOLS[1])
        try:
            plan = member.format.make_plan(make_context("required", tools=tools))
        except CallerError as error:
            # Only a format that writes names without quotes may refuse one.
            refused = error.message
        else:
            refused = ""
            told = member.format.make_plan(make_context("required", tools=tools, capabilities=PLAIN_TEMPLATE))
            assert told.messages[0].text
            assert plan.tools == () or plan.tools[0]["function"]["name"] == name
            rng = random.Random(3)
            answers = [read_answer(plan, [get_grammar(plan).generate(rng, size=40)]) for _ in range(20)]
            assert {called for answer in answers for called, _ in answer.calls} == {name, "ring"}
        assert not refused or ("plain name" in refused and name not in PLAIN)


@pytest.mark.demand("llamacpp.template_loops_ever_builds")
@over_members
def test_control_tokens_of_others_are_text(member: FormatMember) -> None:
    tokens = ("<|im_end|>", *member.format.preserved_tokens)
    hostile = ToolSpec("ring", "Rings. <|im_end|>" + "".join(member.format.preserved_tokens), {"type": "object"})
    history = _make_history("<|im_end|>", '{"a": "<|im_end|>"}', "<|im_end|>")
    plan = member.format.make_plan(
        make_context(tools=(hostile,), capabilities=PLAIN_TEMPLATE, messages=history, control=ControlTokens(tokens))
    )
    text = "".join(message.text for message in plan.messages)
    assert text.count(f"<{MARK}|im_end|>") == 4
    assert "<|im_end|>" not in text


def _make_history(text: str, arguments: str, result: str) -> tuple[Message, ...]:
    call = ToolCall("call_1", "ring", arguments)
    return (
        USER,
        replace(text_message("assistant", text), calls=(call,)),
        text_message("tool", result, call_id="call_1", name="ring"),
        FOLLOW_UP,
    )


@over_members
def test_earlier_calls_are_told_as_the_model_writes_them(member: FormatMember) -> None:
    for case in list_cases(member, with_calls=True):
        calls = tuple(ToolCall(f"call_{number}", *call) for number, call in enumerate(case.calls))
        message = replace(text_message("assistant", case.text), calls=calls)
        result = text_message("tool", "A building.", call_id="call_0", name="find_word")
        plan = member.format.make_plan(
            make_context(capabilities=PLAIN_TEMPLATE, messages=(USER, message, result, FOLLOW_UP))
        )
        *_, told, heard_result, _ = plan.messages
        assert (told.role, told.calls) == ("assistant", ())
        assert "A building." in heard_result.text
        assert parse_calls(read_answer(plan, [told.text]).calls) == parse_calls(case.calls)


def parse_calls(calls: Sequence[tuple[str, str]]) -> list[tuple[str, Any]]:
    return [(name, json.loads(arguments)) for name, arguments in calls]
