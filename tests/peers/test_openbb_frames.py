"""Every kind of frame that the OpenBB door writes, held against the official openbb-ai models: a table of cases for
each event. An event or a field that the models do not know fails."""

import datetime
import decimal
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightseat import Result, Runtime, tool
from rightseat.doors.openbb import write
from rightseat.errors import ContextTooLong, RightseatError, UpstreamBusy, UpstreamRefused, UpstreamTimeout
from rightseat.http.fetch import AddressRules, OutboundClient
from rightseat.types.chunks import FinishChunk, ModelChunk, ReasoningChunk, TextChunk
from rightseat.types.events import Artifact, Citations, Custom, Event, RunFinished, StepEnd, StepStart, Suggestions
from rightseat.types.model import Prompt
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.peers.openbb_driver import Validate, start_driver
from tests.unit.doors.openbb.client import (
    MCP_TOOL,
    PRICE_ROWS,
    WIDGETS,
    OpenBBChat,
    QueryAnswer,
    make_result_item,
    post_query,
)

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
DAY = datetime.date(2026, 11, 16)
ROWS: list[dict[Any, Any]] = [
    {"day": DAY, "when": datetime.datetime(2026, 11, 16, 9, 30, tzinfo=datetime.UTC), "price": decimal.Decimal("1.10")},
    {"day": None, "when": datetime.timedelta(hours=1), "price": float("nan"), ("high", 1): b"\xff"},
]
PLAIN_ROWS = [{"name": "a", "value": 1, "more": 2}, {"name": "b", "value": None, "more": 4.5}]


def make_row_chart(kind: str, rows: Any = PLAIN_ROWS) -> dict[str, Any]:
    return {"data": rows, "chart": {"type": kind, "x": "name", "y": ["value", "more"]}}


def make_option(kind: str, **more: Any) -> dict[str, Any]:
    """Make an ECharts option."""
    if kind == "pie":
        return {"series": [{"type": "pie", "data": [{"name": "a", "value": 1}, {"value": 2}], **more}]}
    return {"xAxis": {"data": ["Mo", "Tu"]}, "series": [{"type": kind, "data": [1, None]}, {"type": kind, "data": []}]}


ARTIFACTS: dict[str, tuple[Artifact, str]] = {
    "table": (Artifact("1", "table", "Prices", PRICE_ROWS, "Closing prices"), "table"),
    "table of Python values": (Artifact("1", "table", 'Prices "now" <b>', ROWS), "table"),
    "table of columns": (Artifact("1", "table", "", {"columns": ["a", "b"], "rows": [[1, 2], [3]]}), "table"),
    "table of numbers": (Artifact("1", "table", "Numbers", [1, 2]), "table"),
    "text": (Artifact("1", "text", "Note", "# Note\n汉字"), "text"),
    "object as text": (Artifact("1", "text", "Note", {"a": DAY}), "text"),
    "html": (Artifact("1", "html", "Page", "<b>hi</b>"), "html"),
    "file": (Artifact("1", "file", "a b.csv", {"media_type": "text/csv", "data": b"a,b"}), "text"),
    "chart of Python values": (
        Artifact("1", "chart", "C", {"data": ROWS, "chart": {"type": "line", "x": "day", "y": "price"}}),
        "chart",
    ),
    **{
        f"{kind} of rows": (Artifact("1", "chart", "C", make_row_chart(kind)), "chart")
        for kind in ("line", "bar", "scatter", "pie", "donut")
    },
    **{
        f"{kind} option": (Artifact("1", "chart", "C", make_option(kind)), "chart")
        for kind in ("line", "bar", "scatter", "pie")
    },
    "donut option": (Artifact("1", "chart", "C", make_option("pie", radius=["40%", "70%"])), "chart"),
    "chart that Workspace does not draw": (Artifact("1", "chart", "C", make_row_chart("radar")), "table"),
    "large table": (Artifact("1", "table", "Large", [{"text": "x" * 1000}] * 9000), "table"),
}
BOX = {"text": "q", "page": 1, "x0": 1.5, "top": 2, "x1": 3, "bottom": 4}
CITATIONS: dict[str, dict[Any, Any]] = {
    "web": {"title": "A page", "url": "https://example.com/a"},
    "name alone": {"name": "x", "uuid": "y"},
    "nothing": {},
    "Python values": {"title": "T", "details": [{"day": DAY, "share": decimal.Decimal("0.5")}]},
    "widget": {"source_info": {"type": "widget", "origin": "o", "widget_id": "w", "metadata": {"day": DAY}}},
    "artifact": {"source_info": {"type": "artifact", "name": "a"}, "details": [{"Page": 2}]},
    "boxes": {"title": "PDF", "quote_bounding_boxes": [[BOX], [BOX, BOX]]},
    "boxes that cannot be read": {"title": "PDF", "quote_bounding_boxes": [[{"text": "q"}]]},
}
STATUS_EVENTS: dict[str, list[Event]] = {
    "step": [StepStart("Fetch"), StepEnd("Fetch")],
    "progress": [Custom("progress", {"message": "Half"})],
    "progress with details": [Custom("progress", {"message": "m", "details": [{"a": DAY}, "b", 3, None, [1]]})],
    "warning": [Custom("progress", {"message": "m", "warning": True, "details": {"not": "a list"}})],
    "suggestions": [Suggestions(("more?", "汉字?"))],
    "other event": [Custom("unknown", {"x": 1})],
}
RESULTS: dict[str, Any] = {
    "long table": PRICE_ROWS * 20_000,
    "date": {"a": DAY},
    "text": "x" * 5000,
    "iterator": iter([1]),
    "nothing": None,
}
FAILURES: list[RightseatError] = [
    UpstreamBusy("The model is busy."),
    UpstreamRefused("No server."),
    UpstreamTimeout("Too slow."),
    ContextTooLong("Too long."),
]


