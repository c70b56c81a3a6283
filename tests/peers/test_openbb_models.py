"""The official openbb-ai models: all that we send fits them, and all that they can send is answered."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from rightseat import Prompt, Runtime, tool
from rightseat.doors.openbb import write
from rightseat.http.fetch import AddressRules, OutboundClient
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import (
    Artifact,
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Citations,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFinished,
    StepEnd,
    StepStart,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.peers.openbb_driver import Validate, start_driver
from tests.unit.doors.openbb.client import (
    LEGACY_WIDGETS,
    MCP_TOOL,
    PRICE_ROWS,
    WIDGETS,
    OpenBBChat,
    QueryAnswer,
    make_result_item,
    post_query,
)

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
REQUEST_COUNT = 400


@pytest.fixture(scope="module")
def validate(record_driven: Callable[[str, str], None]) -> Iterator[Validate]:
    with start_driver(record_driven) as found:
        yield found


@pytest.fixture(autouse=True)
def no_outbound_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "make_outbound", lambda rules: OutboundClient(AddressRules(hosts=())))


def validate_answers(validate: Validate, *answers: QueryAnswer) -> None:
    for answer in answers:
        assert answer.frames
        for event, data in answer.frames:
            assert validate("frame", event=event, data=data) == {"error": None}, data
        assert validate("stream", text=answer.body)["text"] == answer.text


async def stream_all_events(turn: Turn) -> AsyncIterator[Event]:
    yield ReasoningStart("r")
    yield ReasoningDelta("r", "Hm.")
    yield ReasoningEnd("r")
    yield StepStart("Fetch")
    yield StepEnd("Fetch")
    yield CallStart("c", "add", "m")
    yield CallArgs("c", '{"a": 1}')
    yield CallEnd("c")
    yield CallResult("c", "no", failed=True)
    yield TextStart("m")
    yield TextDelta("m", "It's done: 汉字.")
    yield TextEnd("m")
    yield Artifact("a1", "table", "Prices", PRICE_ROWS)
    chart = {"xAxis": {"data": ["Mo", "Tu"]}, "series": [{"type": "bar", "name": "n", "data": [1, 2]}]}
    yield Artifact("a2", "chart", "Bars", chart)
    pie = {"series": [{"type": "pie", "data": [{"name": "a", "value": 1}]}]}
    yield Artifact("a3", "chart", "Pie", pie)
    yield Artifact("a4", "text", "Note", "text")
    yield Citations([{"title": "A page", "url": "https://example.com/a"}, {"name": "x", "uuid": "y"}])
    yield Suggestions(("more?",))
    yield RunFinished("stop")


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_every_kind_of_event(validate: Validate) -> None:
    async with serve_runtime(Runtime(agents={"agent": stream_all_events})) as server:
        answer = await OpenBBChat(server.url, timezone="UTC").send_text("go")
    assert {event for event, _ in answer.frames} >= {"copilotMessageArtifact", "copilotCitationCollection"}
    validate_answers(validate, answer)


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_every_kind_of_call_and_what_follows_it(validate: Validate) -> None:
    asked = [
        ("price", '{"symbol": "A"}'),
        ("ratios", "{}"),
        ("news", "{}"),
        ("docs_search", '{"query": "x"}'),
        ("get_parameter_options", '{"parameter": "ratios.period"}'),
        ("get_skill_content", '{"slug": "s"}'),
    ]
    async with serve_runtime(Runtime(model=FakeModel(reply_calls(*asked), reply_text("Done.")))) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS, tools=[MCP_TOOL], skills_catalog=[{"slug": "s"}])
        answers = [await chat.send_text("go")]
        while (call := answers[-1].call) is not None:
            results = [make_result_item("x") for _ in call["input_arguments"].get("data_sources", [0])]
            answers.append(await chat.send_result(call, *results))
    assert len(answers) == 6
    assert answers[-1].text == "Done."
    validate_answers(validate, *answers)


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_the_harness_reads_the_stream_of_2024_too(validate: Validate) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_calls(("ratios", "{}")), reply_text("Done.")))) as server:
        chat = OpenBBChat(server.url, legacy=True, widgets=LEGACY_WIDGETS)
        first = await chat.send_text("go")
        assert first.call is not None
        last = await chat.send_result(first.call, "x")
    assert validate("stream", text=first.body)["events"] == ["copilotFunctionCall"]
    validate_answers(validate, last)


async def test_a_failure(validate: Validate) -> None:
    @tool
    def never() -> str:
        """Is never called."""
        return ""

    async with serve_runtime(Runtime(model=FakeModel(), tools=[never])) as server:
        answer = await OpenBBChat(server.url, timezone="UTC").send_text("go")
    assert answer.text.endswith("(internal)")
    validate_answers(validate, answer)


class ToolCallingModel:
    """Calls a tool where there is one, so that every widget's schema is used."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        tools = prompt.tools if prompt.messages[-1].role == "user" else ()
        for fragment in reply_calls((tools[0].name, "{}")) if tools else reply_text("ok"):
            yield fragment


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_every_request_that_the_models_can_make_is_answered(validate: Validate) -> None:
    bodies = (await asyncio.to_thread(validate, "requests", count=REQUEST_COUNT))["requests"]
    assert len(bodies) == REQUEST_COUNT
    async with serve_runtime(Runtime(model=ToolCallingModel())) as server:
        for body in bodies:
            answer = await post_query(server.url, body)
            assert answer.head.status == 200, (answer.body, body)
            assert "(internal)" not in answer.text, body
