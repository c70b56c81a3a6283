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
from tests.kit.house import Lines, Script, calls, says
from tests.unit.doors.copilotkit.client import DOCUMENT, GENERIC, ask, body, data, home

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


def enforced(name: str, *pieces: str) -> list[ModelChunk]:
    """A call whose arguments are shown as they come, as the recordings have them."""
    return [ToolCallStart(0, name, enforced=True), *(ToolCallArgs(0, piece) for piece in pieces), FinishChunk("calls")]


def failing(error: UpstreamError, *words: str) -> Script:
    async def stream(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for word in words:
            yield TextChunk(word)
        raise error

    return stream


MODELS: dict[str, list[Script]] = {
    "text": [says("Hello", ", ", "world", "!")],
    "server_action": [enforced("getWeather", '{"ci', 'ty":"Pa', 'ris"}'), says("More.")],
    "frontend_action": [calls(("setColor", '{"color":"red"}'))],
    "two_calls": [calls(("getWeather", '{"city":"Rome"}'), ("setColor", '{"color":"red"}'))],
    "text_then_server": [calls(("getWeather", '{"city":"Oslo"}'), text="Let me check."), says("More.")],
    "handler_error": [enforced("failAction", '{"x"', ":1}"), says("More.")],
    "void_result": [calls(("voidAction", "{}")), says("More.")],
    "object_result": [calls(("objAction", "{}")), says("More.")],
    "number_result": [calls(("numAction", "{}")), says("More.")],
    "bad_json_args": [calls(("getWeather", '{"city":')), says("More.")],
    "err401": [failing(UpstreamDenied("The model's server refused our key."))],
    "err500": [failing(UpstreamError("The model's server failed."))],
    "mid_stream_death": [failing(Incomplete("It ended too early."), "partial")],
}


def shape(response: dict[str, Any]) -> dict[str, Any]:
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
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC])
@pytest.mark.parametrize("name", RECORDED)
async def test_the_client_ends_with_the_same_data(name: str, document: str) -> None:
    async with home(Runtime(model=Lines(*MODELS[name]), tools=TOOLS)) as url:
        answer = await ask(url, body(data(), document))
    ours, theirs = shape(answer.response), better(name)
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


def better(name: str) -> dict[str, Any]:
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
    async with home(Runtime(model=Lines(says("a"), says("b")), agents={"other": nobody})) as url:
        before = await ask(url, question)
        await ask(url, body(data(agentSession={"agentName": "default"})))
        after = await ask(url, question)
    assert before.data == after.data == {"availableAgents": {"agents": [{"name": "default"}, {"name": "other"}]}}


async def nobody(turn: object) -> AsyncIterator[Any]:
    raise AssertionError("not asked")
    yield