@pytest.fixture(scope="module")
def validate(record_driven: Callable[[str, str], None]) -> Iterator[Validate]:
    with start_driver(record_driven) as driver:
        yield driver


@pytest.fixture(autouse=True)
def no_outbound_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "make_outbound", lambda rules: OutboundClient(AddressRules(hosts=())))


def validate_answer(validate: Validate, answer: QueryAnswer) -> None:
    assert answer.head.status == 200
    assert answer.frames
    for event, data in answer.frames:
        assert validate("frame", event=event, data=data) == {"error": None}, (event, str(data)[:500])


async def emit_through_tool(events: list[Event], result: Any = "done") -> QueryAnswer:
    """Return the answer of a model that calls a tool which yields these events."""

    @tool
    async def emit() -> AsyncIterator[Event | Result | Pause]:
        """Emit events."""
        for event in events:
            yield event
        yield Result(result)

    model = FakeModel(reply_calls(("emit", "{}")), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[emit])) as server:
        return await OpenBBChat(server.url, timezone="UTC", widgets=WIDGETS).send_text("go")


async def emit_by_agent(events: list[Event]) -> QueryAnswer:
    """Return the answer of an agent that yields these events."""

    async def agent(turn: Turn) -> AsyncIterator[Event]:
        for event in events:
            yield event
        yield RunFinished("stop")

    async with serve_runtime(Runtime(agents={"agent": agent})) as server:
        return await OpenBBChat(server.url, timezone="UTC").send_text("go")


@pytest.mark.demand("openbb.json_we_send_validates")
@pytest.mark.parametrize("name", ARTIFACTS)
async def test_artifacts(validate: Validate, name: str) -> None:
    event, kind = ARTIFACTS[name]
    for answer in (await emit_through_tool([event]), await emit_by_agent([event])):
        validate_answer(validate, answer)
        [artifact] = answer.list_events("copilotMessageArtifact")
        assert artifact["type"] == kind


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_a_table_without_rows_is_a_sentence(validate: Validate) -> None:
    event = Artifact("1", "table", "Prices", [])
    for answer in (await emit_through_tool([event]), await emit_by_agent([event])):
        validate_answer(validate, answer)
        assert answer.list_events("copilotMessageArtifact") == []
        assert "Prices" in answer.text


@pytest.mark.demand("openbb.json_we_send_validates")
@pytest.mark.parametrize("name", CITATIONS)
async def test_citations(validate: Validate, name: str) -> None:
    answer = await emit_through_tool([Citations([CITATIONS[name]])])
    validate_answer(validate, answer)
    [citation] = answer.list_events("copilotCitationCollection")[0]["citations"]
    assert ("quote_bounding_boxes" in citation) == (name == "boxes")


