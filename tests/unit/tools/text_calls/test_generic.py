"""The generic form: what is told, what may be answered, how it is read. Chunkings: tests/contract/formats."""

import json
from typing import Any

import pytest

from rightseat.tools.text_calls.generic import JsonCallEnvelope, format_calls, tool_messages_as_text
from rightseat.tools.text_calls.reader import ModelTextReader, TextFormatError
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.schema import get_validator
from tests.contract.formats.cases import FIND_TOOL, RING_TOOL, TOOLS
from tests.contract.models.cases import CollectedAnswer, collect_answer

TREE = ToolSpec(
    "tree",
    "",
    {
        "properties": {"node": {"$ref": "#/$defs/node"}, "word": {"const": {"$ref": "#/x"}}},
        "required": ["node"],
        "$defs": {"node": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}},
    },
)
OUTPUT = {"type": "object", "properties": {"ok": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "boolean"}}}
CALL = {"name": "ring", "arguments": {}}


def make_answer(thought: str = "Hm.", **step: Any) -> dict[str, Any]:
    return {"thought_about_next_step_only": thought, "next_step": step}


def parse_text(text: str, **more: Any) -> CollectedAnswer:
    reader = ModelTextReader(JsonCallEnvelope(tools=TOOLS, **more).parse)
    return collect_answer([*reader.feed(text), *reader.close()])


# ---- told


def test_the_prompt_is_the_seeds() -> None:
    assert JsonCallEnvelope(tools=(RING_TOOL,), output_schema={"type": "number"}).instructions() == (
        "You are a function calling AI model.\nHere are the tools available:\n"
        "// Rings a bell.\ntype ring = () => any;\n\n"
        "Please respond in JSON format with the following schema:\n\n"
        "{\n  thought_about_next_step_only: string,\n  next_step: {\n    tool_calls: {\n      name: string,\n"
        "      arguments: any\n    }[]\n  } | {\n    result: T\n  }\n}\n\n"
        'Where T satisfies this JSON schema:\n{"type": "number"}'
    )


def test_the_prompt_offers_only_what_is_allowed() -> None:
    free, bound = (
        JsonCallEnvelope(tools=TOOLS).instructions(),
        JsonCallEnvelope(tools=TOOLS, requires_call=True).instructions(),
    )
    assert "result: string" in free
    assert "result" not in bound
    assert "}[]" not in JsonCallEnvelope(tools=TOOLS, allows_parallel=False).instructions()


def test_tools_as_json_schema() -> None:
    told = JsonCallEnvelope(tools=TOOLS).instructions("json")
    assert json.dumps({"name": "ring", "description": "Rings a bell.", "parameters": RING_TOOL.parameters}) in told


def test_what_others_wrote_is_marked() -> None:
    marked = JsonCallEnvelope(tools=TOOLS, output_schema={"title": "a"}).instructions(escape=lambda text: f"«{text}»")
    assert marked.count("«") == 2
    assert "You are" in marked.partition("«")[0]


def test_of_a_prompt() -> None:
    prompt = Prompt(messages=(), tools=TOOLS, tool_choice=ToolChoice("named", "ring"))
    envelope = JsonCallEnvelope.from_prompt(prompt)
    assert (envelope.tools, envelope.requires_call, envelope.allows_parallel, envelope.thought_channel) == (
        (RING_TOOL,),
        True,
        True,
        "content",
    )
    one = Prompt(messages=(), tools=TOOLS, output_schema={}, settings=SamplingSettings(parallel_calls=False))
    assert (
        JsonCallEnvelope.from_prompt(one).requires_call,
        JsonCallEnvelope.from_prompt(one).allows_parallel,
        JsonCallEnvelope.from_prompt(one).thought_channel,
    ) == (False, False, "reasoning")


# ---- allowed

VALID = [
    make_answer(tool_calls=[CALL]),
    make_answer(tool_calls=[CALL, CALL]),
    make_answer(result="Five."),
    make_answer("", result=""),
]
WRONG = [
    make_answer(),
    make_answer(tool_calls=[]),
    make_answer(tool_calls=[CALL] * 9),
    make_answer(tool_calls=[{"name": "ring"}]),
    make_answer(tool_calls=[{"name": "other", "arguments": {}}]),
    make_answer(tool_calls=[{"name": "ring", "arguments": {"loud": 1}}]),
    make_answer(tool_calls=[CALL], result="x"),
    make_answer(result=5),
    make_answer("x" * 2001, result="x"),
    {"next_step": {"result": "x"}},
]


def test_the_schema() -> None:
    check = get_validator(JsonCallEnvelope(tools=TOOLS).schema())
    assert [check.find_problem(value) for value in VALID] == [None] * len(VALID)
    assert all(check.find_problem(value) for value in WRONG)


