"""Tools at a server that has none: by its JSON schemas, or by asking the model."""

import json
from typing import Any

import pytest

from rightseat.errors import CallerError, OutputInvalid, RightseatError, UpstreamGarbled
from rightseat.models.openai import model as made
from rightseat.models.openai.emulated import EmulatedToolsModel, ToolEmulation
from rightseat.types.chunks import ModelChunk, TextChunk, ToolCallStart
from rightseat.types.events import Usage
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.schema import get_validator
from rightseat.types.streams import closing
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.kit import answers
from tests.kit.answers import ChatReply, UpstreamReply
from tests.kit.connection import ReceivedRequest
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

ADD = ToolSpec(
    "add",
    "Adds two numbers.",
    {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}},
        "required": ["a", "b"],
        "additionalProperties": False,
        "$defs": {"n": {"type": "integer"}},
    },
)
OUTPUT = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
SUM = '{"a": 2, "b": 3}'
over_emulations = pytest.mark.parametrize("way", ["schema", "prompt"])


def format_step(**next_step: Any) -> str:
    return json.dumps({"thought_about_next_step_only": "Let me see.", "next_step": next_step})


CALL = format_step(tool_calls=[{"name": "add", "arguments": {"a": 2, "b": 3}}])
BAD = format_step(tool_calls=[{"name": "add", "arguments": {"a": "two"}}])
WORDS = format_step(result="Five.")


def reply_in_pieces(text: str, size: int = 5, **more: Any) -> ChatReply:
    return answers.answer_tokens([text[at : at + size] for at in range(0, len(text), size)], **more)


def make_prompt(mode: Any = "auto", *messages: Message, **more: Any) -> Prompt:
    asked = messages or (text_message("user", "2 and 3?"),)
    return Prompt(messages=asked, tools=(ADD,), tool_choice=ToolChoice(mode, "add"), **more)


async def collect_emulated(
    emulation: ToolEmulation, request_prompt: Prompt, *replies: UpstreamReply, **options: Any
) -> tuple[list[ModelChunk], list[ReceivedRequest], RightseatError | None]:
    out: list[ModelChunk] = []
    async with FakeUpstream() as upstream:
        upstream.queue_replies(*replies)
        model = EmulatedToolsModel("kit-model", tools=emulation, base_url=upstream.base_url, **options)
        problem = None
        try:
            async with closing(model.stream(request_prompt)) as stream:
                out += [fragment async for fragment in stream]
        except RightseatError as error:
            problem = error
        finally:
            await model.close()
        await upstream.wait_idle()
    return out, upstream.requests, problem


@pytest.mark.demand("llamacpp.openai_compatible_servers_without")
@over_emulations
async def test_a_call(way: ToolEmulation) -> None:
    found, requests, problem = await collect_emulated(way, make_prompt(), reply_in_pieces(CALL))
    assert problem is None
    answer = collect_answer(found)
    assert (answer.text, answer.finish, answer.usage) == ("Let me see.", "calls", Usage(7, 3))
    assert [(name, json.loads(arguments)) for name, arguments in answer.calls] == [("add", json.loads(SUM))]
    body = requests[0].json
    assert "tools" not in body
    assert "tool_choice" not in body
    assert "type add = " in body["messages"][0]["content"]


@over_emulations
async def test_words(way: ToolEmulation) -> None:
    found, _, _ = await collect_emulated(way, make_prompt(), reply_in_pieces(WORDS))
    assert collect_answer(found) == CollectedAnswer("Let me see.\n\nFive.", usage=Usage(7, 3), finish="stop")


@over_emulations
async def test_without_tools_nothing_is_added(way: ToolEmulation) -> None:
    for asked in (make_prompt("none"), Prompt(messages=(text_message("user", "hello"),))):
        found, requests, _ = await collect_emulated(way, asked, answers.answer_text())
        assert collect_answer(found).text == "w0 w1 w2"
        assert [message["role"] for message in requests[0].json["messages"]] == ["user"]
        assert "response_format" not in requests[0].json


