"""What happens in a run, as each era's client is told of it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Assistant, Result, Runtime, tool
from rightseat.config.settings import ServerSettings
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import (
    Artifact,
    CallArgs,
    CallEnd,
    CallStart,
    Citations,
    Event,
    Interrupt,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFinished,
    StateSnapshot,
    StepEnd,
    StepStart,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.model import Prompt
from rightseat.types.turn import Turn
from tests.kit.house import Lines, calls, house, says
from tests.unit.doors.openbb.client import LISTED, WIDGETS, Answer, Chat, item

pytestmark = pytest.mark.io

TODAY: dict[str, Any] = {"timezone": "UTC"}
DONE = RunFinished("stop")


def spoken(*texts: str) -> list[Event]:
    return [TextStart("m"), *(TextDelta("m", text) for text in texts), TextEnd("m")]


async def told(*events: Event, old: bool = False) -> Answer:
    """What the client gets when a run is exactly this."""

    async def agent(turn: Turn) -> AsyncIterator[Event]:
        for event in events:
            yield event

    async with house(Runtime(agents={"agent": agent})) as server:
        return await Chat(server.url, old=old, **({"widgets": LISTED} if old else TODAY)).say("hi")


@pytest.mark.demand("openbb.v1_query_streams_sse", "openbb.bad_input_recorded_case")
@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    "text", ["data: x\n\nevent: y", "\r\n", "\u2028\u0085", '"quoted" \\', "汉字 🙂", "</script>", "\x00"]
)
async def test_any_text_arrives_as_it_is(text: str, old: bool) -> None:
    answer = await told(*spoken("a", text, "", "b"), DONE, old=old)
    assert answer.text == f"a{text}b"
    assert len(answer.frames) == 3


async def test_letters_are_not_escaped_and_the_events_name_comes_first() -> None:
    answer = await told(*spoken("é汉"), DONE)
    assert answer.body == 'event: copilotMessageChunk\ndata: {"delta":"é汉"}\n\n'


async def test_a_second_text_begins_a_paragraph() -> None:
    assert (await told(*spoken("one"), *spoken("two"), DONE)).text == "one\n\ntwo"


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def fails() -> Result:
    """Fail."""
    return Result("no luck", failed=True)


@pytest.mark.demand("openbb.text_status_updates_server")
async def test_server_tools_steps_and_thoughts_are_status_updates() -> None:
    thinks: list[Event] = [
        ReasoningStart("r"),
        ReasoningDelta("r", "Hm, "),
        ReasoningDelta("r", "yes."),
        ReasoningEnd("r"),
    ]
    steps: list[Event] = [StepStart("Fetch"), StepEnd("Fetch"), StateSnapshot({"a": 1})]
    answer = await told(*thinks, *steps, *spoken("ok"), DONE)
    assert answer.statuses == [("INFO", "Thinking"), ("INFO", "Fetch")]
    assert answer.of("copilotStatusUpdate")[0]["details"] == ["Hm, yes."]
    model = Lines(calls(("add", '{"a": 1, "b": 2}'), ("fails", "{}"), ("nobody", "{}")), says("3"))
    async with house(Runtime(model=model, tools=[add, fails])) as server:
        answer = await Chat(server.url, **TODAY).say("1 + 2?")
    assert answer.text == "3"
    assert ("INFO", "Running add") in answer.statuses
    assert ("INFO", "add is done") in answer.statuses
    assert ("WARNING", "fails failed") in answer.statuses
    [begun] = [one for one in answer.of("copilotStatusUpdate") if one["message"] == "Running add"]
    assert begun["details"] == [{"a": 1, "b": 2}]


@pytest.mark.demand("openbb.seed_era_requests_get")
async def test_a_client_of_2024_gets_text_and_calls_only() -> None:
    things: list[Event] = [
        StepStart("s"),
        ReasoningStart("r"),
        ReasoningDelta("r", "x"),
        ReasoningEnd("r"),
        Artifact("a", "table", "T", [{"a": 1}]),
        Citations([{"name": "x"}]),
        Suggestions(("more?",)),
        CallStart("c", "add", "m"),
        CallArgs("c", "{}"),
        CallEnd("c"),
    ]
    answer = await told(*things, *spoken("ok"), DONE, old=True)
    assert answer.frames == [("copilotMessageChunk", {"delta": "ok"})]


@pytest.mark.demand("openbb.failures_arrive_200_stream")
@pytest.mark.parametrize("old", [True, False])
async def test_a_failure_is_a_sentence_in_a_stream(old: bool) -> None:
    async def breaks(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half")
        raise UpstreamRefused("The model's server went away.")

    async with house(Runtime(model=Lines(breaks))) as server:
        answer = await Chat(server.url, old=old, **({} if old else TODAY)).say("hi")
    assert answer.text == "Half\n\nThe model's server went away. (upstream_unreachable)"
    assert answer.statuses == ([] if old else [("WARNING", "The answer failed")])


@pytest.mark.demand("openbb.failures_arrive_200_stream")
async def test_only_data_that_was_too_long_is_an_error_for_the_client_forgets_it_then() -> None:
    assistant = Assistant("default", Lines(calls(("price", "{}"))), context=600)
    async with house(Runtime(assistants=[assistant])) as server:
        chat = Chat(server.url, widgets=WIDGETS)
        answer = await chat.say("hi")
        assert answer.call is not None
        assistant_text = "word " * 2000
        chat.messages[0]["content"] = assistant_text
        answer = await chat.give(answer.call, item("x"))
        first = await Chat(server.url, **TODAY).say(assistant_text)
    assert answer.statuses == [("ERROR", "The answer failed")]
    assert first.statuses == [("WARNING", "The answer failed")]
    assert answer.text.endswith("(context_too_long)")


@pytest.mark.parametrize(("reason", "word"), [("length", "cut off"), ("content_filter", "provider")])
async def test_an_answer_that_was_cut_says_so(reason: Any, word: str) -> None:
    answer = await told(*spoken("Half"), RunFinished(reason))
    assert answer.text.startswith("Half\n\n")
    assert word in answer.text


async def test_a_call_that_was_cut_is_no_call() -> None:
    cut: list[Event] = [CallStart("c", "price", "m", client=True), CallArgs("c", '{"sym')]
    answer = await told(*cut, RunFinished("length"))
    assert answer.call is None
    assert "cut off" in answer.text


async def test_an_empty_answer_is_said_to_be_one() -> None:
    assert "no answer" in (await told(DONE)).text
    assert (await told(Suggestions(("more?",)), DONE)).text == ""


async def test_a_call_for_something_that_nobody_offers() -> None:
    made: list[Event] = [CallStart("c", "ghost", "m", client=True), CallArgs("c", "{}"), CallEnd("c")]
    answer = await told(*made, RunFinished("calls", pending=("c",)))
    assert answer.call is None
    assert "not there any more" in answer.text


async def test_a_question_of_an_agent_is_text() -> None:
    asks = Interrupt("ask_1", "ask", "Which one?", {"type": "string"})
    assert (await told(asks, RunFinished("interrupt"))).text == "Which one?"


@pytest.mark.demand("openbb.text_status_updates_server")
async def test_suggestions_and_foreign_citations() -> None:
    info = {"type": "widget", "name": "W", "origin": "o", "uuid": "x"}
    cited: list[dict[str, Any]] = [
        {"title": "A page", "url": "https://example.com/a"},
        {"id": "not a uuid", "source_info": info, "details": [{"p": 1}]},
        {},
    ]
    answer = await told(*spoken("ok"), Citations(cited), Suggestions(("more?", "less?")), DONE)
    assert answer.of("copilotPromptSuggestions") == [{"suggestions": ["more?", "less?"]}]
    [page, widget, other] = answer.of("copilotCitationCollection")[0]["citations"]
    assert page["source_info"]["type"] == "web"
    assert page["source_info"]["name"] == "A page"
    assert (widget["source_info"]["type"], widget["details"]) == ("widget", [{"p": 1}])
    assert "uuid" not in widget["source_info"]
    assert other["source_info"]["name"]


@pytest.mark.demand("openbb.seed_era_requests_get")
async def test_nothing_comes_before_the_first_event_and_keep_alives_after_it() -> None:
    async def slow(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        await asyncio.sleep(0.3)
        yield TextChunk("one")
        await asyncio.sleep(0.3)
        for fragment in says(" two"):
            yield fragment

    async with house(Runtime(model=Lines(slow)), ServerSettings(port=0, keep_alive=0.05)) as server:
        answer = await Chat(server.url, **TODAY).say("hi")
    # The reader refuses a stream that begins with anything but an event.
    assert answer.text == "one two"
    assert answer.body.index(": keep-alive") > answer.body.index('"one"')