def test_the_schema_of_less() -> None:
    must = get_validator(JsonCallEnvelope(tools=TOOLS, requires_call=True).schema())
    assert must.find_problem(VALID[0]) is None
    assert must.find_problem(VALID[2])
    one = get_validator(JsonCallEnvelope(tools=TOOLS, allows_parallel=False).schema())
    assert one.find_problem(VALID[0]) is None
    assert one.find_problem(VALID[1])


def test_references_of_tools_and_output_stay_their_own() -> None:
    check = get_validator(JsonCallEnvelope(tools=(FIND_TOOL, TREE), output_schema=OUTPUT).schema())
    assert check.find_problem(make_answer(tool_calls=[{"name": "tree", "arguments": {"node": [[], None]}}])) is None
    assert check.find_problem(make_answer(tool_calls=[{"name": "tree", "arguments": {"node": [1]}}]))
    word = {"node": [], "word": {"$ref": "#/x"}}
    assert check.find_problem(make_answer(tool_calls=[{"name": "tree", "arguments": word}])) is None
    assert check.find_problem(make_answer(tool_calls=[{"name": "tree", "arguments": []}]))
    assert check.find_problem(make_answer(result={"ok": True})) is None
    assert check.find_problem(make_answer(result={"ok": 1}))


# ---- read


@pytest.mark.demand("llamacpp.generic_other_model_thought")
def test_a_thought_is_content_or_reasoning() -> None:
    text = json.dumps(make_answer("Hm \u00e9.", result="Fünf.\n"))
    assert parse_text(text) == CollectedAnswer("Hm é.\n\nFünf.\n")
    assert parse_text(text, thought_channel="reasoning") == CollectedAnswer("Fünf.\n", "Hm é.")
    assert parse_text(json.dumps(make_answer("", result="Five."))) == CollectedAnswer("Five.")
    assert parse_text(json.dumps(make_answer("Hm.", tool_calls=[CALL]))) == CollectedAnswer(
        "Hm.", calls=(("ring", "{}"),)
    )


@pytest.mark.demand("llamacpp.generic_other_model_thought")
def test_a_result_with_a_schema_is_its_json() -> None:
    for result in ('{"ok": true}', '"a\\n"', "5", "[1, 2]"):
        text = f'{{"thought_about_next_step_only": "Hm.", "next_step": {{"result": {result}}}}}'
        assert parse_text(text, output_schema={}, thought_channel="reasoning") == CollectedAnswer(result, "Hm.")


def test_what_a_model_adds_or_leaves_out() -> None:
    for text in (
        '{"next_step": {"tool_calls": [{"name": "ring", "arguments": {}}]}}',
        ' {\n "next_step" : { "tool_calls" : { "name": "ring", "arguments": {} } , "why": [1] } , "x": "}" }',
    ):
        assert parse_text(text) == CollectedAnswer(calls=(("ring", "{}"),))
    assert parse_text('{"next_step": {"result": 5}}') == CollectedAnswer("5")


@pytest.mark.parametrize("text", ["Five.", "[]", '{"next_step": "x"}', '{"next_step": {"tool_calls": [1]}}'])
def test_what_is_not_the_form(text: str) -> None:
    with pytest.raises(TextFormatError):
        parse_text(text)


def test_a_cut_text_is_known() -> None:
    text = json.dumps(make_answer(tool_calls=[CALL]))
    for end in range(len(text)):
        reader = ModelTextReader(JsonCallEnvelope(tools=TOOLS).parse)
        reader.feed(text[:end])
        reader.close()
        assert reader.truncated
    reader = ModelTextReader(JsonCallEnvelope(tools=TOOLS).parse)
    reader.feed(text)
    reader.close()
    assert not reader.truncated


# ---- earlier turns


def test_earlier_calls_are_shown_as_they_are_read() -> None:
    call = Message("assistant", text_message("assistant", "Hm.").parts, (ToolCall("c", "find_word", '{"word": "é"}'),))
    assert parse_text(format_calls(call)) == CollectedAnswer("Hm.", calls=(("find_word", '{"word": "é"}'),))


def test_results_are_told_with_the_tools_name() -> None:
    call = Message("assistant", calls=(ToolCall("c", "ring", "{}"),))
    talk = (
        text_message("user", "Ring!"),
        call,
        text_message("tool", "Dong.", call_id="c"),
        text_message("tool", "?", call_id="d"),
    )
    told = tool_messages_as_text(talk)
    assert [message.role for message in told] == ["user", "assistant", "user", "user"]
    assert [message.text for message in told[2:]] == ["Result of ring:\nDong.", "Result:\n?"]
