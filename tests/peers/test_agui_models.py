"""AG-UI's own models (ag-ui-protocol): every event of every run fits them and comes out as it went in."""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.types.events import (
    Artifact,
    Citations,
    Custom,
    Event,
    Interrupt,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepStart,
    SubRunEvent,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.turn import Turn
from rightseat.wiring.lookup import make_model
from tests.kit.app_server import AppServer, serve_runtime
from tests.kit.client import RawHttpClient
from tests.peers.client_runner import HERE, find_command
from tests.peers.client_tools import TOOLS
from tests.peers.prerequisites import require
from tests.unit.doors.copilotkit.agui import EMPTY_RUN_FIELDS, make_run_input, request_json

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
PEER = "ag-ui-protocol"
SCRIPT = f"scripted:{HERE / 'script.json'}"
Validate = Callable[..., dict[str, Any]]
EMPTY_SCHEMA = {"type": "object", "properties": {}}
PAGE_TOOLS = [{"name": name, "description": name, "parameters": EMPTY_SCHEMA} for name in ("locate", "clock")]
# What the script answers to: each is a run of its own shape.
QUESTIONS = (
    *("hello", "sum", "where am i", "pair", "both x", "question", "book x", "trip x", "twins x", "stroll"),
    *("object", "void", "wrong type", "wrong json", "wrong client", "unknown", "stumble", "long", "cut held"),
    *("cut shown", "refuse", "think", "break", "silent"),
)
ALL_EVENTS = {
    *("RunStartedEvent", "RunFinishedEvent", "RunErrorEvent", "CustomEvent"),
    *("TextMessageStartEvent", "TextMessageContentEvent", "TextMessageEndEvent"),
    *("ToolCallStartEvent", "ToolCallArgsEvent", "ToolCallEndEvent", "ToolCallResultEvent"),
    *("StateSnapshotEvent", "StateDeltaEvent", "StepStartedEvent", "StepFinishedEvent"),
    *("ReasoningStartEvent", "ReasoningMessageStartEvent", "ReasoningMessageContentEvent"),
    *("ReasoningMessageEndEvent", "ReasoningEndEvent"),
    *("SubagentStartedEvent", "SubagentFinishedEvent", "SubagentErrorEvent"),
}


@pytest.fixture(scope="module")
def validate(record_driven: Callable[[str, str], None]) -> Iterator[Validate]:
    require(PEER)
    kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    with subprocess.Popen(
        find_command(PEER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kept
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        record_driven(PEER, json.loads(child.stdout.readline())["version"])

        def told(do: str, **more: Any) -> dict[str, Any]:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps({"do": do, **more}) + "\n")
            child.stdin.flush()
            found: dict[str, Any] = json.loads(child.stdout.readline())
            return found

        yield told
        child.stdin.close()


async def fetch_frames(server: AppServer, target: str, body: dict[str, Any]) -> list[Any]:
    async with RawHttpClient(server.url) as client:
        await client.post_json(target, body)
        assert (await client.read_head()).status == 200
        return [frame.json async for frame in client.iterate_frames() if frame.data]


def validate_frames(validate: Validate, frames: list[Any]) -> set[str]:
    kinds = set()
    assert frames
    for data in frames:
        verdict = validate("frame", data=data)
        assert verdict["error"] is None, data
        kinds.add(verdict["kind"])
    return kinds


async def stream_all_events(turn: Turn) -> AsyncIterator[Event]:
    yield ReasoningStart("r")
    yield ReasoningDelta("r", "Hm.")
    yield ReasoningEnd("r")
    yield StepStart("left open")
    yield StateSnapshot({"a": [1, None, "汉字"]})
    yield StateDelta([{"op": "replace", "path": "/a/0", "value": None}])
    yield TextStart("m")
    yield TextDelta("m", "\r\ndata: x\u2028")
    yield TextEnd("m")
    yield Artifact("a1", "table", "Prices", [{"price": 1.5}])
    yield Citations([{"title": "A page", "url": "https://example.com/a"}])
    yield Suggestions(("more?",))
    yield Custom("mine", {"deep": [None]})
    for run, end in (("s1", RunFinished("interrupt")), ("s2", RunFailed("agent_failed", "Lost."))):
        for inside in (RunStarted("t.c", run), TextDelta("m", "x"), end):
            yield SubRunEvent(run, "guide", "c", inside)
    yield SubRunEvent("left open", "guide", "c", RunStarted("t.c", "left open"))
    yield Interrupt("ask_1", "form", "Which?", {"type": "object"}, "c1", 1_800_000_000.0)
    yield Interrupt("ask_2", "ask", "And?", {"type": "string"})
    yield RunFinished("interrupt", Usage(3, 4, 1))


@pytest.mark.demand("agents.hand_off_agent_flow", "copilotkit.ag_ui_events_validate")
async def test_every_run_of_the_script(validate: Validate) -> None:
    seen: set[str] = set()
    async with serve_runtime(
        Runtime(model=make_model(SCRIPT), tools=TOOLS, agents={"every": stream_all_events})
    ) as server:
        for words in QUESTIONS:
            body = make_run_input(words, thread=f"t-{words}", tools=PAGE_TOOLS)
            seen |= validate_frames(
                validate, await fetch_frames(server, "/agui/default", {**body, "threadId": f"a-{words}"})
            )
            seen |= validate_frames(validate, await fetch_frames(server, "/copilotkit/agent/default/run", body))
            seen |= validate_frames(validate, await fetch_frames(server, "/copilotkit/agent/default/connect", body))
        seen |= validate_frames(
            validate, await fetch_frames(server, "/agui/every", {**make_run_input("hi"), "protocolVersion": "1.0"})
        )
    assert seen == ALL_EVENTS


@pytest.mark.demand("copilotkit.ag_ui_events_validate")
async def test_an_export_is_events_too(validate: Validate) -> None:
    async with serve_runtime(Runtime(model=make_model(SCRIPT), tools=TOOLS)) as server:
        for number, words in enumerate(("break", "book x", "no", "break")):
            await fetch_frames(server, "/copilotkit/agent/default/run", make_run_input(words, run=f"r{number}"))
        _, thread = await request_json(server, "/copilotkit/threads/t/events", method="GET")
    assert "RunFinishedEvent" in validate_frames(validate, thread["events"])
    assert [event["type"] for event in thread["events"]].count("RUN_STARTED") == 4
    # A failure that another run followed is no error: older clients take nothing after one.
    ends = [event.get("outcome", {}).get("type", "error") for event in thread["events"] if is_last_event(event)]
    assert ends == ["cancelled", "interrupt", "success", "error"]


def is_last_event(event: dict[str, Any]) -> bool:
    return event["type"] in ("RUN_FINISHED", "RUN_ERROR")


@pytest.mark.demand("copilotkit.ag_ui_events_validate")
async def test_what_its_models_send_is_answered(validate: Validate) -> None:
    async with serve_runtime(Runtime(model=make_model(SCRIPT))) as server:
        for target in ("/agui/default", "/copilotkit/agent/default/run"):
            found = await fetch_frames(server, target, validate("request", thread=target))
            assert found[-1]["type"] == "RUN_FINISHED"


@pytest.mark.demand("copilotkit.ag_ui_events_validate")
def test_the_judge_can_say_no(validate: Validate) -> None:
    assert validate("frame", data={"type": "TEXT_MESSAGE_START", "messageId": "m", **EMPTY_RUN_FIELDS})["error"]
    assert validate("frame", data={"type": "NO_SUCH_EVENT"})["error"]
    assert validate("frame", data={"type": "RUN_FINISHED", "threadId": "t"})["error"]
