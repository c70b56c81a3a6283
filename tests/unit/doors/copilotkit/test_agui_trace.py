"""The trace of a run: kept with its thread, the same in the live stream and after a reload."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import Prompt
from tests.kit.app_server import AppServer, FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import SseFrame
from tests.unit.doors.copilotkit.agui import collect_frames, list_event_types, make_run_input

pytestmark = pytest.mark.io


def list_traces(frames: list[SseFrame]) -> list[dict[str, Any]]:
    return [frame.json["value"] for frame in frames if frame.json.get("name") == "trace"]


@tool
def add(a: int, b: int) -> int:
    """Add numbers."""
    return a + b


@tool(confirm=True)
def cancel(id: str) -> str:
    """Cancel an order."""
    return f"{id} cancelled"


async def run_and_reload(server: AppServer, body: dict[str, Any]) -> tuple[list[SseFrame], list[SseFrame]]:
    frames = await collect_frames(server, "run", body)
    return frames, await collect_frames(server, "connect", make_run_input(protocolVersion="1.0"))


@pytest.mark.demand("playground.trace_kept_with_thread")
async def test_a_run_tells_its_rounds_with_times_and_usage() -> None:
    answer: list[ModelChunk] = [TextChunk("5"), UsageChunk(Usage(20, 3)), FinishChunk("stop")]
    model = FakeModel(
        [*reply_calls(("add", '{"a":2,"b":3}'))[:-1], UsageChunk(Usage(10, 7)), FinishChunk("calls")], answer
    )
    async with serve_runtime(Runtime(model=model, tools=[add])) as server:
        frames, again = await run_and_reload(server, make_run_input("2+3", run="r", protocolVersion="1.0"))
    assert list_event_types(frames)[-2:] == ["CUSTOM", "RUN_FINISHED"]
    (trace,) = list_traces(frames)
    assert list_traces(again) == [trace]
    assert (trace["run"], [(call["input"], call["output"]) for call in trace["models"]]) == ("r", [(10, 7), (20, 3)])
    assert all(0 <= call["began"] <= call["first"] <= call["ended"] <= trace["took"] for call in trace["models"])
    spans = {span["kind"]: span for span in trace["spans"]}
    assert (set(spans), spans["call"]["name"]) == ({"call", "message"}, "add")
    assert spans["call"]["began"] <= spans["call"]["called"] <= spans["call"]["ended"] <= spans["message"]["began"]
    assert trace["began"] > 1_700_000_000_000


@pytest.mark.demand("playground.trace_kept_with_thread")
@pytest.mark.parametrize(("approved", "outcome"), [(True, "allowed"), (False, "declined")])
async def test_an_approval_is_told_with_its_outcome(approved: bool, outcome: str) -> None:
    model = FakeModel(reply_calls(("cancel", '{"id":"A7"}')), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[cancel])) as server:
        frames = await collect_frames(server, "run", make_run_input("go", run="r1", protocolVersion="1.0"))
        (interrupt,) = frames[-1].json["outcome"]["interrupts"]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": approved}}]
        _, again = await run_and_reload(server, make_run_input(run="r2", resume=resume, protocolVersion="1.0"))
    first, second = list_traces(again)
    assert "answers" not in first
    assert second["answers"] == [{"id": interrupt["id"], "outcome": outcome}]
    (waiting,), (resumed, *_) = first["spans"], second["spans"]
    assert ("ended" in waiting, waiting["id"]) == (False, resumed["id"])
    # What a person takes is between the runs, and in none of them.
    assert second["began"] >= first["began"] + first["took"]


async def test_a_failed_run_has_a_trace_and_may_be_asked_again() -> None:
    def fail(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        raise UpstreamRefused("The model is away.")

    async with serve_runtime(Runtime(model=FakeModel(fail, reply_text("Now.")))) as server:
        body = make_run_input("hi", run="r", protocolVersion="1.0")
        frames = await collect_frames(server, "run", body)
        (trace,) = list_traces(frames)
        assert trace["error"] == trace["models"][0]["error"] == frames[-1].json["code"]
        again = await collect_frames(server, "run", body)
    assert list_event_types(again)[-1] == "RUN_FINISHED"
