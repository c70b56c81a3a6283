"""The official openbb-ai models: all that we send fits them, and all that they can send is answered."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

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
from tests.kit.house import Lines, calls, house, says
from tests.peers.need import require
from tests.peers.rig import command
from tests.unit.doors.openbb.client import LISTED, ROWS, SEARCH, WIDGETS, Answer, Chat, item, post

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
Ask = Callable[..., dict[str, Any]]
REQUESTS = 400


@pytest.fixture(scope="module")
def ask(driven: Callable[[str, str], None]) -> Iterator[Ask]:
    require("openbb-ai")
    kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    with subprocess.Popen(
        command("openbb-ai"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kept
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        driven("openbb-ai", json.loads(child.stdout.readline())["version"])

        def told(do: str, **more: Any) -> dict[str, Any]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps({"do": do, **more}) + "\n")
            child.stdin.flush()
            found: dict[str, Any] = json.loads(child.stdout.readline())
            return found

        yield told
        child.stdin.close()


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "make_outbound", lambda: OutboundClient(AddressRules(hosts=())))


def judged(ask: Ask, *answers: Answer) -> None:
    for answer in answers:
        assert answer.frames
        for event, data in answer.frames:
            assert ask("frame", event=event, data=data) == {"error": None}, data
        assert ask("stream", text=answer.body)["text"] == answer.text


async def everything(turn: Turn) -> AsyncIterator[Event]:
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
    yield Artifact("a1", "table", "Prices", ROWS)
    chart = {"xAxis": {"data": ["Mo", "Tu"]}, "series": [{"type": "bar", "name": "n", "data": [1, 2]}]}
    yield Artifact("a2", "chart", "Bars", chart)
    pie = {"series": [{"type": "pie", "data": [{"name": "a", "value": 1}]}]}
    yield Artifact("a3", "chart", "Pie", pie)
    yield Artifact("a4", "text", "Note", "text")
    yield Citations([{"title": "A page", "url": "https://example.com/a"}, {"name": "x", "uuid": "y"}])
    yield Suggestions(("more?",))
    yield RunFinished("stop")


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_every_kind_of_event(ask: Ask) -> None:
    async with house(Runtime(agents={"agent": everything})) as server:
        answer = await Chat(server.url, timezone="UTC").say("go")
    assert {event for event, _ in answer.frames} >= {"copilotMessageArtifact", "copilotCitationCollection"}
    judged(ask, answer)


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_every_kind_of_call_and_what_follows_it(ask: Ask) -> None:
    asked = [
        ("price", '{"symbol": "A"}'),
        ("ratios", "{}"),
        ("news", "{}"),
        ("docs_search", '{"query": "x"}'),
        ("get_parameter_options", '{"parameter": "ratios.period"}'),
        ("get_skill_content", '{"slug": "s"}'),
    ]
    async with house(Runtime(model=Lines(calls(*asked), says("Done.")))) as server:
        chat = Chat(server.url, widgets=WIDGETS, tools=[SEARCH], skills_catalog=[{"slug": "s"}])
        answers = [await chat.say("go")]
        while (call := answers[-1].call) is not None:
            results = [item("x") for _ in call["input_arguments"].get("data_sources", [0])]
            answers.append(await chat.give(call, *results))
    assert len(answers) == 6
    assert answers[-1].text == "Done."
    judged(ask, *answers)


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_the_harness_reads_the_stream_of_2024_too(ask: Ask) -> None:
    async with house(Runtime(model=Lines(calls(("ratios", "{}")), says("Done.")))) as server:
        chat = Chat(server.url, old=True, widgets=LISTED)
        first = await chat.say("go")
        assert first.call is not None
        last = await chat.give(first.call, "x")
    assert ask("stream", text=first.body)["events"] == ["copilotFunctionCall"]
    judged(ask, last)


async def test_a_failure(ask: Ask) -> None:
    @tool
    def never() -> str:
        """Is never called."""
        return ""

    async with house(Runtime(model=Lines(), tools=[never])) as server:
        answer = await Chat(server.url, timezone="UTC").say("go")
    assert answer.text.endswith("(internal)")
    judged(ask, answer)


class Calling:
    """Calls a tool where there is one, so that every widget's schema is used."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        tools = prompt.tools if prompt.messages[-1].role == "user" else ()
        for fragment in calls((tools[0].name, "{}")) if tools else says("ok"):
            yield fragment


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_every_request_that_the_models_can_make_is_answered(ask: Ask) -> None:
    bodies = (await asyncio.to_thread(ask, "requests", count=REQUESTS))["requests"]
    assert len(bodies) == REQUESTS
    async with house(Runtime(model=Calling())) as server:
        for body in bodies:
            answer = await post(server.url, body)
            assert answer.head.status == 200, (answer.body, body)
            assert "(internal)" not in answer.text, body
