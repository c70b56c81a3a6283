"""What happens in a run, as each era's client is told of it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Assistant, Result, Runtime, status_update, tool
from rightseat.config.settings import ServerSettings
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import (
    Artifact,
    CallArgs,
    CallEnd,
    CallStart,
    Citations,
    Custom,
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
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.doors.openbb.client import LEGACY_WIDGETS, WIDGETS, OpenBBChat, QueryAnswer, make_result_item

pytestmark = pytest.mark.io

TODAY: dict[str, Any] = {"timezone": "UTC"}
DONE = RunFinished("stop")


def make_text_events(*texts: str) -> list[Event]:
    return [TextStart("m"), *(TextDelta("m", text) for text in texts), TextEnd("m")]


async def ask_for_events(*events: Event, legacy: bool = False, question: str = "hi") -> QueryAnswer:
    """What the client gets when a run is exactly this."""

    async def agent(turn: Turn) -> AsyncIterator[Event]:
        for event in events:
            yield event

    async with serve_runtime(Runtime(agents={"agent": agent})) as server:
        return await OpenBBChat(
            server.url, legacy=legacy, **({"widgets": LEGACY_WIDGETS} if legacy else TODAY)
        ).send_text(question)


@pytest.mark.demand("openbb.v1_query_streams_sse", "openbb.bad_input_recorded_case")
@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    "text", ["data: x\n\nevent: y", "\r\n", "\u2028\u0085", '"quoted" \\', "汉字 🙂", "</script>", "\x00"]
)
async def test_any_text_arrives_as_it_is(text: str, old: bool) -> None:
    answer = await ask_for_events(*make_text_events("a", text, "", "b"), DONE, legacy=old)
    assert answer.text == f"a{text}b"
    assert len(answer.frames) == 3


async def test_letters_are_not_escaped_and_the_events_name_comes_first() -> None:
    answer = await ask_for_events(*make_text_events("é汉"), DONE)
    assert answer.body == 'event: copilotMessageChunk\ndata: {"delta":"é汉"}\n\n'


async def test_a_second_text_begins_a_paragraph() -> None:
    assert (await ask_for_events(*make_text_events("one"), *make_text_events("two"), DONE)).text == "one\n\ntwo"


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
    answer = await ask_for_events(*thinks, *steps, *make_text_events("ok"), DONE)
    assert answer.statuses == [("INFO", "Thinking"), ("INFO", "Fetch")]
    assert answer.list_events("copilotStatusUpdate")[0]["details"] == ["Hm, yes."]
    model = FakeModel(reply_calls(("add", '{"a": 1, "b": 2}'), ("fails", "{}"), ("nobody", "{}")), reply_text("3"))
    async with serve_runtime(Runtime(model=model, tools=[add, fails])) as server:
        answer = await OpenBBChat(server.url, **TODAY).send_text("1 + 2?")
    assert answer.text == "3"
    assert ("INFO", "Running add") in answer.statuses
    assert ("INFO", "add is done") in answer.statuses
    assert ("WARNING", "fails failed") in answer.statuses
    [begun] = [one for one in answer.list_events("copilotStatusUpdate") if one["message"] == "Running add"]
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
    answer = await ask_for_events(*things, *make_text_events("ok"), DONE, legacy=True)
    assert answer.text == "T\n\n| a |\n| --- |\n| 1 |\n\nok"


@pytest.mark.demand("openbb.failures_arrive_200_stream")
@pytest.mark.parametrize("old", [True, False])
async def test_a_failure_is_a_sentence_in_a_stream(old: bool) -> None:
    async def breaks(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half")
        raise UpstreamRefused("The model's server went away.")

    async with serve_runtime(Runtime(model=FakeModel(breaks))) as server:
        answer = await OpenBBChat(server.url, legacy=old, **({"widgets": []} if old else TODAY)).send_text("hi")
    assert answer.text == "Half\n\nThe model's server went away. (upstream_unreachable)"
    assert answer.statuses == ([] if old else [("WARNING", "The answer failed")])


@pytest.mark.demand("openbb.failures_arrive_200_stream")
async def test_only_data_that_was_too_long_is_an_error_for_the_client_forgets_it_then() -> None:
    assistant = Assistant("default", FakeModel(reply_calls(("price", "{}"))), context=600)
    async with serve_runtime(Runtime(assistants=[assistant])) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        answer = await chat.send_text("hi")
        assert answer.call is not None
        assistant_text = "word " * 2000
        chat.messages[0]["content"] = assistant_text
        answer = await chat.send_result(answer.call, make_result_item("x"))
        first = await OpenBBChat(server.url, **TODAY).send_text(assistant_text)
    assert answer.statuses == [("ERROR", "The answer failed")]
    assert first.statuses == [("WARNING", "The answer failed")]
    assert answer.text.endswith("(context_too_long)")


@pytest.mark.parametrize(("reason", "word"), [("length", "cut off"), ("content_filter", "provider")])
async def test_an_answer_that_was_cut_says_so(reason: Any, word: str) -> None:
    answer = await ask_for_events(*make_text_events("Half"), RunFinished(reason))
    assert answer.text.startswith("Half\n\n")
    assert word in answer.text


async def test_a_call_that_was_cut_is_no_call() -> None:
    cut: list[Event] = [CallStart("c", "price", "m", client=True), CallArgs("c", '{"sym')]
    answer = await ask_for_events(*cut, RunFinished("length"))
    assert answer.call is None
    assert "cut off" in answer.text


async def test_an_empty_answer_is_said_to_be_one() -> None:
    assert "no answer" in (await ask_for_events(DONE)).text
    assert (await ask_for_events(Suggestions(("more?",)), DONE)).text == ""


async def test_a_call_for_something_that_nobody_offers() -> None:
    made: list[Event] = [CallStart("c", "ghost", "m", client=True), CallArgs("c", "{}"), CallEnd("c")]
    answer = await ask_for_events(*made, RunFinished("calls", pending=("c",)))
    assert answer.call is None
    assert "not there any more" in answer.text


async def test_a_question_of_an_agent_is_text() -> None:
    asks = Interrupt("ask_1", "ask", "Which one?", {"type": "string"})
    assert (await ask_for_events(asks, RunFinished("interrupt"))).text == "Which one?"


@pytest.mark.demand("openbb.text_status_updates_server")
async def test_suggestions_and_foreign_citations() -> None:
    info = {"type": "widget", "name": "W", "origin": "o", "uuid": "x"}
    cited: list[dict[str, Any]] = [
        {"title": "A page", "url": "https://example.com/a"},
        {"id": "not a uuid", "source_info": info, "details": [{"p": 1}]},
        {},
    ]
    answer = await ask_for_events(*make_text_events("ok"), Citations(cited), Suggestions(("more?", "less?")), DONE)
    assert answer.list_events("copilotPromptSuggestions") == [{"suggestions": ["more?", "less?"]}]
    [page, widget, other] = answer.list_events("copilotCitationCollection")[0]["citations"]
    assert page["source_info"]["type"] == "web"
    assert page["source_info"]["name"] == "A page"
    assert (widget["source_info"]["type"], widget["details"]) == ("widget", [{"p": 1}])
    assert "uuid" not in widget["source_info"]
    assert other["source_info"]["name"]


BOX = {"text": "Revenue", "page": 2, "x0": 70, "top": 88.5, "x1": 120.0, "bottom": 99}


@pytest.mark.demand("openbb.artifacts_as_authors_make_them")
async def test_html_descriptions_boxes_and_details() -> None:
    page = Artifact("h", "html", "Summary", "<p>Up</p>", "How the quarter went")
    boxes: list[Any] = [[[BOX], []], [[{**BOX, "page": "two"}]], "none", [[{"text": "x"}]]]
    cited = Citations([{"title": "Report", "quote_bounding_boxes": box} for box in boxes])
    step = status_update("Read the report", details=[{"Pages": 12}, "two tables"])
    warning = status_update("One page is a picture", warning=True)
    answer = await ask_for_events(step, warning, page, *make_text_events("ok"), cited, DONE)
    [artifact] = answer.list_events("copilotMessageArtifact")
    assert (artifact["type"], artifact["content"], artifact["description"]) == (
        "html",
        "<p>Up</p>",
        "How the quarter went",
    )
    [collection] = answer.list_events("copilotCitationCollection")
    assert [citation.get("quote_bounding_boxes") for citation in collection["citations"]] == [[[BOX]], None, None, None]
    assert collection["citations"][0]["id"] != collection["citations"][1]["id"]
    assert answer.statuses == [("INFO", "Read the report"), ("WARNING", "One page is a picture")]
    assert answer.list_events("copilotStatusUpdate")[0]["details"] == [{"Pages": 12}, "two tables"]
    assert "details" not in answer.list_events("copilotStatusUpdate")[1]


@pytest.mark.demand("openbb.artifacts_as_authors_make_them")
@pytest.mark.parametrize("detail", [{"Pages": 12, "Tables": 2}, "two tables"])
async def test_one_detail_needs_no_list(detail: dict[str, Any] | str) -> None:
    steps = (status_update("Read", details=detail), Custom("progress", {"message": "Read", "details": detail}))
    answer = await ask_for_events(*steps, *make_text_events("ok"), DONE)
    assert [status["details"] for status in answer.list_events("copilotStatusUpdate")] == [[detail], [detail]]


@pytest.mark.demand("openbb.seed_era_requests_get")
async def test_nothing_comes_before_the_first_event_and_keep_alives_after_it() -> None:
    async def slow(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        await asyncio.sleep(0.3)
        yield TextChunk("one")
        await asyncio.sleep(0.3)
        for fragment in reply_text(" two"):
            yield fragment

    async with serve_runtime(Runtime(model=FakeModel(slow)), ServerSettings(port=0, keep_alive=0.05)) as server:
        answer = await OpenBBChat(server.url, **TODAY).send_text("hi")
    # The reader refuses a stream that begins with anything but an event.
    assert answer.text == "one two"
    assert answer.body.index(": keep-alive") > answer.body.index('"one"')


@pytest.mark.demand("language.sentences_in_persons_language")
async def test_status_updates_and_ends_are_in_the_person_s_language() -> None:
    thinks: list[Event] = [ReasoningStart("r"), ReasoningDelta("r", "Hm."), ReasoningEnd("r")]
    answer = await ask_for_events(*thinks, RunFinished("stop"), question="你好")
    assert answer.statuses == [("INFO", "思考")]
    assert answer.text == "模型没有给出回答。请重新提问。"
