"""A LangGraph agent at CopilotKit's door, as a page sees it: its state by steps, its questions, its past."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.agents.langgraph import langgraph
from rightseat.stores.memory import MemoryStore
from tests.unit.agents.langgraph import scripted_graph
from tests.unit.agents.langgraph.fake_server import FakeLangGraphServer
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    GraphQLAnswer,
    make_input,
    make_request_body,
    make_text_message,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

SESSION = {"agentName": "desk", "threadId": "t1"}
both_ways = pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT], ids=["frames", "graphql"])


@asynccontextmanager
async def serve_graph(names: tuple[str, ...] = ("desk",)) -> AsyncIterator[tuple[str, FakeLangGraphServer]]:
    async with FakeLangGraphServer(names) as platform:
        source = langgraph("desk", {"url": platform.url})
        runtime = Runtime(agent_sources=[source], store=MemoryStore())
        await runtime.start()
        async with serve_copilotkit(runtime) as url:
            yield url, platform


def list_agent_states(answer: GraphQLAnswer) -> list[tuple[str, bool, bool, Any]]:
    found = [m for m in answer.messages if m["__typename"] == "AgentStateMessageOutput"]
    return [(m["nodeName"], m["active"], m["running"], json.loads(m["state"])) for m in found]


@pytest.mark.demand("agents.agent_state_loadagentstate_state", "agents.agent_behind_door_graphql")
@both_ways
async def test_the_state_at_each_step(document: str) -> None:
    async with serve_graph() as (url, _):
        answer = await post_graphql(
            url, make_request_body(make_input(make_text_message("say hi"), agentSession=SESSION), document)
        )
    before: dict[str, Any] = {"notes": []}
    after = {"notes": ["2 messages"]}
    assert list_agent_states(answer) == [
        ("desk", True, True, {}),
        ("desk", True, True, before),
        ("desk", False, True, before),
        ("note", True, True, before),
        ("note", True, True, after),
        ("note", False, True, after),
        ("__end__", False, False, after),
    ]
    assert answer.text == "You said say hi."


@pytest.mark.demand("agents.agent_behind_door_graphql")
@both_ways
async def test_a_question_in_the_agents_own_shape(document: str) -> None:
    async with serve_graph() as (url, platform):
        first = await post_graphql(
            url, make_request_body(make_input(make_text_message("ask me"), agentSession=SESSION), document)
        )
        assert list_agent_states(first)[-1][:3] == ("review", False, True), "it waits, and is not at its end"
        (event,) = first.response["metaEvents"]
        shown = json.loads(event["value"])
        assert (shown["question"], shown["document"]) == ("Approve it?", "Hello")
        posted = [{"name": event["name"], "value": event["value"], "response": '{"ok": true}'}]
        second = await post_graphql(
            url,
            make_request_body(
                make_input(make_text_message("ask me"), agentSession=SESSION, metaEvents=posted), document
            ),
        )
        assert second.text == "You answered {'ok': True}."
        assert platform.request_bodies[-1]["command"] == {"resume": {"ok": True}}


@both_ways
async def test_a_question_that_is_a_bare_text(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_graph, "QUESTION", "Approve it?")
    async with serve_graph() as (url, _):
        first = await post_graphql(
            url, make_request_body(make_input(make_text_message("ask me"), agentSession=SESSION), document)
        )
        (event,) = first.response["metaEvents"]
        assert event["value"] == "Approve it?"
        posted = [{"name": event["name"], "value": event["value"], "response": "yes"}]
        second = await post_graphql(
            url,
            make_request_body(
                make_input(make_text_message("ask me"), agentSession=SESSION, metaEvents=posted), document
            ),
        )
        assert second.text == "You answered yes."


@pytest.mark.demand("agents.agent_state_loadagentstate_state")
async def test_the_page_goes_on_from_a_node() -> None:
    async with serve_graph() as (url, platform):
        await post_graphql(url, make_request_body(make_input(make_text_message("say hi"), agentSession=SESSION)))
        (thread,) = platform.threads.values()
        thread.next = ["note"]
        state = {"agentName": "desk", "state": '{"document": "mine"}'}
        given = make_input(
            make_text_message("say hi"), agentSession={**SESSION, "nodeName": "desk"}, agentStates=[state]
        )
        await post_graphql(url, make_request_body(given))
        assert thread.values["document"] == "mine"
        assert platform.request_bodies[-1]["input"] is None


@pytest.mark.demand("agents.agent_state_loadagentstate_state", "agents.availableagents_lists_agent_down")
async def test_its_past_is_loaded_and_it_is_listed() -> None:
    async with serve_graph(("desk", "other")) as (url, _):
        await post_graphql(url, make_request_body(make_input(make_text_message("say hi"), agentSession=SESSION)))
        fields = "loadAgentState(data: $data) { threadExists state messages }"
        query = f"query q($data: LoadAgentStateInput!) {{ {fields} }}"
        variables = {"data": {"threadId": "t1", "agentName": "desk"}}
        loaded = (await post_graphql(url, {"query": query, "variables": variables})).data["loadAgentState"]
        assert loaded["threadExists"] is True
        assert json.loads(loaded["state"]) == {"notes": ["2 messages"]}
        assert "You said say hi." in loaded["messages"]
        listed = await post_graphql(url, {"query": "{ availableAgents { agents { name description } } }"})
        agents = listed.data["availableAgents"]["agents"]
        assert agents == [{"name": "desk", "description": "Does what it is told."}]
