"""A conversation that clients up to 1.10 had is there when they load it again, and for newer ones too."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.engine.loop import Assistant
from rightseat.http.auth import Authenticator
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import Event, RunFinished, StateDelta, StateSnapshot, TextDelta, TextEnd, TextStart
from rightseat.types.model import Prompt
from rightseat.types.turn import Turn
from rightseat.wiring.runtime import RuntimeParts
from tests.kit.client import Client
from tests.kit.house import Lines, calls, house, says
from tests.kit.patience import STUCK
from tests.unit.doors.copilotkit.agui import asked, given, kinds, played, text_of
from tests.unit.doors.copilotkit.client import DOCUMENT, GENERIC, WHEN, ask, body, data, home, text

pytestmark = pytest.mark.io

FIELDS = "threadId threadExists state messages"
QUERY = f"query($data: LoadAgentStateInput!) {{ loadAgentState(data: $data) {{ {FIELDS} }} }}"
KEYED = Authenticator(AuthSettings(keys={"ada": Secret("ada-key"), "bob": Secret("bob-key")}))
both_ways = pytest.mark.parametrize("document", [DOCUMENT, GENERIC])


async def loaded(url: str, agent: str = "default", thread: str = "t1", key: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    variables = {"data": {"agentName": agent, "threadId": thread}}
    answer = await ask(url, {"query": QUERY, "variables": variables}, headers=headers)
    found: dict[str, Any] = answer.data["loadAgentState"]
    assert found.pop("threadId") == thread
    return {name: json.loads(value) if isinstance(value, str) else value for name, value in found.items()}


NOTHING = {"threadExists": False, "state": {}, "messages": []}


@tool
def add(a: int, b: int) -> int:
    return a + b


@tool
def fail() -> str:
    raise ValueError("kaboom")


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
@both_ways
async def test_what_was_said_is_loaded_again(document: str) -> None:
    system = text("be good", "system", "s1")
    model = Lines(calls(("add", '{"a":2,"b":3}'), text="Let me see."), says("That is 5."), says("Bye."))
    async with home(Runtime(model=model, tools=[add])) as url:
        assert await loaded(url) == NOTHING
        first = await ask(url, body(data(system, text("sum")), document))
        once = await loaded(url)
        said = first.messages
        history = [system, text("sum"), text("That is 5.", "assistant", said[-1]["id"]), text("bye", id="u2")]
        second = await ask(url, body(data(*history), document))
        twice = await loaded(url)
    ids = [message["id"] for message in said]
    assert first.kinds == ["Text", "ActionExecution", "Result", "Text"]
    assert once == {
        "threadExists": True,
        "state": {},
        "messages": [
            {"id": "u1", "role": "user", "content": "sum"},
            {"id": ids[0], "role": "assistant", "content": "Let me see."},
            {"id": ids[1], "name": "add", "arguments": {"a": 2, "b": 3}, "parentMessageId": ids[0]},
            {"id": ids[2], "result": "5", "actionExecutionId": ids[1], "actionName": "add"},
            {"id": ids[3], "role": "assistant", "content": "That is 5."},
        ],
    }
    assert twice["messages"] == [
        *once["messages"],
        {"id": "u2", "role": "user", "content": "bye"},
        {"id": second.messages[0]["id"], "role": "assistant", "content": "Bye."},
    ]


@pytest.mark.demand("copilotkit.after_reload_user_sees")
async def test_an_answer_that_was_made_anew_is_loaded_alone() -> None:
    system = text("be good", "system", "s1")
    model = Lines(calls(("add", '{"a":2,"b":3}'), text="Let me see."), says("That is 5."), says("5."), says("."))
    async with home(Runtime(model=model, tools=[add])) as url:
        await ask(url, body(data(system, text("sum"))))
        again = await ask(url, body(data(system, text("sum"))))
        assert [said.get("content") for said in (await loaded(url))["messages"]] == ["sum", "5."]
        history = [system, text("sum"), text("5.", "assistant", again.messages[0]["id"]), text("bye", id="u2")]
        await ask(url, body(data(*history)))
        told = (await loaded(url))["messages"]
    assert [said.get("content") for said in told] == ["sum", "5.", "bye", "."]


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
async def test_an_action_of_the_page_and_its_result() -> None:
    model = Lines(calls(("setColor", '{"color":"red"}')), says("Red now."))
    async with home(Runtime(model=model)) as url:
        first = await ask(url, body(data()))
        (call,) = first.messages
        posted = {"name": "setColor", "arguments": '{"color":"red"}', "parentMessageId": None, "scope": None}
        done = {"actionExecutionId": call["id"], "actionName": "setColor", "result": "done"}
        history = [
            text("hi"),
            {"id": call["id"], "createdAt": WHEN, "actionExecutionMessage": posted},
            {"id": f"result-{call['id']}", "createdAt": WHEN, "resultMessage": done},
        ]
        await ask(url, body(data(*history)))
        found = await loaded(url)
    assert [sorted(message) for message in found["messages"]] == [
        ["content", "id", "role"],
        ["arguments", "id", "name", "parentMessageId"],
        ["actionExecutionId", "actionName", "id", "result"],
        ["content", "id", "role"],
    ]
    result = {"id": f"result-{call['id']}", "result": "done", "actionExecutionId": call["id"]}
    assert found["messages"][2] == {**result, "actionName": "setColor"}


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
async def test_a_failed_result_and_a_picture() -> None:
    image = {"id": "i", "createdAt": WHEN, "imageMessage": {"format": "png", "bytes": "AAAA", "role": "user"}}
    async with home(Runtime(model=Lines(calls(("fail", "{}")), says("Oh.")), tools=[fail])) as url:
        shown = await ask(url, body(data(text("go"), image)))
        found = await loaded(url)
    results = [message["result"] for message in found["messages"] if "result" in message]
    assert results == [message["result"] for message in shown.messages if "result" in message]
    assert json.loads(results[0])["result"] == ""
    assert found["messages"][1] == {"id": "i", "role": "user", "format": "png", "bytes": "AAAA"}


async def planner(turn: Turn) -> AsyncIterator[Event]:
    if not turn.state:
        yield StateSnapshot({"steps": [], "mood": "good"})
    yield StateDelta([{"op": "add", "path": "/steps/-", "value": turn.messages[-1].text}])
    yield TextStart("m")
    yield TextDelta("m", "Planned.")
    yield TextEnd("m")
    yield RunFinished("stop")


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
@both_ways
async def test_the_state_of_an_agent(document: str) -> None:
    agents = {"planner": planner, "other": planner}
    session = {"agentName": "planner", "threadId": "t1", "nodeName": None}
    async with home(Runtime(model=Lines(), agents=agents)) as url:
        await ask(url, body(data(text("one"), agentSession=session), document))
        first = await loaded(url, "planner")
        # The page may have changed it meanwhile: the agent goes on from there.
        states = [{"agentName": "planner", "state": json.dumps({**first["state"], "mood": "bad"})}]
        await ask(url, body(data(text("two"), agentSession=session, agentStates=states), document))
        second = await loaded(url, "planner")
        other = await loaded(url, "other")
    assert first["state"] == {"steps": ["one"], "mood": "good"}
    assert second["state"] == {"steps": ["one", "two"], "mood": "bad"}
    assert other == NOTHING


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
async def test_another_owners_conversation_does_not_exist() -> None:
    async with home(Runtime(model=Lines(says("Yes."))), authenticate=KEYED) as url:
        await ask(url, body(data()), headers={"Authorization": "Bearer ada-key"})
        assert (await loaded(url, key="ada-key"))["threadExists"] is True
        assert await loaded(url, key="bob-key") == NOTHING


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
@pytest.mark.parametrize("kind", ["Task", "Suggestion", "TextareaCompletion", "TextareaPopover"])
async def test_what_is_asked_beside_the_chat_is_not_kept(kind: str) -> None:
    async with home(Runtime(model=Lines(says("Yes.")))) as url:
        await ask(url, body(data(metadata={"requestType": kind})))
        assert await loaded(url) == NOTHING


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_nothing_is_kept_where_nothing_shall_be() -> None:
    async with home(Runtime(model=Lines(says("Yes.")), parts=RuntimeParts(recorded="off"))) as url:
        await ask(url, body(data()))
        assert await loaded(url) == NOTHING


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_every_generation_finds_the_same_thread() -> None:
    model = Lines(says("Old."), says("New."))
    async with house(Runtime(model=model)) as server:
        await ask(server.url, body(data()))
        _, listed = await asked(server, "/copilotkit/threads?agentId=default", method="GET")
        replayed = await played(server, "connect", given(thread="t1"))
        await played(server, "run", given("more", thread="t1"))
        found = await loaded(server.url)
    assert [thread["id"] for thread in listed["threads"]] == ["t1"]
    assert (kinds(replayed)[0], kinds(replayed)[-1], text_of(replayed)) == ("RUN_STARTED", "RUN_FINISHED", "Old.")
    assert [message["content"] for message in found["messages"]] == ["hi", "Old.", "more", "New."]


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_leaving_in_the_middle_keeps_what_was_said() -> None:
    ended = asyncio.Event()

    async def slow(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        try:
            yield TextChunk("Half of ")
            yield TextChunk("it")
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with house(Runtime(model=Lines(slow))) as server:
        async with Client(server.url) as client:
            await client.post("/copilotkit", body(data()))
            await client.head()
            seen = b""
            while b'"it"' not in seen:
                seen += await client.piece()
        await asyncio.wait_for(ended.wait(), STUCK)
        found = await loaded(server.url)
    assert [message["content"] for message in found["messages"]] == ["hi", "Half of it"]


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
async def test_another_agent_on_the_same_thread_is_another() -> None:
    two = [Assistant("a", Lines(says("A."))), Assistant("b", Lines(says("B.")))]
    async with home(Runtime(assistants=two)) as url:
        session = {"agentName": "b", "threadId": "t1"}
        await ask(url, body(data(agentSession=session)))
        assert (await loaded(url, "a"))["threadExists"] is False
        assert (await loaded(url, "b"))["threadExists"] is True
