"""CopilotKit's clients of 1.50 and later: AG-UI by one endpoint and by routes, on threads that are kept."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.errors import UpstreamRefused
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.chunks import ModelChunk, ReasoningChunk, TextChunk
from rightseat.types.model import Prompt
from tests.contract.stores.members import FullStore
from tests.kit.app_server import AppServer, FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.copilotkit.agui import (
    THREADS_PATH,
    GatedModel,
    collect_frames,
    join_text,
    list_event_types,
    make_envelope,
    make_run_input,
    merge_deltas,
    read_until_text,
    request_json,
)

pytestmark = pytest.mark.io


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FullStore]:
    keeper: FullStore = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path)
    yield keeper
    await keeper.close()


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
async def test_info_by_both_ways() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        _, by_route = await request_json(server, "/copilotkit/info", method="GET")
        _, by_method = await request_json(server, "/copilotkit", {"method": "info"})
    assert by_route == by_method
    assert isinstance(by_route["version"], str)
    assert by_route["agents"]["default"]["name"] == "default"
    assert by_route["audioFileTranscriptionEnabled"] is False
    assert by_route["mode"] == "sse"


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@pytest.mark.parametrize("single", [False, True])
async def test_a_run_and_its_frames(store: FullStore, single: bool) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Hel", "lo")), store=store)) as server:
        frames = await collect_frames(server, "run", make_run_input("hi"), single_endpoint=single)
        assert list_event_types(frames) == [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "CUSTOM",
            "RUN_FINISHED",
        ]
        # The first number is that of what was posted, which the start brings along. What was said at once is
        # one frame with the number of its last part.
        assert [frame.id for frame in frames] == ["2", "3", "5", "6", "7", "8"]
        assert frames[0].json["input"]["messages"] == [{"id": "u-hi", "role": "user", "content": "hi"}]
        again = await collect_frames(server, "connect", make_run_input(), single_endpoint=single)
    assert join_text(again) == "Hello"
    assert (list_event_types(again)[0], list_event_types(again)[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert again[0].data == frames[0].data


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_a_thread_is_replayed_run_by_run(store: FullStore) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("One."), reply_text("Two.")), store=store)) as server:
        await collect_frames(server, "run", make_run_input("first", run="r1"))
        history = [
            {"id": "u-first", "role": "user", "content": "first"},
            {"id": "a", "role": "assistant", "content": "One."},
            {"id": "u-second", "role": "user", "content": "second"},
        ]
        await collect_frames(server, "run", make_run_input(run="r2", messages=history))
        frames = await collect_frames(server, "connect", make_run_input())
    starts = [frame.json for frame in frames if frame.json["type"] == "RUN_STARTED"]
    assert [start["runId"] for start in starts] == ["r1", "r2"]
    assert [[m["content"] for m in start["input"]["messages"]] for start in starts] == [["first"], ["second"]]
    assert join_text(frames) == "One.Two."


async def test_connecting_to_nothing_is_an_empty_stream() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        assert await collect_frames(server, "connect", make_run_input(thread="new")) == []
        assert await collect_frames(server, "connect", make_run_input(thread="new"), single_endpoint=True) == []


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_leaving_cancels_nothing_and_connecting_follows_to_the_end(store: FullStore) -> None:
    gate = GatedModel()
    async with serve_runtime(Runtime(model=gate, store=store)) as server:
        gate.words.put_nowait("one ")
        async with RawHttpClient(server.url) as client:
            await client.post_json("/copilotkit/agent/default/run", make_run_input("hi"))
            await client.read_head()
            while "CONTENT" not in (await client.read_frame() or SseFrame(None)).json["type"]:
                pass
        later = asyncio.create_task(collect_frames(server, "connect", make_run_input()))
        for word in ("two ", "three", None):
            gate.words.put_nowait(word)
        frames = await later
    assert join_text(frames) == "one two three"
    assert list_event_types(frames)[-1] == "RUN_FINISHED"


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_a_busy_thread_refuses_another_run(store: FullStore) -> None:
    gate = GatedModel()
    async with serve_runtime(Runtime(model=gate, store=store)) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/copilotkit/agent/default/run", make_run_input("hi", run="r1"))
            await client.read_head()
            head, body = await request_json(server, "/copilotkit/agent/default/run", make_run_input("more", run="r2"))
            assert (head.status, body["error"]) == (409, "Thread already running")
            head, body = await request_json(
                server, "/copilotkit", make_envelope("run", make_run_input("more", run="r2"))
            )
            assert (head.status, body["error"]) == (409, "Thread already running")
            # The same run again is the same run.
            async with RawHttpClient(server.url) as again:
                await again.post_json("/copilotkit/agent/default/run", make_run_input("hi", run="r1"))
                assert (await again.read_head()).status == 200
                gate.words.put_nowait("once")
                gate.words.put_nowait(None)
                assert join_text([frame async for frame in again.iterate_frames() if frame.data]) == "once"
        assert list_event_types(await collect_frames(server, "connect", make_run_input())).count("RUN_STARTED") == 1


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
@pytest.mark.parametrize("version", ["", "1.0"])
@pytest.mark.parametrize("single", [False, True])
async def test_stop(store: FullStore, single: bool, version: str) -> None:
    gate = GatedModel()

    async def stop(server: AppServer, thread: str) -> Any:
        params = {"agentId": "default", "threadId": thread}
        if single:
            return await request_json(server, "/copilotkit", {"method": "agent/stop", "params": params})
        return await request_json(server, f"/copilotkit/agent/default/stop/{thread}")

    async with serve_runtime(Runtime(model=gate, store=store)) as server:
        head, body = await stop(server, "t")
        assert (head.status, body["stopped"]) == (200, False)
        run = asyncio.create_task(collect_frames(server, "run", make_run_input("hi", protocolVersion=version)))
        gate.words.put_nowait("half")
        while "half" not in join_text(await read_until_text(server)):
            pass
        head, body = await stop(server, "t")
        assert (head.status, body["stopped"]) == (200, True)
        assert gate.closed.is_set()
        frames = await run
        assert join_text(frames) == "half"
        # A user who stopped it wants to see no error.
        assert list_event_types(frames)[-3:] == ["TEXT_MESSAGE_END", "CUSTOM", "RUN_FINISHED"]
        assert frames[-1].json.get("outcome") == ({"type": "cancelled"} if version else None)


async def test_a_client_before_1_0_gets_no_outcome_that_it_does_not_know(store: FullStore) -> None:
    """It would take one for a broken stream, and drop the rest of the thread."""
    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    async with serve_runtime(Runtime(model=FakeModel(reply_calls(("locate", "{}"))), store=store)) as server:
        await collect_frames(server, "run", make_run_input("hi", tools=tools))
        told = {}
        for version in ("", "1.0"):
            frames = await collect_frames(server, "connect", make_run_input(protocolVersion=version))
            told[version] = frames[-1].json["outcome"]
    assert told[""] == {"type": "success"}
    assert [*told["1.0"]] == ["type", "pendingToolCallIds"]


@pytest.mark.demand("copilotkit.thoughts_break_client_those")
@pytest.mark.parametrize("single", [False, True])
async def test_thoughts_are_skipped_by_clients_that_would_break_off_at_them(store: FullStore, single: bool) -> None:
    """CopilotKit's 1.50 reads data only behind a space, and knows no reasoning: it must not see any."""
    thinks = [ReasoningChunk("let me"), *reply_text("So.")]
    async with serve_runtime(Runtime(model=FakeModel(thinks), store=store)) as server:
        for name, version in (("run", ""), ("connect", ""), ("connect", "1.0")):
            body = make_run_input("hi", protocolVersion=version)
            target = "/copilotkit" if single else f"/copilotkit/agent/default/{name}"
            async with RawHttpClient(server.url) as client:
                await client.post_json(target, make_envelope(name, body) if single else body)
                await client.read_head()
                raw = await client.read_body()
            lines = [line for line in raw.decode().split("\n") if line.startswith("data:")]
            thoughts = [line.startswith("data: ") for line in lines if '"REASONING_' in line]
            assert thoughts == [bool(version)] * 5
            assert all(line.startswith("data: ") for line in lines if '"REASONING_' not in line)


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_rejoining_behind_any_frame_misses_and_doubles_nothing(store: FullStore) -> None:
    """Also inside of what is one entry for us and two frames for the client."""

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    thinks = [ReasoningChunk("let "), ReasoningChunk("me"), *reply_calls(("add", '{"a": 1, "b": 2}'), text="So: ")]
    async with serve_runtime(
        Runtime(model=FakeModel(thinks, reply_text("th", "ree")), tools=[add], store=store)
    ) as server:
        whole = await collect_frames(server, "run", make_run_input("hi"))
        assert len({frame.id for frame in whole}) == len(whole)
        assert any("." in (frame.id or "") for frame in whole)
        for cut, frame in enumerate(whole):
            for name in ("connect", "run"):
                rest = await collect_frames(server, name, make_run_input("hi"), last_event_id=frame.id)
                assert merge_deltas([*whole[: cut + 1], *rest]) == merge_deltas(whole)


