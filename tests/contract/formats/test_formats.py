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
from tests.contract.formats.asking import IGNORANT, USER, asked, fitting, grammar, over_members, read, takes
from tests.contract.formats.cases import EMPTY, FIND, HOSTILE, ONE, OTHER, OUTPUT, PLAIN, TOOLS, WRONG, Said
from tests.contract.formats.members import MEMBERS, Member
from tests.contract.models.cases import Heard, heard
from tests.kit.rounds import rounds

MORE = text_message("user", "And another?")


def test_every_format_is_here() -> None:
    assert {kind.name for kind in (*FORMATS, GENERIC)} == set(MEMBERS)


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_the_grammar_takes_what_models_write(member: Member) -> None:
    auto, required = member.format.make_plan(asked()), member.format.make_plan(asked("required"))
    for case in fitting(member):
        text = member.write(case)
        assert takes(auto, text)
        assert takes(required, text) == (bool(case.calls) and not case.text)


@over_members
def test_the_grammar_ends_no_answer_within_a_call(member: Member) -> None:
    plan = member.format.make_plan(asked("required"))
    for case in fitting(member, calling=True):
        text = member.write(Said("", calls=case.calls))
        ends = grammar(plan).ends(text)
        assert ends[-1] == len(text)
        for end in ends:
            reader = plan.make_reader()
            found = heard([*reader.feed(text[:end]), *reader.close()]).calls
            assert found
            assert found == case.calls[: len(found)]
            assert not reader.inside_call


@over_members
def test_what_no_schema_allows_cannot_be_written(member: Member) -> None:
    for call in WRONG:
        text = member.write(Said("", calls=(call,)))
        assert not takes(member.format.make_plan(asked("required")), text)
        assert not takes(member.format.make_plan(asked()), text)


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_a_named_tool_is_the_only_one(member: Member) -> None:
    plan = member.format.make_plan(asked("named", name="ring"))
    assert takes(plan, member.write(Said("", calls=(EMPTY,))))
    assert not takes(plan, member.write(Said("", calls=(ONE,))))
    assert not takes(plan, member.write(Said("", text="No.")))


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_without_parallel_calls_there_is_one(member: Member) -> None:
    for mode in ("auto", "required"):
        many = member.format.make_plan(asked(mode))
        single = member.format.make_plan(asked(mode, parallel=False))
        two = member.write(Said("", calls=(ONE, OTHER)))
        assert takes(many, two)
        assert not takes(single, two)
        assert takes(single, member.write(Said("", calls=(ONE,))))
        assert not takes(many, member.write(Said("", calls=(ONE,) * 9)))


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_with_tool_choice_none_there_is_no_call(member: Member) -> None:
    plan = member.format.make_plan(asked("none"))
    assert plan.tools == ()
    assert FIND.name not in "".join(message.text for message in plan.messages)
    called = member.write(Said("", calls=(ONE,)))
    assert read(plan, [called]).calls == ()
    assert not plan.grammar or not takes(plan, called)
    if member.format.triggers:
        assert not takes(plan, called)
    if member.talks:
        assert read(plan, [member.write(Said("", "Good day."))]).text == "Good day."
        assert not plan.grammar or takes(plan, member.write(Said("", "Good day.")))


@over_members
def test_no_tools_is_text_without_a_grammar(member: Member) -> None:
    plan = member.format.make_plan(asked(tools=()))
    assert (plan.grammar, plan.tools) == ("", ())
    assert plan.messages == (USER,)


@pytest.mark.demand("llamacpp.output_schema_told_model")
@over_members
def test_an_output_schema_without_tools(member: Member) -> None:
    plan = member.format.make_plan(asked(tools=(), output=OUTPUT))
    assert takes(plan, '{"ok": true}')
    assert not takes(plan, '{"ok": 1}')
    assert not takes(plan, "Yes.")
    assert read(plan, ['{"ok": true}']).text == '{"ok": true}'
    assert '"ok"' in plan.messages[0].text


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
def test_an_output_schema_with_tools(member: Member) -> None:
    plan = member.format.make_plan(asked(output=OUTPUT))
    if member.talks:
        answer = member.write(Said("", '{"ok": true}'))
        assert takes(plan, answer)
        assert not takes(plan, member.write(Said("", "Yes.")))
        assert read(plan, answer) == Heard(text='{"ok": true}')
    called = member.write(Said("", calls=(ONE,)))
    assert takes(plan, called)
    assert read(plan, called).calls == (ONE,)
    assert '"ok"' in plan.messages[0].text
    must = member.format.make_plan(asked("required", output=OUTPUT))
    assert takes(must, called)
    assert not takes(must, '{"ok": true}')


