"""What CopilotKit's own runtime 1.10.6 gave its client, recorded (recorded.json), and what we give it.

Each recording is put together as the client does it: messages with their joined texts, and the status. Where
a server action ran, ours goes on in the same run, so more follows; where the peer has a bug, we have none.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.errors import Incomplete, UpstreamDenied, UpstreamError
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel, ModelReply, reply_calls, reply_text
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    make_input,
    make_request_body,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text("utf-8"))


@tool
def getWeather(city: str) -> str:
    """The weather."""
    return f"Sunny in {city}"


@tool
def failAction(x: int) -> str:
    """Fail."""
    raise RuntimeError("kaboom")


@tool
def numAction() -> int:
    """A number."""
    return 42


@tool
def objAction() -> dict[str, Any]:
    """An object."""
    return {"a": 1, "b": [True, None]}


@tool
def voidAction() -> None:
    """Nothing."""


TOOLS = [getWeather, failAction, numAction, objAction, voidAction]


def make_enforced_call(name: str, *pieces: str) -> list[ModelChunk]:
    """A call whose arguments are shown as they come, as the recordings have them."""
    return [ToolCallStart(0, name, enforced=True), *(ToolCallArgs(0, piece) for piece in pieces), FinishChunk("calls")]


def make_failing_script(error: UpstreamError, *words: str) -> ModelReply:
    async def stream(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for word in words:
            yield TextChunk(word)
        raise error

    return stream


MODELS: dict[str, list[ModelReply]] = {
    "text": [reply_text("Hello", ", ", "world", "!")],
    "server_action": [make_enforced_call("getWeather", '{"ci', 'ty":"Pa', 'ris"}'), reply_text("More.")],
    "frontend_action": [reply_calls(("setColor", '{"color":"red"}'))],
    "two_calls": [reply_calls(("getWeather", '{"city":"Rome"}'), ("setColor", '{"color":"red"}'))],
    "text_then_server": [reply_calls(("getWeather", '{"city":"Oslo"}'), text="Let me check."), reply_text("More.")],
    "handler_error": [make_enforced_call("failAction", '{"x"', ":1}"), reply_text("More.")],
    "void_result": [reply_calls(("voidAction", "{}")), reply_text("More.")],
    "object_result": [reply_calls(("objAction", "{}")), reply_text("More.")],
    "number_result": [reply_calls(("numAction", "{}")), reply_text("More.")],
    "bad_json_args": [reply_calls(("getWeather", '{"city":')), reply_text("More.")],
    "err401": [make_failing_script(UpstreamDenied("The model's server refused our key."))],
    "err500": [make_failing_script(UpstreamError("The model's server failed."))],
    "mid_stream_death": [make_failing_script(Incomplete("It ended too early."), "partial")],
}


def summarise_response(response: dict[str, Any]) -> dict[str, Any]:
    messages = []
    for message in response["messages"]:
        found = {"kind": message["__typename"], "status": message["status"]["code"]}
        found |= {name: message[name] for name in ("role", "name", "result", "actionName") if name in message}
        if "content" in message:
            found["text"] = "".join(message["content"])
        if "arguments" in message:
            found["arguments"] = "".join(message["arguments"])
        messages.append(found)
    status = response["status"]
    told = {"code": status["code"]}
    if "details" in status:
        original = status["details"]["originalError"]
        error = {name: original[name] for name in ("code", "severity", "visibility")}
        told |= {"reason": status["reason"], "error": error}
    return {"messages": messages, "status": told}


@pytest.mark.demand(
    "copilotkit.message_ids_parent_ids",
    "copilotkit.graphql_door_results_encoded",
    "copilotkit.peer_bugs_listed_notes",
    "copilotkit.differential_recorded_traffic_typescript",
)
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])
@pytest.mark.parametrize("name", RECORDED)
async def test_the_client_ends_with_the_same_data(name: str, document: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(*MODELS[name]), tools=TOOLS)) as url:
        answer = await post_graphql(url, make_request_body(make_input(), document))
    ours, theirs = summarise_response(answer.response), get_corrected_recording(name)
    if len(MODELS[name]) > 1:
        [last] = ours["messages"][len(theirs["messages"]) :]
        assert last["text"] == "More."
        del ours["messages"][-1]
    assert ours == theirs
    ids = [message["id"] for message in answer.messages]
    assert len(ids) == len(set(ids))
    for message in answer.messages:
        if message["__typename"] == "ResultMessageOutput":
            assert message["id"] == f"result-{message['actionExecutionId']}"
            assert message["actionExecutionId"] in ids


def get_corrected_recording(name: str) -> dict[str, Any]:
    """The recording, without the peer's faults."""
    theirs: dict[str, Any] = json.loads(json.dumps(RECORDED[name]))
    messages = theirs["messages"]
    if name == "number_result":
        # The peer: "Cannot use 'in' operator to search for 'getReader' in 42".
        assert "HANDLER_ERROR" in messages[1]["result"]
        messages[1]["result"] = "42"
    if name == "handler_error":
        messages[1]["result"] = messages[1]["result"].replace("kaboom", "RuntimeError: kaboom")
    if name == "bad_json_args":
        # The peer's stream never ends, and half a JSON stands as the call's arguments.
        assert theirs["status"] == {"code": None}
        theirs["status"] = {"code": "Success"}
        messages[0]["arguments"] = "{}"
        said = 'The arguments are not valid JSON (Input data was truncated): {"city":'
        error = {"code": "INVALID_ARGUMENTS", "message": said}
        messages[1]["result"] = json.dumps({"error": error, "result": ""}, separators=(",", ":"))
    return theirs


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_agents_are_not_forgotten_after_one_was_chosen() -> None:
    """The peer keeps only the selected agent after a request with a session."""
    question = {"query": "{ availableAgents { agents { name } } }"}
    async with serve_copilotkit(
        Runtime(model=FakeModel(reply_text("a"), reply_text("b")), agents={"other": fail_if_asked})
    ) as url:
        before = await post_graphql(url, question)
        await post_graphql(url, make_request_body(make_input(agentSession={"agentName": "default"})))
        after = await post_graphql(url, question)
    assert before.data == after.data == {"availableAgents": {"agents": [{"name": "default"}, {"name": "other"}]}}


async def fail_if_asked(turn: object) -> AsyncIterator[Any]:
    raise AssertionError("not asked")
    yield