@pytest.mark.parametrize("id", ["", "x", "-1", "1.5.2", "9" * 30, "1\t2", "1;2"])
async def test_a_strange_last_event_id_is_none(id: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("a")))) as server:
        await collect_frames(server, "run", make_run_input("hi"))
        assert join_text(await collect_frames(server, "connect", make_run_input(), last_event_id=id)) == "a"


async def test_a_last_event_id_of_the_future_gets_nothing() -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("a")))) as server:
        await collect_frames(server, "run", make_run_input("hi"))
        assert await collect_frames(server, "connect", make_run_input(), last_event_id="999999") == []


async def test_a_failure_ends_the_stream_and_is_no_failure_once_another_run_followed(store: FullStore) -> None:
    """Older clients take nothing after RUN_ERROR, not even the next run."""

    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half of ")
        raise UpstreamRefused("The model's server went away.")

    async with serve_runtime(Runtime(model=FakeModel(fails, reply_text("Whole.")), store=store)) as server:
        frames = await collect_frames(server, "run", make_run_input("hi", run="r1"))
        assert list_event_types(frames)[-1] == "RUN_ERROR"
        assert frames[-1].json["code"] == "upstream_unreachable"
        assert list_event_types(await collect_frames(server, "connect", make_run_input()))[-1] == "RUN_ERROR"
        assert await collect_frames(server, "connect", make_run_input(), last_event_id=frames[-1].id) == []
        await collect_frames(server, "run", make_run_input("again", run="r2"))
        frames = await collect_frames(server, "connect", make_run_input())
    assert "RUN_ERROR" not in list_event_types(frames)
    assert list_event_types(frames).count("RUN_FINISHED") == 2
    assert join_text(frames) == "Half of Whole."