@pytest.mark.demand("llamacpp.openai_compatible_servers_without")
async def test_the_schema_that_the_server_is_sent() -> None:
    _, requests, _ = await collect_emulated("schema", make_prompt(), reply_in_pieces(CALL))
    sent = requests[0].json["response_format"]["json_schema"]["schema"]
    assert get_validator(sent).find_problem(json.loads(CALL)) is None
    assert get_validator(sent).find_problem(json.loads(WORDS)) is None
    assert get_validator(sent).find_problem(json.loads(BAD)) is not None
    for mode in ("required", "named"):
        _, requests, _ = await collect_emulated("schema", make_prompt(mode), reply_in_pieces(CALL))
        sent = requests[0].json["response_format"]["json_schema"]["schema"]
        assert get_validator(sent).find_problem(json.loads(CALL)) is None
        assert get_validator(sent).find_problem(json.loads(WORDS)) is not None


async def test_the_schema_streams() -> None:
    found, _, _ = await collect_emulated("schema", make_prompt(), reply_in_pieces(CALL))
    arguments = [fragment for fragment in found if not isinstance(fragment, TextChunk | ToolCallStart)]
    assert len(arguments) > 3
    assert [f.enforced for f in found if isinstance(f, ToolCallStart)] == [False]
    found, _, _ = await collect_emulated("schema", make_prompt(), reply_in_pieces(CALL), strict_tools=True)
    assert [f.enforced for f in found if isinstance(f, ToolCallStart)] == [True]


@over_emulations
async def test_an_output_schema_binds_the_result(way: ToolEmulation) -> None:
    extra = {"response_format": {"type": "json_object"}, "logprobs": False}
    asked = make_prompt(output_schema=OUTPUT, settings=SamplingSettings(extra=extra))
    found, requests, _ = await collect_emulated(way, asked, reply_in_pieces(format_step(result={"ok": True})))
    answer = collect_answer(found)
    assert json.loads(answer.text) == {"ok": True}
    assert answer.reasoning == "Let me see."
    assert "logprobs" not in requests[0].json
    form = requests[0].json.get("response_format", {})
    assert form.get("type") == ("json_schema" if way == "schema" else None)


@over_emulations
async def test_logprobs_of_a_text_that_holds_the_calls_are_refused(way: ToolEmulation) -> None:
    asked = make_prompt(settings=SamplingSettings(extra={"logprobs": True}))
    _, requests, error = await collect_emulated(way, asked, reply_in_pieces(CALL))
    assert isinstance(error, CallerError)
    assert (error.param, requests) == ("logprobs", [])


@over_emulations
async def test_stop_words_are_the_contents(way: ToolEmulation) -> None:
    asked = make_prompt(settings=SamplingSettings(stop=("e.",)))
    found, requests, _ = await collect_emulated(way, asked, reply_in_pieces(format_step(result="Five. Six."), 1))
    assert collect_answer(found).text == "Let me se"
    assert collect_answer(found).finish == "stop"
    assert "stop" not in requests[0].json


@pytest.mark.demand("llamacpp.openai_compatible_servers_without")
@over_emulations
async def test_a_cut_answer_has_no_call(way: ToolEmulation) -> None:
    for end in range(0, len(CALL), 9):
        reply = ChatReply(reply_in_pieces(CALL[:end]).chunks, {}, "length")
        found, _, problem = await collect_emulated(way, make_prompt(), reply)
        assert problem is None
        assert collect_answer(found).finish == "length"


@pytest.mark.demand("openai.cut_calls")
@over_emulations
async def test_calls_before_a_cut_one_are_kept(way: ToolEmulation) -> None:
    both = format_step(tool_calls=[{"name": "add", "arguments": {"a": number, "b": 3}} for number in (2, 40)])
    reply = ChatReply(reply_in_pieces(both[: both.index("40") + 1]).chunks, {}, "length")
    found, _, problem = await collect_emulated(way, make_prompt(), reply)
    answer = collect_answer(found)
    assert (problem, answer.finish) == (None, "length")
    assert [(name, arguments.strip()) for name, arguments in answer.calls] == [("add", SUM), ("add", '{"a": 4')]


