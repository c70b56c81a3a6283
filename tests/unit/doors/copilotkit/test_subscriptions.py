"""Subscriptions over server-sent events, one operation in a connection, as graphql-sse's client reads them."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.config.settings import GraphQLLimits
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.client import RawHttpClient
from tests.kit.waiting import wait_until
from tests.unit.doors.copilotkit.client import PATH, make_action, make_input, serve_copilotkit

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.subscriptions")]

SSE = {"Accept": "text/event-stream"}
DOCUMENT = """subscription Run($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    type
    ... on CopilotResponseStarted { threadId }
    ... on TextMessageStart { messageId }
    ... on TextMessageContent { messageId content }
    ... on ActionExecutionStart { actionExecutionId actionName }
    ... on ActionExecutionArgs { args }
    ... on ActionExecutionResult { actionName result }
    ... on MetaEvent { name value }
    ... on CopilotResponseFinished {
      response {
        threadId
        status { ... on BaseResponseStatus { code } ... on UnknownErrorResponse { description } }
        messages { __typename ... on TextMessageOutput { content } }
      }
    }
  }
}"""


def make_body(document: str = DOCUMENT, **data: Any) -> dict[str, Any]:
    return {"query": document, "variables": {"data": make_input(**data)}}


async def post_subscription(url: str, body: Any, headers: dict[str, str] = SSE) -> tuple[int, str, list[Any]]:
    async with RawHttpClient(url) as client:
        await client.post_json(PATH, body, headers)
        head = await client.read_head()
        frames = [frame async for frame in client.iterate_frames() if frame.event]
    assert frames[-1].event == "complete"
    assert all(frame.event == "next" for frame in frames[:-1])
    return head.status, head.headers["content-type"], [frame.json for frame in frames[:-1]]


async def run(runtime: Runtime, document: str = DOCUMENT, **data: Any) -> list[Any]:
    async with serve_copilotkit(runtime) as url:
        status, kind, results = await post_subscription(url, make_body(document, **data))
    assert (status, kind) == (200, "text/event-stream")
    assert all("errors" not in result for result in results)
    return [result["data"]["generateCopilotResponse"] for result in results]


async def test_hello() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        answer = await post_subscription(url, {"query": "subscription { hello }"})
    assert answer == (200, "text/event-stream", [{"data": {"hello": "Hello World"}}])


async def test_a_text_comes_as_start_content_and_end() -> None:
    events = await run(Runtime(model=FakeModel(reply_text("Hel", "lo"))))
    assert [event["type"] for event in events] == [
        "CopilotResponseStarted",
        "TextMessageStart",
        "TextMessageContent",
        "TextMessageContent",
        "TextMessageEnd",
        "CopilotResponseFinished",
    ]
    assert events[0]["threadId"] == "t1"
    assert "".join(event.get("content", "") for event in events) == "Hello"
    response = events[-1]["response"]
    assert response["status"] == {"code": "Success"}
    assert response["messages"] == [{"__typename": "TextMessageOutput", "content": ["Hel", "lo"]}]


async def test_actions_of_the_server_and_of_the_client() -> None:
    @tool
    def find_order(number: str) -> str:
        """Find an order."""
        return f"{number} is shipped"

    model = FakeModel(
        reply_calls(("find_order", '{"number":"A7"}')), reply_calls(("setColor", '{"color":"red"}'), enforced=True)
    )
    events = await run(Runtime(model=model, tools=[find_order]), frontend={"actions": [make_action()]})
    assert [event["type"].removeprefix("ActionExecution") for event in events[1:-1]] == [
        *("Start", "Args", "End", "Result"),
        *("Start", "Args", "End"),
    ]
    assert events[4]["result"] == "A7 is shipped"
    assert events[5]["actionName"] == "setColor"


async def test_a_question_is_a_meta_event() -> None:
    @tool(confirm=True)
    def send_mail(to: str) -> str:
        """Send a mail."""
        return "sent"

    events = await run(Runtime(model=FakeModel(reply_calls(("send_mail", '{"to":"joe"}'))), tools=[send_mail]))
    [asked] = [event for event in events if event["type"] == "MetaEvent"]
    assert asked["name"] == "LangGraphInterruptEvent"
    assert json.loads(asked["value"])["kind"] == "confirm"


async def test_a_failed_run_ends_with_its_status() -> None:
    def fail(prompt: Prompt) -> Any:
        raise UpstreamRefused("The model is away.")

    events = await run(Runtime(model=FakeModel(fail)))
    status = {"code": "Failed", "description": "The model is away."}
    assert events[-1]["response"]["status"] == status


async def test_text_comes_as_it_is_made() -> None:
    """The second word is made only after the client has the first."""
    seen = asyncio.Event()

    async def talk(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("one")
        await seen.wait()
        yield TextChunk(" two")
        yield FinishChunk("stop")

    async with serve_copilotkit(Runtime(model=FakeModel(talk))) as url, RawHttpClient(url) as client:
        await client.post_json(PATH, make_body(), SSE)
        await client.read_head()
        texts = []
        async for frame in client.iterate_frames():
            if frame.event == "next" and "content" in (event := frame.json["data"]["generateCopilotResponse"]):
                texts.append(event["content"])
                seen.set()
    assert texts == ["one", " two"]


async def test_a_client_that_leaves_ends_the_run() -> None:
    closed = asyncio.Event()

    async def talk(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        try:
            yield TextChunk("one")
            await asyncio.Event().wait()
        finally:
            closed.set()

    runtime = Runtime(model=FakeModel(talk))
    async with serve_copilotkit(runtime) as url:
        async with RawHttpClient(url) as client:
            await client.post_json(PATH, make_body(), SSE)
            await client.read_head()
            async for frame in client.iterate_frames():
                if (
                    frame.event == "next"
                    and frame.json["data"]["generateCopilotResponse"]["type"] == "TextMessageStart"
                ):
                    break
        await wait_until(closed.is_set)
        await wait_until(lambda: not runtime.active_runs)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"query": "subscription { goodbye }"}, "Cannot query field 'goodbye' on type 'Subscription'."),
        ({"query": "subscription {"}, "Syntax Error: Expected Name, found <EOF>. Line 1: subscription {"),
        ({"query": "subscription { hello a: hello }"}, "must select only one top level field"),
        ({"query": DOCUMENT}, "Variable '$data' has invalid value: Expected a value of non-null type"),
        (make_body(messages=[]), "data.messages: there is nothing to answer."),
        (make_body(agentSession={"agentName": "nobody"}), "Agent 'nobody' was not found."),
    ],
)
async def test_what_is_wrong_is_the_only_event(body: Any, problem: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        status, _, [result] = await post_subscription(url, body)
    assert status == 200
    assert problem in result["errors"][0]["message"]
    assert not result.get("data")


async def test_a_subscription_needs_a_client_that_streams_and_a_post() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url, RawHttpClient(url) as client:
        await client.post_json(PATH, {"query": "subscription { hello }"}, {"Accept": "application/json"})
        assert (await client.read_head()).status == 406
        assert "text/event-stream" in (await client.read_body()).decode()
        await client.get(f"{PATH}?query=subscription%20%7Bhello%7D", SSE)
        assert (await client.read_head()).status == 405
        await client.read_body()


async def test_an_answer_is_collected_within_a_limit_only_where_messages_are_selected() -> None:
    limits = GraphQLLimits(max_answer_mb=1)
    bare = DOCUMENT.replace("messages { __typename ... on TextMessageOutput { content } }", "")
    for document, code in ((DOCUMENT, "Failed"), (bare, "Success")):
        runtime = Runtime(model=FakeModel(reply_text("x" * 600_000, "y" * 600_000)))
        async with serve_copilotkit(runtime, graphql=limits) as url:
            _, _, results = await post_subscription(url, make_body(document))
        last = results[-1]["data"]["generateCopilotResponse"]
        assert last["response"]["status"]["code"] == code