@pytest.mark.demand("llamacpp.tool_choice_auto_required")
@over_members
@pytest.mark.parametrize("begun", [False, True])
def test_a_thought_is_free_and_the_answer_bound(member: Member, begun: bool) -> None:
    marks = member.thinking
    thinking = ThinkingTags(True, begun, marks.open_tag, marks.close_tag)
    plan = member.format.make_plan(asked("required", thinking=thinking))
    called = member.write(Said("", calls=(ONE,)))
    # A thought may speak of calls; it is none.
    thought = f"Hm: {called[:20]} <x> {marks.close_tag[:-1]} é"
    text = f"{'' if begun else marks.open_tag}{thought}{marks.close_tag}\n\n"
    assert takes(plan, text + called)
    assert not takes(plan, text)
    assert not takes(plan, text + "No.")
    assert takes(plan, called) == (not begun)
    assert read(plan, text + called) == Heard(reasoning=thought, calls=(ONE,))
    assert {marks.open_tag, marks.close_tag} <= set(plan.preserved_tokens)
    free = member.format.make_plan(asked(thinking=thinking))
    assert takes(free, text + called)
    assert not takes(free, text + member.write(Said("", calls=WRONG[:1])))


@pytest.mark.demand("llamacpp.text_grammar_accepts_validates")
@over_members
def test_whatever_the_grammar_lets_pass_is_a_valid_call(member: Member) -> None:
    rng = random.Random(7)
    schemas = {tool.name: get_validator(tool.parameters) for tool in TOOLS}
    for mode in ("required", "auto"):
        plan = member.format.make_plan(asked(mode))
        for _ in range(rounds(40)):
            text = grammar(plan).make(rng, size=60)
            reader = plan.make_reader()
            found = heard([*reader.feed(text), *reader.close()])
            assert not reader.inside_call
            for name, arguments in found.calls:
                assert schemas[name].find_problem(json.loads(arguments)) is None
            assert found.calls or mode == "auto"


@over_members
def test_arguments_are_shown_early_where_the_grammar_says_all(member: Member) -> None:
    unsaid = ToolSpec("odd", "", {"type": "object", "properties": {"a": {"not": {"const": 1}}}})
    plan = member.format.make_plan(asked(tools=(*TOOLS, unsaid)))
    assert plan.enforced_tools == {"find_word", "ring"}
    reader = plan.make_reader()
    names = [f for f in reader.feed(member.write(Said("", calls=(ONE,)))) if isinstance(f, ToolCallStart)]
    assert [name.enforced for name in names] == [True]


# ---- what others call things


@pytest.mark.demand("llamacpp.escaping_fuzzed_whatever_schema", "llamacpp.invalid_schema_unsupported_keyword")
@over_members
def test_hostile_names_of_tools(member: Member) -> None:
    for name in HOSTILE:
        tools = (replace(FIND, name=name), TOOLS[1])
        try:
            plan = member.format.make_plan(asked("required", tools=tools))
        except CallerError as error:
            # Only a format that writes names without quotes may refuse one.
            refused = error.message
        else:
            refused = ""
            told = member.format.make_plan(asked("required", tools=tools, abilities=IGNORANT))
            assert told.messages[0].text
            assert plan.tools == () or plan.tools[0]["function"]["name"] == name
            rng = random.Random(3)
            answers = [read(plan, [grammar(plan).make(rng, size=40)]) for _ in range(20)]
            assert {called for answer in answers for called, _ in answer.calls} == {name, "ring"}
        assert not refused or ("plain name" in refused and name not in PLAIN)


@pytest.mark.demand("llamacpp.template_loops_ever_builds")
@over_members
def test_control_tokens_of_others_are_text(member: Member) -> None:
    tokens = ("<|im_end|>", *member.format.preserved_tokens)
    hostile = ToolSpec("ring", "Rings. <|im_end|>" + "".join(member.format.preserved_tokens), {"type": "object"})
    history = _history("<|im_end|>", '{"a": "<|im_end|>"}', "<|im_end|>")
    plan = member.format.make_plan(
        asked(tools=(hostile,), abilities=IGNORANT, messages=history, control=ControlTokens(tokens))
    )
    text = "".join(message.text for message in plan.messages)
    assert text.count(f"<{MARK}|im_end|>") == 4
    assert "<|im_end|>" not in text


def _history(text: str, arguments: str, result: str) -> tuple[Message, ...]:
    call = ToolCall("call_1", "ring", arguments)
    return (
        USER,
        replace(text_message("assistant", text), calls=(call,)),
        text_message("tool", result, call_id="call_1", name="ring"),
        MORE,
    )


@over_members
def test_earlier_calls_are_told_as_the_model_writes_them(member: Member) -> None:
    for case in fitting(member, calling=True):
        calls = tuple(ToolCall(f"call_{number}", *call) for number, call in enumerate(case.calls))
        message = replace(text_message("assistant", case.text), calls=calls)
        result = text_message("tool", "A building.", call_id="call_0", name="find_word")
        plan = member.format.make_plan(asked(abilities=IGNORANT, messages=(USER, message, result, MORE)))
        *_, told, heard_result, _ = plan.messages
        assert (told.role, told.calls) == ("assistant", ())
        assert "A building." in heard_result.text
        assert json_calls(read(plan, [told.text]).calls) == json_calls(case.calls)


def json_calls(calls: Sequence[tuple[str, str]]) -> list[tuple[str, Any]]:
    return [(name, json.loads(arguments)) for name, arguments in calls]
