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
from tests.contract.stores.members import Keeper
from tests.kit.client import Client, Frame
from tests.kit.house import House, Lines, calls, house, says
from tests.kit.patience import STUCK
from tests.unit.doors.copilotkit.agui import THREAD, Gate, asked, enveloped, given, joined, kinds, peek, played, text_of

pytestmark = pytest.mark.io


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Keeper]:
    keeper: Keeper = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path)
    yield keeper
    await keeper.close()


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
async def test_info_by_both_ways() -> None:
    async with house(Runtime(model=Lines())) as server:
        _, by_route = await asked(server, "/copilotkit/info", method="GET")
        _, by_method = await asked(server, "/copilotkit", {"method": "info"})
    assert by_route == by_method
    assert isinstance(by_route["version"], str)
    assert by_route["agents"]["default"]["name"] == "default"
    assert by_route["audioFileTranscriptionEnabled"] is False
    assert by_route["mode"] == "sse"


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@pytest.mark.parametrize("single", [False, True])
async def test_a_run_and_its_frames(store: Keeper, single: bool) -> None:
    async with house(Runtime(model=Lines(says("Hel", "lo")), store=store)) as server:
        frames = await played(server, "run", given("hi"), single=single)
        assert kinds(frames) == [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ]
        # The first number is that of what was posted, which the start brings along. What was said at once is
        # one frame with the number of its last part.
        assert [frame.id for frame in frames] == ["2", "3", "5", "6", "7"]
        assert frames[0].json["input"]["messages"] == [{"id": "u-hi", "role": "user", "content": "hi"}]
        again = await played(server, "connect", given(), single=single)
    assert text_of(again) == "Hello"
    assert (kinds(again)[0], kinds(again)[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert again[0].data == frames[0].data


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_a_thread_is_replayed_run_by_run(store: Keeper) -> None:
    async with house(Runtime(model=Lines(says("One."), says("Two.")), store=store)) as server:
        await played(server, "run", given("first", run="r1"))
        history = [
            {"id": "u-first", "role": "user", "content": "first"},
            {"id": "a", "role": "assistant", "content": "One."},
            {"id": "u-second", "role": "user", "content": "second"},
        ]
        await played(server, "run", given(run="r2", messages=history))
        frames = await played(server, "connect", given())
    starts = [frame.json for frame in frames if frame.json["type"] == "RUN_STARTED"]
    assert [start["runId"] for start in starts] == ["r1", "r2"]
    assert [[m["content"] for m in start["input"]["messages"]] for start in starts] == [["first"], ["second"]]
    assert text_of(frames) == "One.Two."


async def test_connecting_to_nothing_is_an_empty_stream() -> None:
    async with house(Runtime(model=Lines())) as server:
        assert await played(server, "connect", given(thread="new")) == []
        assert await played(server, "connect", given(thread="new"), single=True) == []


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_leaving_cancels_nothing_and_connecting_follows_to_the_end(store: Keeper) -> None:
    gate = Gate()
    async with house(Runtime(model=gate, store=store)) as server:
        gate.words.put_nowait("one ")
        async with Client(server.url) as client:
            await client.post("/copilotkit/agent/default/run", given("hi"))
            await client.head()
            while "CONTENT" not in (await client.frame() or Frame(None)).json["type"]:
                pass
        later = asyncio.create_task(played(server, "connect", given()))
        for word in ("two ", "three", None):
            gate.words.put_nowait(word)
        frames = await later
    assert text_of(frames) == "one two three"
    assert kinds(frames)[-1] == "RUN_FINISHED"


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_a_busy_thread_refuses_another_run(store: Keeper) -> None:
    gate = Gate()
    async with house(Runtime(model=gate, store=store)) as server:
        async with Client(server.url) as client:
            await client.post("/copilotkit/agent/default/run", given("hi", run="r1"))
            await client.head()
            head, body = await asked(server, "/copilotkit/agent/default/run", given("more", run="r2"))
            assert (head.status, body["error"]) == (409, "Thread already running")
            head, body = await asked(server, "/copilotkit", enveloped("run", given("more", run="r2")))
            assert (head.status, body["error"]) == (409, "Thread already running")
            # The same run again is the same run.
            async with Client(server.url) as again:
                await again.post("/copilotkit/agent/default/run", given("hi", run="r1"))
                assert (await again.head()).status == 200
                gate.words.put_nowait("once")
                gate.words.put_nowait(None)
                assert text_of([frame async for frame in again.frames() if frame.data]) == "once"
        assert kinds(await played(server, "connect", given())).count("RUN_STARTED") == 1


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
@pytest.mark.parametrize("version", ["", "1.0"])
@pytest.mark.parametrize("single", [False, True])
async def test_stop(store: Keeper, single: bool, version: str) -> None:
    gate = Gate()

    async def stop(server: House, thread: str) -> Any:
        params = {"agentId": "default", "threadId": thread}
        if single:
            return await asked(server, "/copilotkit", {"method": "agent/stop", "params": params})
        return await asked(server, f"/copilotkit/agent/default/stop/{thread}")

    async with house(Runtime(model=gate, store=store)) as server:
        head, body = await stop(server, "t")
        assert (head.status, body["stopped"]) == (200, False)
        run = asyncio.create_task(played(server, "run", given("hi", protocolVersion=version)))
        gate.words.put_nowait("half")
        while "half" not in text_of(await peek(server)):
            pass
        head, body = await stop(server, "t")
        assert (head.status, body["stopped"]) == (200, True)
        assert gate.closed.is_set()
        frames = await run
        assert text_of(frames) == "half"
        # A user who stopped it wants to see no error.
        assert kinds(frames)[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
        assert frames[-1].json.get("outcome") == ({"type": "cancelled"} if version else None)


async def test_a_client_before_1_0_gets_no_outcome_that_it_does_not_know(store: Keeper) -> None:
    """It would take one for a broken stream, and drop the rest of the thread."""
    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    async with house(Runtime(model=Lines(calls(("locate", "{}"))), store=store)) as server:
        await played(server, "run", given("hi", tools=tools))
        told = {}
        for version in ("", "1.0"):
            frames = await played(server, "connect", given(protocolVersion=version))
            told[version] = frames[-1].json["outcome"]
    assert told[""] == {"type": "success"}
    assert [*told["1.0"]] == ["type", "pendingToolCallIds"]


@pytest.mark.demand("copilotkit.thoughts_break_client_those")
@pytest.mark.parametrize("single", [False, True])
async def test_thoughts_are_skipped_by_clients_that_would_break_off_at_them(store: Keeper, single: bool) -> None:
    """CopilotKit's 1.50 reads data only behind a space, and knows no reasoning: it must not see any."""
    thinks = [ReasoningChunk("let me"), *says("So.")]
    async with house(Runtime(model=Lines(thinks), store=store)) as server:
        for name, version in (("run", ""), ("connect", ""), ("connect", "1.0")):
            body = given("hi", protocolVersion=version)
            target = "/copilotkit" if single else f"/copilotkit/agent/default/{name}"
            async with Client(server.url) as client:
                await client.post(target, enveloped(name, body) if single else body)
                await client.head()
                raw = await client.body()
            lines = [line for line in raw.decode().split("\n") if line.startswith("data:")]
            thoughts = [line.startswith("data: ") for line in lines if '"REASONING_' in line]
            assert thoughts == [bool(version)] * 5
            assert all(line.startswith("data: ") for line in lines if '"REASONING_' not in line)


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_rejoining_behind_any_frame_misses_and_doubles_nothing(store: Keeper) -> None:
    """Also inside of what is one entry for us and two frames for the client."""

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    thinks = [ReasoningChunk("let "), ReasoningChunk("me"), *calls(("add", '{"a": 1, "b": 2}'), text="So: ")]
    async with house(Runtime(model=Lines(thinks, says("th", "ree")), tools=[add], store=store)) as server:
        whole = await played(server, "run", given("hi"))
        assert len({frame.id for frame in whole}) == len(whole)
        assert any("." in (frame.id or "") for frame in whole)
        for cut, frame in enumerate(whole):
            for name in ("connect", "run"):
                rest = await played(server, name, given("hi"), seen=frame.id)
                assert joined([*whole[: cut + 1], *rest]) == joined(whole)


@pytest.mark.parametrize("id", ["", "x", "-1", "1.5.2", "9" * 30, "1\t2", "1;2"])
async def test_a_strange_last_event_id_is_none(id: str) -> None:
    async with house(Runtime(model=Lines(says("a")))) as server:
        await played(server, "run", given("hi"))
        assert text_of(await played(server, "connect", given(), seen=id)) == "a"


async def test_a_last_event_id_of_the_future_gets_nothing() -> None:
    async with house(Runtime(model=Lines(says("a")))) as server:
        await played(server, "run", given("hi"))
        assert await played(server, "connect", given(), seen="999999") == []


async def test_a_failure_ends_the_stream_and_is_no_failure_once_another_run_followed(store: Keeper) -> None:
    """Older clients take nothing after RUN_ERROR, not even the next run."""

    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half of ")
        raise UpstreamRefused("The model's server went away.")

    async with house(Runtime(model=Lines(fails, says("Whole.")), store=store)) as server:
        frames = await played(server, "run", given("hi", run="r1"))
        assert kinds(frames)[-1] == "RUN_ERROR"
        assert frames[-1].json["code"] == "upstream_unreachable"
        assert kinds(await played(server, "connect", given()))[-1] == "RUN_ERROR"
        assert await played(server, "connect", given(), seen=frames[-1].id) == []
        await played(server, "run", given("again", run="r2"))
        frames = await played(server, "connect", given())
    assert "RUN_ERROR" not in kinds(frames)
    assert kinds(frames).count("RUN_FINISHED") == 2
    assert text_of(frames) == "Half of Whole."


async def test_half_a_call_that_was_stopped_is_closed_and_answered() -> None:
    cut = [*calls(("show", '{"title": "x'), enforced=True)[:-1], *says(finish="length")]
    tools = [{"name": "show", "description": "", "parameters": {"type": "object"}}]
    gate = asyncio.Event()

    async def waits(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for fragment in cut[:-1]:
            yield fragment
        gate.set()
        await asyncio.Event().wait()

    async with house(Runtime(model=Lines(waits))) as server:
        run = asyncio.create_task(played(server, "run", given("hi", tools=tools)))
        await asyncio.wait_for(gate.wait(), STUCK)
        await asked(server, "/copilotkit/agent/default/stop/t")
        frames = await run
    assert kinds(frames)[-4:] == ["TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "RUN_FINISHED"]


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
async def test_both_ways_to_answer_a_question(store: Keeper) -> None:
    done: list[str] = []

    @tool(confirm=True)
    def book(seat: str) -> str:
        """Book."""
        done.append(seat)
        return seat

    lines = [calls(("book", '{"seat": "1"}')), says("Done.")]
    for resume in ("named", "shown", "unnamed", "today"):
        async with house(Runtime(model=Lines(*lines), tools=[book], store=store)) as server:
            thread = f"t-{resume}"
            frames = await played(server, "run", given("hi", thread=thread, run="r1"))
            (ask,) = frames[-1].json["outcome"]["interrupts"]
            command: dict[str, Any] = {"resume": {"approved": True}}
            if resume == "named":
                command["interruptEvent"] = ask
            if resume == "shown":
                command["interruptEvent"] = json.dumps(ask)
            more: dict[str, Any] = {"forwardedProps": {"command": command}}
            if resume == "today":
                more = {"resume": [{"interruptId": ask["id"], "payload": {"approved": True}}]}
            frames = await played(server, "run", given(thread=thread, run="r2", **more))
            assert text_of(frames) == "Done."
    assert done == ["1"] * 4


@pytest.mark.demand("copilotkit.copilottask_suggestions_textarea_requests")
async def test_suggestions_are_beside_the_thread_and_end_with_their_client() -> None:
    gate = Gate()
    choice = {"type": "function", "function": {"name": "suggest"}}
    tools = [{"name": "suggest", "description": "", "parameters": {"type": "object"}}]
    model = Lines(calls(("suggest", "{}")))
    async with house(Runtime(model=model)) as server:
        body = given("hi", tools=tools, forwardedProps={"toolChoice": choice})
        frames = await played(server, "suggest", body)
        assert "TOOL_CALL_END" in kinds(frames)
        assert (model.asked[0].tool_choice.mode, model.asked[0].tool_choice.name) == ("named", "suggest")
        _, listed = await asked(server, THREAD, method="GET")
        assert listed == {"threads": [], "nextCursor": None}
    async with house(Runtime(model=gate)) as server:
        async with Client(server.url) as client:
            await client.post("/copilotkit", enveloped("suggest", given("hi")))
            await client.head()
            await client.frame()
        await asyncio.wait_for(gate.closed.wait(), STUCK)
