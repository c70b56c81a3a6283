"""OpenBB's own test harness reads our streams: what its examples show, an author builds here, and the harness finds it.

The requests have the form of that harness: often nothing but messages, and no header of a chat.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from rightseat import Layer, Responder, Runtime, Turn
from rightseat.types.events import Artifact, Citations, Custom, Event, RunFinished, Suggestions
from rightseat.types.streams import closing
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.peers.openbb_driver import Validate, start_driver
from tests.unit.doors.openbb.client import post_query

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
UUID = "0f0e0d0c-0b0a-4908-8706-050403020100"
NEWS = {
    "uuid": UUID,
    "origin": "house",
    "widget_id": "headlines",
    "name": "Headlines",
    "description": "What the papers say of a company",
    "params": [{"name": "company", "type": "string", "description": "Its ticker", "current_value": "ACME"}],
    "metadata": {},
}
SOURCE = {"widget_uuid": UUID, "origin": "house", "id": "headlines", "input_args": {"company": "ACME"}}
WIDGETS = {"primary": [NEWS], "secondary": [], "extra": []}
ROWS = [{"day": "Mo", "price": 1}, {"day": "Tu", "price": 3}]
STATUS = "copilotStatusUpdate"
ARTIFACT = "copilotMessageArtifact"


@pytest.fixture(scope="module")
def validate(record_driven: Callable[[str, str], None]) -> Iterator[Validate]:
    with start_driver(record_driven) as found:
        yield found


async def follow(validate: Validate, runtime: Runtime, body: dict[str, Any], *steps: list[Any]) -> None:
    """Post a query and let the harness take its steps through the answer."""
    async with serve_runtime(runtime) as server:
        answer = await post_query(server.url, body)
    assert validate("follow", text=answer.body, steps=list(steps)) == {"failed": None}


def ask(text: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "human", "content": text}], **fields}


def add_events(before: list[Event], after: list[Event]) -> Layer:
    """An author's layer, with events around the model's answer."""

    def layer(answer: Responder) -> Responder:
        async def answer_with_events(turn: Turn) -> AsyncIterator[Event]:
            for event in before:
                yield event
            async with closing(answer(turn)) as events:
                async for event in events:
                    for last in after if isinstance(event, RunFinished) else ():
                        yield last
                    yield event

        return answer_with_events

    return layer


@pytest.mark.demand("openbb.official_harness_reads_answers")
async def test_a_conversation(validate: Validate) -> None:
    history = [{"role": "human", "content": "One and one?"}, {"role": "ai", "content": "Two."}]
    body = {"messages": [*history, {"role": "human", "content": "And two and two?"}]}
    steps = [["starts", "copilotMessage"], ["with_", "four"], ["ends", "copilotMessage"]]
    await follow(validate, Runtime(model=FakeModel(reply_text("That is ", "Four."))), body, *steps)


@pytest.mark.demand("openbb.official_harness_reads_answers")
async def test_a_widget_is_requested_first_of_all_and_its_data_cited_last(validate: Validate) -> None:
    arguments = {"data_sources": [SOURCE]}
    call = {"function": "get_widget_data", "input_arguments": arguments}
    mcp_tool = {"server_id": "s", "name": "Docs_search", "url": "http://docs.example", "description": "Search"}
    body = ask("What do the papers say?", widgets=WIDGETS, tools=[{**mcp_tool, "input_schema": {"type": "object"}}])
    runtime = Runtime(model=FakeModel(reply_calls(("headlines", "{}"))))
    await follow(validate, runtime, body, ["starts", "copilotFunctionCall"], ["with_", call])
    result = {"role": "tool", **call, "data": [{"items": [{"content": "ACME soars"}]}]}
    body["messages"].append({**result, "extra_state": {"copilot_function_call_arguments": {"widget_uuid": UUID}}})
    steps = [["starts", "copilotMessage"], ["with_", "positive"], ["ends", "copilotCitationCollection"]]
    await follow(validate, Runtime(model=FakeModel(reply_text("Positive."))), body, *steps, ["with_", "headlines"])


@pytest.mark.demand("openbb.official_harness_reads_answers")
async def test_an_authors_status_updates_around_an_answer(validate: Validate) -> None:
    details = {"source": "papers", "days": "7"}
    before: list[Event] = [
        Custom("progress", {"message": "I begin"}),
        Custom("progress", {"message": "I have looked around", "details": details}),
    ]
    layer = add_events(before, [Custom("progress", {"message": "I am done"})])
    await follow(
        validate,
        Runtime(model=FakeModel(reply_text("Well."))),
        ask("hi"),
        ["starts", "copilotMessage"],
        ["with_", "well"],
    )
    await follow(
        validate,
        Runtime(model=FakeModel(reply_text("Well.")), layers=[layer]),
        ask("hi"),
        ["starts", STATUS],
        ["with_", "I begin"],
        ["then", STATUS],
        ["with_", {"eventType": "INFO", "message": "I have looked around", "details": [details]}],
        ["has_any", "copilotMessage", "well"],
        ["ends", STATUS],
        ["with_", "I am done"],
    )


@pytest.mark.demand("openbb.official_harness_reads_answers")
async def test_an_authors_tables_charts_and_pages_with_their_descriptions(validate: Validate) -> None:
    axes = {"chartType": "line", "xKey": "day", "yKey": ["price"]}
    slices = {"chartType": "donut", "angleKey": "price", "calloutLabelKey": "day"}
    page = "<p style='color: red'>Red &amp; bold</p>"
    artifacts: list[Event] = [
        Artifact("1", "table", "All Prices", ROWS, description="Two days"),
        Artifact("2", "chart", "A Line", {"data": ROWS, "chart_params": axes}, description="As a line"),
        Artifact("3", "chart", "A Ring", {"data": ROWS, "chart_params": slices}, description="As a ring"),
        Artifact("4", "html", "A Page", page, description="As a page"),
    ]
    await follow(
        validate,
        Runtime(model=FakeModel(reply_text("Look:")), layers=[add_events([], artifacts)]),
        ask("Show me"),
        ["starts", "copilotMessage"],
        ["has_any", ARTIFACT, {"type": "table", "name": "All Prices", "description": "Two days", "content": ROWS}],
        ["has_any", ARTIFACT, {"type": "chart", "name": "A Line", "description": "As a line", "content": ROWS}],
        ["has_any", ARTIFACT, {"chart_params": axes}],
        ["has_any", ARTIFACT, {"type": "chart", "name": "A Ring", "content": ROWS, "chart_params": slices}],
        ["has_any", ARTIFACT, {"type": "html", "name": "A Page", "description": "As a page", "content": page}],
    )


@pytest.mark.demand("openbb.official_harness_reads_answers")
async def test_an_authors_citations_and_suggestions(validate: Validate) -> None:
    events: list[Event] = [
        Citations([{"title": "The paper", "url": "https://example.com/a"}]),
        Suggestions(("And then?",)),
    ]
    await follow(
        validate,
        Runtime(model=FakeModel(reply_text("So it is.")), layers=[add_events([], events)]),
        ask("Why?"),
        ["starts", "copilotMessage"],
        ["then", "copilotCitationCollection"],
        ["with_", "The paper"],
        ["ends", "copilotPromptSuggestions"],
        ["with_", {"suggestions": ["And then?"]}],
    )


@pytest.mark.demand("openbb.official_harness_reads_answers")
async def test_a_skill_is_requested_in_the_form_of_the_examples(validate: Validate) -> None:
    arguments = {"slug": "ratings", "reason": "It was named."}
    catalog = [{"slug": "ratings", "description": "How to rate", "updatedAt": "2026-01-01T00:00:00Z"}]
    runtime = Runtime(
        model=FakeModel(reply_calls(("get_skill_content", '{"slug":"ratings","reason":"It was named."}')))
    )
    call = {"function": "get_skill_content", "input_arguments": arguments}
    await follow(validate, runtime, ask("Rate it", skills_catalog=catalog), ["has_any", "copilotFunctionCall", call])