async def test_half_a_call_that_was_stopped_is_closed_and_answered() -> None:
    cut = [*reply_calls(("show", '{"title": "x'), enforced=True)[:-1], *reply_text(finish="length")]
    tools = [{"name": "show", "description": "", "parameters": {"type": "object"}}]
    gate = asyncio.Event()

    async def waits(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for fragment in cut[:-1]:
            yield fragment
        gate.set()
        await asyncio.Event().wait()

    async with serve_runtime(Runtime(model=FakeModel(waits))) as server:
        run = asyncio.create_task(collect_frames(server, "run", make_run_input("hi", tools=tools)))
        await asyncio.wait_for(gate.wait(), HANG_TIMEOUT)
        await request_json(server, "/copilotkit/agent/default/stop/t")
        frames = await run
    assert list_event_types(frames)[-5:] == [
        "TOOL_CALL_ARGS",
        "CUSTOM",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "RUN_FINISHED",
    ]


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
async def test_both_ways_to_answer_a_question(store: FullStore) -> None:
    done: list[str] = []

    @tool(confirm=True)
    def book(seat: str) -> str:
        """Book."""
        done.append(seat)
        return seat

    lines = [reply_calls(("book", '{"seat": "1"}')), reply_text("Done.")]
    for resume in ("named", "shown", "unnamed", "today"):
        async with serve_runtime(Runtime(model=FakeModel(*lines), tools=[book], store=store)) as server:
            thread = f"t-{resume}"
            frames = await collect_frames(server, "run", make_run_input("hi", thread=thread, run="r1"))
            (ask,) = frames[-1].json["outcome"]["interrupts"]
            command: dict[str, Any] = {"resume": {"approved": True}}
            if resume == "named":
                command["interruptEvent"] = ask
            if resume == "shown":
                command["interruptEvent"] = json.dumps(ask)
            more: dict[str, Any] = {"forwardedProps": {"command": command}}
            if resume == "today":
                more = {"resume": [{"interruptId": ask["id"], "payload": {"approved": True}}]}
            frames = await collect_frames(server, "run", make_run_input(thread=thread, run="r2", **more))
            assert join_text(frames) == "Done."
    assert done == ["1"] * 4


@pytest.mark.demand("copilotkit.copilottask_suggestions_textarea_requests")
async def test_suggestions_are_beside_the_thread_and_end_with_their_client() -> None:
    gate = GatedModel()
    choice = {"type": "function", "function": {"name": "suggest"}}
    tools = [{"name": "suggest", "description": "", "parameters": {"type": "object"}}]
    model = FakeModel(reply_calls(("suggest", "{}")))
    async with serve_runtime(Runtime(model=model)) as server:
        body = make_run_input("hi", tools=tools, forwardedProps={"toolChoice": choice})
        frames = await collect_frames(server, "suggest", body)
        assert "TOOL_CALL_END" in list_event_types(frames)
        assert (model.prompts[0].tool_choice.mode, model.prompts[0].tool_choice.name) == ("named", "suggest")
        _, listed = await request_json(server, THREADS_PATH, method="GET")
        assert listed == {"threads": [], "nextCursor": None}
    async with serve_runtime(Runtime(model=gate)) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/copilotkit", make_envelope("suggest", make_run_input("hi")))
            await client.read_head()
            await client.read_frame()
        await asyncio.wait_for(gate.closed.wait(), HANG_TIMEOUT)
