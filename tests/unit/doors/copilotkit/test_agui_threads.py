"""Threads as clients list, rename, archive, export and delete them; and AG-UI's own door on a kept one."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from rightseat import Pause, Runtime, ToolContext, tool
from rightseat.types.chunks import TextChunk
from rightseat.types.events import Event, StateDelta, StateSnapshot
from rightseat.types.messages import Message
from rightseat.types.tools import Result
from rightseat.types.turn import Owner
from tests.contract.stores.members import FullStore
from tests.kit.app_server import AppServer, FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.copilotkit.agui import (
    THREADS_PATH,
    GatedModel,
    collect_frames,
    join_text,
    list_event_types,
    make_run_input,
    request_json,
)
from tests.unit.doors.copilotkit.test_agui import store as kept

pytestmark = pytest.mark.io

store = kept


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_listed_the_newest_first_by_agent_and_in_pages(store: FullStore) -> None:
    async with serve_runtime(Runtime(model=FakeModel(*(reply_text("x") for _ in range(4))), store=store)) as server:
        for thread in ("one", "two", "three"):
            await collect_frames(server, "run", make_run_input(f"about {thread}", thread=thread))
        await collect_frames(server, "run", make_run_input("more", thread="one", run="r2"))
        _, listed = await request_json(server, THREADS_PATH, method="GET")
        assert [thread["id"] for thread in listed["threads"]] == ["one", "three", "two"]
        first = listed["threads"][0]
        assert (first["name"], first["agentId"], first["archived"]) == ("about one", "default", False)
        assert first["createdAt"] < first["updatedAt"]
        assert first["updatedAt"].endswith("Z")
        _, page = await request_json(server, f"{THREADS_PATH}?limit=2", method="GET")
        assert [thread["id"] for thread in page["threads"]] == ["one", "three"]
        _, rest = await request_json(server, f"{THREADS_PATH}?limit=2&cursor={page['nextCursor']}", method="GET")
        assert ([thread["id"] for thread in rest["threads"]], rest["nextCursor"]) == (["two"], None)
        _, none = await request_json(server, f"{THREADS_PATH}?agentId=other", method="GET")
        assert none["threads"] == []
        for bad in ("limit=x", "limit=-1", "limit=9999", "cursor=1e3", "cursor=" + "9" * 40):
            head, _ = await request_json(server, f"{THREADS_PATH}?{bad}", method="GET")
            assert head.status == 400


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_renamed_archived_deleted(store: FullStore) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("x")), store=store)) as server:
        await collect_frames(server, "run", make_run_input("hi"))
        head, changed = await request_json(
            server, f"{THREADS_PATH}/t", {"name": "Köln", "agentId": "default"}, method="PATCH"
        )
        assert (head.status, changed["name"], changed["id"]) == (200, "Köln", "t")
        for bad in ({"name": ""}, {"name": "x" * 5000}, {"name": 7}, {"archived": "no"}):
            head, _ = await request_json(server, f"{THREADS_PATH}/t", bad, method="PATCH")
            assert head.status == 400
        head, told = await request_json(server, f"{THREADS_PATH}/t/archive", {"agentId": "default"})
        assert told == {"threadId": "t", "archived": True}
        _, listed = await request_json(server, THREADS_PATH, method="GET")
        assert listed["threads"] == []
        _, listed = await request_json(server, f"{THREADS_PATH}?includeArchived=true", method="GET")
        assert [thread["name"] for thread in listed["threads"]] == ["Köln"]
        head, told = await request_json(server, f"{THREADS_PATH}/t", {"agentId": "default"}, method="DELETE")
        assert (head.status, told) == (200, {"threadId": "t", "deleted": True})
        assert await collect_frames(server, "connect", make_run_input()) == []
        head, told = await request_json(server, f"{THREADS_PATH}/t", method="DELETE")
        assert (head.status, told["error"]) == (404, "Thread not found")


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
@pytest.mark.parametrize("thread", ["fold/er", "a/messages", "/", "//x/", "..", ".", "50%2F", "ü/?#"])
async def test_a_thread_of_any_name_is_reached(store: FullStore, thread: str) -> None:
    segment = quote(thread, safe="")
    async with serve_runtime(Runtime(model=FakeModel(reply_text("x"), reply_text("y")), store=store)) as server:
        await collect_frames(server, "run", make_run_input("hi", thread="a"))
        await collect_frames(server, "run", make_run_input("hi", thread=thread))
        path = f"{THREADS_PATH}/{segment}"
        head, changed = await request_json(server, path, {"name": "new"}, method="PATCH")
        assert (head.status, changed["id"], changed["name"]) == (200, thread, "new")
        head, found = await request_json(server, f"{path}/messages", method="GET")
        assert (head.status, found["messages"][-1]["content"]) == (200, "y")
        head, told = await request_json(server, f"/copilotkit/agent/default/stop/{segment}")
        assert (head.status, told["stopped"]) == (200, False)
        head, told = await request_json(server, f"{path}/archive", {"agentId": "default"})
        assert (head.status, told["threadId"]) == (200, thread)
        head, told = await request_json(server, path, {"agentId": "default"}, method="DELETE")
        assert (head.status, told) == (200, {"threadId": thread, "deleted": True})
        _, listed = await request_json(server, THREADS_PATH, method="GET")
        assert [each["id"] for each in listed["threads"]] == ["a"]


async def test_a_running_thread_is_stopped_and_deleted(store: FullStore) -> None:
    gate = GatedModel()
    async with serve_runtime(Runtime(model=gate, store=store)) as server:
        run = asyncio.create_task(collect_frames(server, "run", make_run_input("hi")))
        while not (await request_json(server, THREADS_PATH, method="GET"))[1]["threads"]:
            pass
        assert (await request_json(server, f"{THREADS_PATH}/t", method="DELETE"))[0].status == 200
        assert gate.closed.is_set()
        assert list_event_types(await run)[-1] == "RUN_FINISHED"
        assert (await request_json(server, f"{THREADS_PATH}/t/messages", method="GET"))[0].status == 404


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_messages_state_and_events(store: FullStore) -> None:
    @tool
    async def look(ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        """Look."""
        yield StateSnapshot({"n": 1})
        yield StateDelta([{"op": "add", "path": "/m", "value": 2}])
        yield Result("seen")

    lines = [reply_calls(("look", "{}"), text="Let me look."), reply_text("There.")]
    async with serve_runtime(Runtime(model=FakeModel(*lines), tools=[look], store=store)) as server:
        await collect_frames(server, "run", make_run_input("hi"))
        _, found = await request_json(server, f"{THREADS_PATH}/t/messages", method="GET")
        user, first, result, last = found["messages"]
        assert user == {"id": "u-hi", "role": "user", "content": "hi"}
        assert (first["content"], first["toolCalls"][0]["name"]) == ("Let me look.", "look")
        call = first["toolCalls"][0]
        assert call["args"] == "{}"
        assert (result["toolCallId"], result["content"]) == (call["id"], "seen")
        assert last["content"] == "There."
        _, state = await request_json(server, f"{THREADS_PATH}/t/state", method="GET")
        assert state == {"state": {"n": 1, "m": 2}}
        _, export = await request_json(server, f"{THREADS_PATH}/t/events", method="GET")
        assert export["thread"]["id"] == "t"
        told = await collect_frames(server, "connect", make_run_input())
        assert export["events"] == [frame.json for frame in told]


@pytest.mark.parametrize("thread", ["..%2fassistants", "%2e%2e", "a%2Fb", "' OR 1=1--".replace(" ", "%20"), "%00"])
async def test_a_strange_id_finds_nothing(thread: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        for method, tail in (("GET", "/messages"), ("DELETE", ""), ("GET", "/events"), ("POST", "/archive")):
            head, _ = await request_json(server, f"{THREADS_PATH}/{thread}{tail}", method=method)
            assert head.status in (404, 405)


async def test_an_id_that_is_too_long_is_refused() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        head, _ = await request_json(server, "/copilotkit/agent/default/run", make_run_input("hi", thread="x" * 300))
        assert head.status == 400


async def test_agui_runs_are_attached_unless_the_thread_is_kept(store: FullStore) -> None:
    gate = GatedModel()

    async def leave(server: AppServer, thread: str) -> None:
        gate.words.put_nowait("word")
        async with RawHttpClient(server.url) as client:
            await client.post_json("/agui/default", make_run_input("hi", thread=thread, run=f"agui-{thread}"))
            assert (await client.read_head()).status == 200
            frame = await client.read_frame()
            assert frame is not None
            # The thread's own number, or the first of this run.
            assert (frame.id == "run-1") is (thread == "loose")

    async with serve_runtime(Runtime(model=gate, store=store)) as server:
        await leave(server, "loose")
        await asyncio.wait_for(gate.closed.wait(), HANG_TIMEOUT)
        assert not await store.has_thread(Owner(), "loose")
        gate.closed.clear()
        gate.words.put_nowait(None)
        await collect_frames(server, "run", make_run_input("hi"))
        gate.closed.clear()
        await leave(server, "t")
        gate.words.put_nowait(" more")
        gate.words.put_nowait(None)
        frames = await collect_frames(server, "connect", make_run_input())
        assert join_text(frames).endswith("word more")


async def test_a_question_of_many_parts_comes_back_as_it_was(store: FullStore) -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "url", "value": "https://pictures.example/a.png"}},
        {"type": "document", "source": {"type": "data", "value": "aGk=", "mimeType": "text/plain"}},
        {
            "type": "document",
            "source": {"type": "data", "value": "aGk=", "mimeType": "text/csv"},
            "metadata": {"filename": "a.csv"},
        },
        {
            "type": "image",
            "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"},
            "metadata": {"filename": "b.png"},
        },
    ]
    messages = [{"id": "u", "role": "user", "content": parts}]
    model = FakeModel([TextChunk("Seen."), *reply_text()])
    async with serve_runtime(Runtime(model=model, store=store)) as server:
        await collect_frames(server, "run", make_run_input(messages=messages))
        frames = await collect_frames(server, "connect", make_run_input())
    assert frames[0].json["input"]["messages"] == messages
    assert isinstance(model.prompts[0].messages[-1], Message)
