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
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.copilotkit.agui import collect_frames, join_text, list_event_types, make_run_input, request_json
from tests.unit.doors.copilotkit.client import (
    CREATED_AT,
    DOCUMENT,
    GENERIC_DOCUMENT,
    make_input,
    make_request_body,
    make_text_message,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

FIELDS = "threadId threadExists state messages"
QUERY = f"query($data: LoadAgentStateInput!) {{ loadAgentState(data: $data) {{ {FIELDS} }} }}"
KEYED = Authenticator(AuthSettings(keys={"ada": Secret("ada-key"), "bob": Secret("bob-key")}))
over_documents = pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])


async def load_agent_state(url: str, agent: str = "default", thread: str = "t1", key: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    variables = {"data": {"agentName": agent, "threadId": thread}}
    answer = await post_graphql(url, {"query": QUERY, "variables": variables}, headers=headers)
    found: dict[str, Any] = answer.data["loadAgentState"]
    assert found.pop("threadId") == thread
    return {name: json.loads(value) if isinstance(value, str) else value for name, value in found.items()}


NO_THREAD = {"threadExists": False, "state": {}, "messages": []}


@tool
def add(a: int, b: int) -> int:
    return a + b


@tool
def fail() -> str:
    raise ValueError("kaboom")


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
@over_documents
async def test_what_was_said_is_loaded_again(document: str) -> None:
    system = make_text_message("be good", "system", "s1")
    model = FakeModel(
        reply_calls(("add", '{"a":2,"b":3}'), text="Let me see."), reply_text("That is 5."), reply_text("Bye.")
    )
    async with serve_copilotkit(Runtime(model=model, tools=[add])) as url:
        assert await load_agent_state(url) == NO_THREAD
        first = await post_graphql(url, make_request_body(make_input(system, make_text_message("sum")), document))
        once = await load_agent_state(url)
        said = first.messages
        history = [
            system,
            make_text_message("sum"),
            make_text_message("That is 5.", "assistant", said[-1]["id"]),
            make_text_message("bye", id="u2"),
        ]
        second = await post_graphql(url, make_request_body(make_input(*history), document))
        twice = await load_agent_state(url)
    ids = [message["id"] for message in said]
    assert first.message_types == ["Text", "ActionExecution", "Result", "Text"]
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
    system = make_text_message("be good", "system", "s1")
    model = FakeModel(
        reply_calls(("add", '{"a":2,"b":3}'), text="Let me see."),
        reply_text("That is 5."),
        reply_text("5."),
        reply_text("."),
    )
    async with serve_copilotkit(Runtime(model=model, tools=[add])) as url:
        await post_graphql(url, make_request_body(make_input(system, make_text_message("sum"))))
        again = await post_graphql(url, make_request_body(make_input(system, make_text_message("sum"))))
        assert [said.get("content") for said in (await load_agent_state(url))["messages"]] == ["sum", "5."]
        history = [
            system,
            make_text_message("sum"),
            make_text_message("5.", "assistant", again.messages[0]["id"]),
            make_text_message("bye", id="u2"),
        ]
        await post_graphql(url, make_request_body(make_input(*history)))
        told = (await load_agent_state(url))["messages"]
    assert [said.get("content") for said in told] == ["sum", "5.", "bye", "."]


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
async def test_an_action_of_the_page_and_its_result() -> None:
    model = FakeModel(reply_calls(("setColor", '{"color":"red"}')), reply_text("Red now."))
    async with serve_copilotkit(Runtime(model=model)) as url:
        first = await post_graphql(url, make_request_body(make_input()))
        (call,) = first.messages
        posted = {"name": "setColor", "arguments": '{"color":"red"}', "parentMessageId": None, "scope": None}
        done = {"actionExecutionId": call["id"], "actionName": "setColor", "result": "done"}
        history = [
            make_text_message("hi"),
            {"id": call["id"], "createdAt": CREATED_AT, "actionExecutionMessage": posted},
            {"id": f"result-{call['id']}", "createdAt": CREATED_AT, "resultMessage": done},
        ]
        await post_graphql(url, make_request_body(make_input(*history)))
        found = await load_agent_state(url)
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
    image = {"id": "i", "createdAt": CREATED_AT, "imageMessage": {"format": "png", "bytes": "AAAA", "role": "user"}}
    async with serve_copilotkit(
        Runtime(model=FakeModel(reply_calls(("fail", "{}")), reply_text("Oh.")), tools=[fail])
    ) as url:
        shown = await post_graphql(url, make_request_body(make_input(make_text_message("go"), image)))
        found = await load_agent_state(url)
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
@over_documents
async def test_the_state_of_an_agent(document: str) -> None:
    agents = {"planner": planner, "other": planner}
    session = {"agentName": "planner", "threadId": "t1", "nodeName": None}
    async with serve_copilotkit(Runtime(model=FakeModel(), agents=agents)) as url:
        await post_graphql(url, make_request_body(make_input(make_text_message("one"), agentSession=session), document))
        first = await load_agent_state(url, "planner")
        # The page may have changed it meanwhile: the agent goes on from there.
        states = [{"agentName": "planner", "state": json.dumps({**first["state"], "mood": "bad"})}]
        await post_graphql(
            url,
            make_request_body(make_input(make_text_message("two"), agentSession=session, agentStates=states), document),
        )
        second = await load_agent_state(url, "planner")
        other = await load_agent_state(url, "other")
    assert first["state"] == {"steps": ["one"], "mood": "good"}
    assert second["state"] == {"steps": ["one", "two"], "mood": "bad"}
    assert other == NO_THREAD


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
async def test_another_owners_conversation_does_not_exist() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("Yes."))), authenticate=KEYED) as url:
        await post_graphql(url, make_request_body(make_input()), headers={"Authorization": "Bearer ada-key"})
        assert (await load_agent_state(url, key="ada-key"))["threadExists"] is True
        assert await load_agent_state(url, key="bob-key") == NO_THREAD


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
@pytest.mark.parametrize("kind", ["Task", "Suggestion", "TextareaCompletion", "TextareaPopover"])
async def test_what_is_asked_beside_the_chat_is_not_kept(kind: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("Yes.")))) as url:
        await post_graphql(url, make_request_body(make_input(metadata={"requestType": kind})))
        assert await load_agent_state(url) == NO_THREAD


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_nothing_is_kept_where_nothing_shall_be() -> None:
    async with serve_copilotkit(
        Runtime(model=FakeModel(reply_text("Yes.")), parts=RuntimeParts(recorded="off"))
    ) as url:
        await post_graphql(url, make_request_body(make_input()))
        assert await load_agent_state(url) == NO_THREAD


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
async def test_every_generation_finds_the_same_thread() -> None:
    model = FakeModel(reply_text("Old."), reply_text("New."))
    async with serve_runtime(Runtime(model=model)) as server:
        await post_graphql(server.url, make_request_body(make_input()))
        _, listed = await request_json(server, "/copilotkit/threads?agentId=default", method="GET")
        replayed = await collect_frames(server, "connect", make_run_input(thread="t1"))
        await collect_frames(server, "run", make_run_input("more", thread="t1"))
        found = await load_agent_state(server.url)
    assert [thread["id"] for thread in listed["threads"]] == ["t1"]
    assert (list_event_types(replayed)[0], list_event_types(replayed)[-1], join_text(replayed)) == (
        "RUN_STARTED",
        "RUN_FINISHED",
        "Old.",
    )
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

    async with serve_runtime(Runtime(model=FakeModel(slow))) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/copilotkit", make_request_body(make_input()))
            await client.read_head()
            seen = b""
            while b'"it"' not in seen:
                seen += await client.read_piece()
        await asyncio.wait_for(ended.wait(), HANG_TIMEOUT)
        found = await load_agent_state(server.url)
    assert [message["content"] for message in found["messages"]] == ["hi", "Half of it"]


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
async def test_another_agent_on_the_same_thread_is_another() -> None:
    two = [Assistant("a", FakeModel(reply_text("A."))), Assistant("b", FakeModel(reply_text("B.")))]
    async with serve_copilotkit(Runtime(assistants=two)) as url:
        session = {"agentName": "b", "threadId": "t1"}
        await post_graphql(url, make_request_body(make_input(agentSession=session)))
        assert (await load_agent_state(url, "a"))["threadExists"] is False
        assert (await load_agent_state(url, "b"))["threadExists"] is True