@over_emulations
async def test_a_refusal_stays_one(way: ToolEmulation) -> None:
    found, _, problem = await collect_emulated(way, make_prompt("required"), answers.answer_refusal())
    assert problem is None
    assert (collect_answer(found).refusal, collect_answer(found).finish) == ("I will not.", "stop")


@pytest.mark.parametrize("text", ["Just words.", BAD[:-3], format_step(tool_calls=[{"name": "x", "arguments": {}}])])
async def test_a_server_that_does_not_hold_to_the_schema(text: str) -> None:
    _, _, problem = await collect_emulated("schema", make_prompt(), reply_in_pieces(text))
    assert isinstance(problem, UpstreamGarbled)
    assert '"prompt"' in problem.message


# ---- by asking


@pytest.mark.demand("llamacpp.openai_compatible_servers_without")
async def test_one_repair() -> None:
    found, requests, problem = await collect_emulated(
        "prompt", make_prompt("required"), reply_in_pieces(BAD), reply_in_pieces(CALL)
    )
    assert problem is None
    assert [name for name, _ in collect_answer(found).calls] == ["add"]
    assert collect_answer(found).usage == Usage(14, 6)
    *_, answer, again = requests[1].json["messages"]
    assert answer == {"role": "assistant", "content": BAD}
    assert "does not fit" in again["content"]
    assert [f.enforced for f in found if isinstance(f, ToolCallStart)] == [True]


@pytest.mark.demand("llamacpp.openai_compatible_servers_without")
@pytest.mark.parametrize("text", [BAD, "Just words.", "{", WORDS, CALL.replace("2", "NaN")])
async def test_who_fails_twice_is_not_asked_again(text: str) -> None:
    found, requests, problem = await collect_emulated(
        "prompt", make_prompt("required"), reply_in_pieces(text), reply_in_pieces(text)
    )
    assert isinstance(problem, OutputInvalid)
    assert not any(isinstance(fragment, ToolCallStart) for fragment in found)
    assert len(requests) == 2


@pytest.mark.parametrize("text", ["Life is {complicated}.", "Five.", "{", '{"a": 1}'])
async def test_words_are_an_answer_where_they_may_be(text: str) -> None:
    found, requests, _ = await collect_emulated("prompt", make_prompt(), reply_in_pieces(text))
    assert collect_answer(found).text == text
    assert len(requests) == 1


async def test_a_fence_and_words_around_it() -> None:
    found, _, _ = await collect_emulated(
        "prompt", make_prompt(), reply_in_pieces(f"Sure!\n```json\n{CALL}\n```\nDone.")
    )
    assert [name for name, _ in collect_answer(found).calls] == ["add"]
    assert collect_answer(found).text == "Let me see."


async def test_what_is_said_twice_is_checked_as_it_is_shown() -> None:
    twice = BAD[:-1] + "," + CALL[1:]
    found, _, _ = await collect_emulated("prompt", make_prompt(), reply_in_pieces(twice))
    assert [json.loads(arguments) for _, arguments in collect_answer(found).calls] == [json.loads(SUM)]


@over_emulations
async def test_earlier_calls_are_told_in_words(way: ToolEmulation) -> None:
    history = (
        text_message("system", "Be brief."),
        text_message("user", "2 and 3?"),
        Message("assistant", calls=(ToolCall("c1", "add", SUM),)),
        text_message("tool", "5", call_id="c1"),
    )
    _, requests, _ = await collect_emulated(way, make_prompt("auto", *history), reply_in_pieces(WORDS))
    system, user, called, result = requests[0].json["messages"]
    assert system["content"].startswith("Be brief.\n\nYou are a function calling AI model.")
    assert user["content"] == "2 and 3?"
    assert json.loads(called["content"])["next_step"]["tool_calls"][0]["arguments"] == json.loads(SUM)
    assert result == {"role": "user", "content": "Result of add:\n5"}


def test_the_option() -> None:
    server = {"base_url": "http://127.0.0.1:1/v1"}
    assert not isinstance(made("m", server), EmulatedToolsModel)
    assert isinstance(made("m", {**server, "tools": "schema"}), EmulatedToolsModel)
    assert isinstance(made("m", {**server, "tools": "prompt"}), EmulatedToolsModel)