@pytest.mark.demand("openbb.json_we_send_validates")
@pytest.mark.parametrize("name", STATUS_EVENTS)
async def test_status_updates_and_suggestions(validate: Validate, name: str) -> None:
    validate_answer(validate, await emit_through_tool(STATUS_EVENTS[name]))


@pytest.mark.demand("openbb.json_we_send_validates", "openbb.large_tables")
@pytest.mark.parametrize("name", RESULTS)
async def test_results_of_tools(validate: Validate, name: str) -> None:
    answer = await emit_through_tool([], RESULTS[name])
    validate_answer(validate, answer)
    assert answer.text == "Done."


def fail_before(error: Exception) -> Callable[[Prompt], AsyncIterator[ModelChunk]]:
    async def stream(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        raise error
        yield TextChunk("")

    return stream


def fail_midway(error: Exception) -> Callable[[Prompt], AsyncIterator[ModelChunk]]:
    async def stream(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield ReasoningChunk("Hm.")
        yield TextChunk("So far")
        raise error

    return stream


@pytest.mark.demand("openbb.json_we_send_validates", "openbb.failures_arrive_200_stream")
@pytest.mark.parametrize("error", [*FAILURES, ValueError("bug")], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("fail", [fail_before, fail_midway])
async def test_failures_and_the_stream_after_one(
    validate: Validate, error: Exception, fail: Callable[[Exception], Any]
) -> None:
    async with serve_runtime(Runtime(model=FakeModel(fail(error), *[reply_text("Again.")] * 3))) as server:
        chat = OpenBBChat(server.url, timezone="UTC", widgets=WIDGETS)
        first, second = await chat.send_text("go"), await chat.send_text("again")
    code = error.code if isinstance(error, RightseatError) else "internal"
    assert first.text.endswith(f"({code})") or first.text.endswith("Again.")
    assert second.text == "Again."
    for answer in (first, second):
        validate_answer(validate, answer)


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_a_failure_after_a_clients_result(validate: Validate) -> None:
    model = FakeModel(reply_calls(("price", "{}")), *[fail_before(ContextTooLong("Too long."))] * 3)
    async with serve_runtime(Runtime(model=model)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, tools=[MCP_TOOL])
        first = await chat.send_text("go")
        assert first.call is not None
        second = await chat.send_result(first.call, make_result_item(PRICE_ROWS * 1000))
    assert second.text.endswith("(context_too_long)")
    for answer in (first, second):
        validate_answer(validate, answer)


@pytest.mark.demand("openbb.json_we_send_validates")
@pytest.mark.parametrize("finish", ["length", "content_filter", "stop"])
async def test_answers_that_are_cut_or_empty(validate: Validate, finish: Any) -> None:
    replies: list[list[ModelChunk]] = [[TextChunk("a"), FinishChunk(finish)], [FinishChunk(finish)]]
    for reply in replies:
        async with serve_runtime(Runtime(model=FakeModel(*[reply] * 3))) as server:
            validate_answer(validate, await OpenBBChat(server.url, timezone="UTC").send_text("go"))


@pytest.mark.demand("openbb.json_we_send_validates")
def test_an_unknown_event_or_field_fails(validate: Validate) -> None:
    assert validate("frame", event="copilotNews", data={})["error"] == "there is no event copilotNews"
    citations = {"citations": [{"source_info": {"type": "web", "colour": "red"}}]}
    refusal = validate("frame", event="copilotCitationCollection", data=citations)["error"]
    assert refusal == "the model has no field data.citations[].source_info.colour"


FOLDER = Path(__file__).parents[3] / "shared" / "wire" / "openbb-cases"
RECORDED = {path.stem: json.loads(path.read_bytes()) for path in sorted(FOLDER.glob("*.json"))}


@pytest.mark.demand("openbb.json_we_send_validates", "openbb.bad_input_recorded_case")
@pytest.mark.skipif(not RECORDED, reason="no recordings beside this checkout")
@pytest.mark.parametrize("name", RECORDED)
async def test_what_the_official_request_model_accepts_is_answered(validate: Validate, name: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("ok")))) as server:
        answer = await post_query(server.url, RECORDED[name])
    if validate("accepts", body=RECORDED[name])["accepted"]:
        assert (answer.head.status, answer.text) == (200, "ok")
        validate_answer(validate, answer)
