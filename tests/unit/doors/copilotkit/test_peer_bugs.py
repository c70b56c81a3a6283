"""What is wrong in the TypeScript runtime, one test for each, that it is right here.

Its service adapters and remote endpoints are in test_peer_adapters.py. Others stand elsewhere: an upstream
that is cut (tests/faults), Origins that are echoed with credentials (tests/security/test_hosts.py), a busy
thread whose stream is empty (test_agui.py), agents that are forgotten (test_recorded.py), an answer made anew
that stands beside the old one after a reload (test_regenerate.py), what it makes of LangGraph's events
(tests/unit/agents/langgraph/test_mapping.py), endpoints that are busy (tests/unit/agents/copilotkit).
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.engine.loop import Assistant
from rightseat.types.agents import Responder
from rightseat.types.events import Event, RunFinished, TextDelta
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.timeouts import HANG_TIMEOUT
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

over_documents = pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])
VALUES: list[Any] = [42, 0, True, False, 1.5, [1, "a"], {"a": None}, "", "text", None]


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@over_documents
@pytest.mark.parametrize("value", VALUES, ids=str)
async def test_a_result_that_is_no_object(value: Any, document: str) -> None:
    """There a number or a boolean is an error of the handler."""

    @tool
    def give() -> Any:
        return value

    async with serve_copilotkit(
        Runtime(model=FakeModel(reply_calls(("give", "{}")), reply_text("ok")), tools=[give])
    ) as url:
        answer = await post_graphql(url, make_request_body(make_input(), document))
    (result,) = [message["result"] for message in answer.messages if "result" in message]
    plain = isinstance(value, str) or value is None
    assert result == ((value or "") if plain else json.dumps(value, separators=(",", ":")))
    assert answer.text == "ok"


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@over_documents
async def test_arguments_that_are_no_json_end(document: str) -> None:
    """There the stream never ends."""

    @tool
    def add(a: int) -> int:
        return a

    model = FakeModel(reply_calls(("add", '{"a": ')), reply_text("Sorry."))
    async with serve_copilotkit(Runtime(model=model, tools=[add])) as url:
        answer = await asyncio.wait_for(post_graphql(url, make_request_body(make_input(), document)), HANG_TIMEOUT)
    (result,) = [json.loads(message["result"]) for message in answer.messages if "result" in message]
    assert (result["error"]["code"], result["result"]) == ("INVALID_ARGUMENTS", "")
    assert answer.response["status"]["code"] == "Success"
    assert answer.text == "Sorry."


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_every_agent_is_listed_and_can_be_asked() -> None:
    """There only those of remote endpoints are listed."""

    async def own(turn: Turn) -> AsyncIterator[Event]:
        yield RunFinished("stop")

    assistants = [Assistant("helper", FakeModel(reply_text("Yes.")))]
    async with serve_copilotkit(Runtime(assistants=assistants, agents={"own": own})) as url:
        listed = await post_graphql(url, {"query": "{ availableAgents { agents { name } } }"})
        names = [agent["name"] for agent in listed.data["availableAgents"]["agents"]]
        assert names == ["helper", "own"]
        for name in names:
            session = {"agentName": name, "threadId": "t1"}
            assert (await post_graphql(url, make_request_body(make_input(agentSession=session)))).response["status"][
                "code"
            ] == "Success"


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@over_documents
async def test_a_layer_sees_every_word(document: str) -> None:
    """There what watches a run is put around it after it has begun, and sees no chunk."""
    seen: list[str] = []

    def watching(inner: Responder) -> Responder:
        async def respond(turn: Turn) -> AsyncIterator[Event]:
            async for event in inner(turn):
                if isinstance(event, TextDelta):
                    seen.append(event.text)
                yield event

        return respond

    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("a", "b", "c")), layers=[watching])) as url:
        await post_graphql(url, make_request_body(make_input(), document))
    assert seen == ["a", "b", "c"]


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@over_documents
async def test_the_pages_model_and_a_temperature_of_nothing(document: str) -> None:
    """There the first is not looked at, and the second is dropped because zero is false."""
    big, small = FakeModel(reply_text("Big.")), FakeModel(reply_text("Small."))
    assistants = [Assistant("big", big), Assistant("small", small)]
    parameters = {"model": "small", "temperature": 0, "maxTokens": 5}
    async with serve_copilotkit(Runtime(assistants=assistants)) as url:
        answer = await post_graphql(url, make_request_body(make_input(forwardedParameters=parameters), document))
    assert answer.text == "Small."
    assert (small.prompts[0].settings.temperature, small.prompts[0].settings.max_tokens) == (0, 5)


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_a_task_of_a_newer_page() -> None:
    """There CopilotTask of 1.50 and later, which still speaks GraphQL, gets a 400."""
    model = FakeModel(reply_text("Done."))
    async with serve_copilotkit(Runtime(model=model)) as url:
        given = make_input(make_text_message("do it"), metadata={"requestType": "Task"}, threadId=None)
        answer = await post_graphql(url, make_request_body(given))
    assert answer.text == "Done."


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@over_documents
async def test_an_upstream_that_fails_is_told_in_our_words(document: str) -> None:
    """There the browser gets what the upstream said."""

    async def broken(prompt: Any) -> AsyncIterator[Any]:
        raise RuntimeError("canary of the upstream")
        yield

    async with serve_copilotkit(Runtime(model=FakeModel(broken))) as url:
        answer: GraphQLAnswer = await post_graphql(url, make_request_body(make_input(), document))
    assert answer.response["status"]["code"] == "Failed"
    assert b"canary" not in answer.raw
