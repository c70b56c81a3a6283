"""Threads as clients list, rename, archive, export and delete them; and AG-UI's own door on a kept one."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat import Pause, Runtime, ToolContext, tool
from rightseat.types.chunks import TextChunk
from rightseat.types.events import Event, StateDelta, StateSnapshot
from rightseat.types.messages import Message
from rightseat.types.tools import Result
from rightseat.types.turn import Owner
from tests.contract.stores.members import Keeper
from tests.kit.client import Client
from tests.kit.house import House, Lines, calls, house, says
from tests.kit.patience import STUCK
from tests.unit.doors.copilotkit.agui import THREAD, Gate, asked, given, kinds, played, text_of
from tests.unit.doors.copilotkit.test_agui import store as kept

pytestmark = pytest.mark.io

store = kept


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_listed_the_newest_first_by_agent_and_in_pages(store: Keeper) -> None:
    async with house(Runtime(model=Lines(*(says("x") for _ in range(4))), store=store)) as server:
        for thread in ("one", "two", "three"):
            await played(server, "run", given(f"about {thread}", thread=thread))
        await played(server, "run", given("more", thread="one", run="r2"))
        _, listed = await asked(server, THREAD, method="GET")
        assert [thread["id"] for thread in listed["threads"]] == ["one", "three", "two"]
        first = listed["threads"][0]
        assert (first["name"], first["agentId"], first["archived"]) == ("about one", "default", False)
        assert first["createdAt"] < first["updatedAt"]
        assert first["updatedAt"].endswith("Z")
        _, page = await asked(server, f"{THREAD}?limit=2", method="GET")
        assert [thread["id"] for thread in page["threads"]] == ["one", "three"]
        _, rest = await asked(server, f"{THREAD}?limit=2&cursor={page['nextCursor']}", method="GET")
        assert ([thread["id"] for thread in rest["threads"]], rest["nextCursor"]) == (["two"], None)
        _, none = await asked(server, f"{THREAD}?agentId=other", method="GET")
        assert none["threads"] == []
        for bad in ("limit=x", "limit=-1", "limit=9999", "cursor=1e3", "cursor=" + "9" * 40):
            head, _ = await asked(server, f"{THREAD}?{bad}", method="GET")
            assert head.status == 400


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_renamed_archived_deleted(store: Keeper) -> None:
    async with house(Runtime(model=Lines(says("x")), store=store)) as server:
        await played(server, "run", given("hi"))
        head, changed = await asked(server, f"{THREAD}/t", {"name": "Köln", "agentId": "default"}, method="PATCH")
        assert (head.status, changed["name"], changed["id"]) == (200, "Köln", "t")
        for bad in ({"name": ""}, {"name": "x" * 5000}, {"name": 7}, {"archived": "no"}):
            head, _ = await asked(server, f"{THREAD}/t", bad, method="PATCH")
            assert head.status == 400
        head, told = await asked(server, f"{THREAD}/t/archive", {"agentId": "default"})
        assert told == {"threadId": "t", "archived": True}
        _, listed = await asked(server, THREAD, method="GET")
        assert listed["threads"] == []
        _, listed = await asked(server, f"{THREAD}?includeArchived=true", method="GET")
        assert [thread["name"] for thread in listed["threads"]] == ["Köln"]
        head, told = await asked(server, f"{THREAD}/t", {"agentId": "default"}, method="DELETE")
        assert (head.status, told) == (200, {"threadId": "t", "deleted": True})
        assert await played(server, "connect", given()) == []
        head, told = await asked(server, f"{THREAD}/t", method="DELETE")
        assert (head.status, told["error"]) == (404, "Thread not found")


async def test_a_running_thread_is_stopped_and_deleted(store: Keeper) -> None:
    gate = Gate()
    async with house(Runtime(model=gate, store=store)) as server:
        run = asyncio.create_task(played(server, "run", given("hi")))
        while not (await asked(server, THREAD, method="GET"))[1]["threads"]:
            pass
        assert (await asked(server, f"{THREAD}/t", method="DELETE"))[0].status == 200
        assert gate.closed.is_set()
        assert kinds(await run)[-1] == "RUN_FINISHED"
        assert (await asked(server, f"{THREAD}/t/messages", method="GET"))[0].status == 404


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_messages_state_and_events(store: Keeper) -> None:
    @tool
    async def look(ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        """Look."""
        yield StateSnapshot({"n": 1})
        yield StateDelta([{"op": "add", "path": "/m", "value": 2}])
        yield Result("seen")

    lines = [calls(("look", "{}"), text="Let me look."), says("There.")]
    async with house(Runtime(model=Lines(*lines), tools=[look], store=store)) as server:
        await played(server, "run", given("hi"))
        _, found = await asked(server, f"{THREAD}/t/messages", method="GET")
        user, first, result, last = found["messages"]
        assert user == {"id": "u-hi", "role": "user", "content": "hi"}
        assert (first["content"], first["toolCalls"][0]["name"]) == ("Let me look.", "look")
        call = first["toolCalls"][0]
        assert call["args"] == "{}"
        assert (result["toolCallId"], result["content"]) == (call["id"], "seen")
        assert last["content"] == "There."
        _, state = await asked(server, f"{THREAD}/t/state", method="GET")
        assert state == {"state": {"n": 1, "m": 2}}
        _, export = await asked(server, f"{THREAD}/t/events", method="GET")
        assert export["thread"]["id"] == "t"
        told = await played(server, "connect", given())
        assert export["events"] == [frame.json for frame in told]


@pytest.mark.parametrize("thread", ["..%2fassistants", "%2e%2e", "a%2Fb", "' OR 1=1--".replace(" ", "%20"), "%00"])
async def test_a_strange_id_finds_nothing(thread: str) -> None:
    async with house(Runtime(model=Lines())) as server:
        for method, tail in (("GET", "/messages"), ("DELETE", ""), ("GET", "/events"), ("POST", "/archive")):
            head, _ = await asked(server, f"{THREAD}/{thread}{tail}", method=method)
            assert head.status in (404, 405)


async def test_an_id_that_is_too_long_is_refused() -> None:
    async with house(Runtime(model=Lines())) as server:
        head, _ = await asked(server, "/copilotkit/agent/default/run", given("hi", thread="x" * 300))
        assert head.status == 400


async def test_agui_runs_are_attached_unless_the_thread_is_kept(store: Keeper) -> None:
    gate = Gate()

    async def leave(server: House, thread: str) -> None:
        gate.words.put_nowait("word")
        async with Client(server.url) as client:
            await client.post("/agui/default", given("hi", thread=thread, run=f"agui-{thread}"))
            assert (await client.head()).status == 200
            frame = await client.frame()
            assert frame is not None
            # The thread's own number, or the first of this run.
            assert (frame.id == "run-1") is (thread == "loose")

    async with house(Runtime(model=gate, store=store)) as server:
        await leave(server, "loose")
        await asyncio.wait_for(gate.closed.wait(), STUCK)
        assert not store.has_thread(Owner(), "loose")
        gate.closed.clear()
        gate.words.put_nowait(None)
        await played(server, "run", given("hi"))
        gate.closed.clear()
        await leave(server, "t")
        gate.words.put_nowait(" more")
        gate.words.put_nowait(None)
        frames = await played(server, "connect", given())
        assert text_of(frames).endswith("word more")


async def test_a_question_of_many_parts_comes_back_as_it_was(store: Keeper) -> None:
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
    model = Lines([TextChunk("Seen."), *says()])
    async with house(Runtime(model=model, store=store)) as server:
        await played(server, "run", given(messages=messages))
        frames = await played(server, "connect", given())
    assert frames[0].json["input"]["messages"] == messages
    assert isinstance(model.asked[0].messages[-1], Message)
