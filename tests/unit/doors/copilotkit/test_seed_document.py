"""The mutation and the inputs as the description of CopilotRuntime prints them, where the real clients' differ."""

from collections.abc import Mapping
from typing import Any

import pytest

from rightseat import EventChunk, Hooks, Runtime, TextChunk, response_extensions
from rightseat.errors import UpstreamRefused
from rightseat.middleware.hooks import HookRequest, HookResponse, RequestAdditions
from rightseat.types.chunks import FinishChunk
from rightseat.types.events import RunFinished, RunStarted
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.waiting import wait_until
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    UNSTREAMED_DOCUMENT,
    GraphQLAnswer,
    make_input,
    make_request_body,
    post_graphql,
    serve_copilotkit,
)

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.seed_document")]

PRINTED = """
mutation generateCopilotResponse(
  $data: GenerateCopilotResponseInput!
  $properties: JSONObject
) {
  generateCopilotResponse(data: $data, properties: $properties) {
    threadId
    runId
    status {
      __typename
      ... on SuccessResponseStatus { type }
      ... on UnknownErrorResponse { type description }
    }
    messages {
      __typename
      id
      createdAt
      status { __typename }
      ... on TextMessageOutput { role content parentMessageId }
      ... on ActionExecutionMessageOutput { name arguments parentMessageId }
      ... on ResultMessageOutput { actionExecutionId actionName result }
      ... on AgentStateMessageOutput { threadId agentName nodeName runId active role state running }
    }
    extensions {
      # Optional extensions data
    }
    metaEvents {
      __typename
      type
      name
      ... on LangGraphInterruptEvent { value }
    }
  }
}
"""
EMPTY_EXTENSIONS = "extensions {\n      # Optional extensions data\n    }"
ACCEPTED = PRINTED.replace(EMPTY_EXTENSIONS, "extensions { __typename }")
ALL_DOCUMENTS = [DOCUMENT, GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT]
THREAD = {"openaiAssistantAPI": {"threadId": "thread_7", "runId": "run_9"}}
SENT = {"__typename": "OpenAIApiAssistantAPIResponse", "threadId": "thread_7", "runId": "run_9"}


def make_bare_input(*messages: Mapping[str, Any]) -> dict[str, Any]:
    """Only what the description calls required."""
    return {"metadata": {}, "frontend": {"actions": []}, "messages": list(messages)}


SAID = {"textMessage": {"role": "user", "content": "hi"}}


async def ask(runtime: Runtime, document: str, data: dict[str, Any] | None = None) -> GraphQLAnswer:
    async with serve_copilotkit(runtime) as url:
        return await post_graphql(url, make_request_body(data or make_input(), document))


async def test_the_printed_mutation_is_answered() -> None:
    answer = await ask(Runtime(model=FakeModel(reply_text("Hello"))), ACCEPTED, make_bare_input(SAID))
    assert not answer.errors
    assert answer.text == "Hello"
    assert answer.response["status"] == {"__typename": "SuccessResponseStatus", "type": "Success"}
    assert answer.response["extensions"] is None


async def test_a_failure_is_told_by_the_printed_names() -> None:
    def fail(prompt: object) -> Any:
        raise UpstreamRefused("The model is away.")

    answer = await ask(Runtime(model=FakeModel(fail)), ACCEPTED, make_bare_input(SAID))
    expected = {"__typename": "FailedResponseStatus", "type": "Failed", "description": "The model is away."}
    assert answer.response["status"] == expected


async def test_a_planned_document_may_use_the_printed_names() -> None:
    old = "... on FailedResponseStatus { reason details __typename }"
    document = DOCUMENT.replace(
        old, "... on SuccessResponseStatus { type } ... on UnknownErrorResponse { description }"
    )
    answer = await ask(Runtime(model=FakeModel(reply_text("Hello"))), document)
    assert answer.response["status"]["type"] == "Success"


async def test_an_empty_selection_is_shown_with_its_line() -> None:
    answer = await ask(Runtime(model=FakeModel()), PRINTED)
    [error] = answer.errors or answer.frames[0]["errors"]
    number = PRINTED.split("\n").index("    extensions {") + 1
    advice = "Select a field of it, such as __typename, or leave it out with its braces."
    assert error["message"] == f"This selects nothing. {advice} Line {number}: extensions {{"
    assert error["locations"][0]["line"] == number + 2


async def test_another_syntax_error_is_shown_with_its_line() -> None:
    answer = await ask(Runtime(model=FakeModel()), "query {\n  hello)\n}")
    [error] = answer.frames[0]["errors"]
    assert error["message"] == "Syntax Error: Expected Name, found ')'. Line 2: hello)"


@pytest.mark.parametrize("document", ALL_DOCUMENTS)
async def test_messages_need_no_id_and_no_time(document: str) -> None:
    """Of a call without an id the result after it tells the id."""
    model = FakeModel(reply_text("Red"))
    call = {"actionExecutionMessage": {"name": "setColor", "arguments": '{"color":"red"}'}}
    result = {"resultMessage": {"actionExecutionId": "c7", "actionName": "setColor", "result": "done"}}
    answer = await ask(Runtime(model=model), document, make_bare_input(SAID, call, result))
    assert answer.text == "Red"
    said, called, resulted = model.prompts[0].messages
    assert (said.role, called.calls[0].id, resulted.call_id) == ("user", "c7", "c7")
    assert len({said.id, called.id, resulted.id}) == 3


@pytest.mark.parametrize("document", ALL_DOCUMENTS)
async def test_two_calls_without_ids_have_their_own_results(document: str) -> None:
    model = FakeModel(reply_text("Both"))
    calls = [{"actionExecutionMessage": {"name": "setColor", "arguments": "{}"}} for _ in range(2)]
    results = [
        {"resultMessage": {"actionExecutionId": id, "actionName": "setColor", "result": id}} for id in ("c1", "c2")
    ]
    await ask(Runtime(model=model), document, make_bare_input(SAID, *calls, *results))
    called = [call.id for message in model.prompts[0].messages for call in message.calls]
    assert called == ["c1", "c2"]


@pytest.mark.parametrize("document", ALL_DOCUMENTS)
async def test_a_model_sets_extensions(document: str) -> None:
    model = FakeModel([TextChunk("a"), EventChunk(response_extensions(THREAD)), TextChunk("b"), FinishChunk("stop")])
    answer = await ask(Runtime(model=model), document)
    assert answer.text == "ab"
    assert answer.response["extensions"] == {"__typename": "ExtensionsResponse", "openaiAssistantAPI": SENT}


@pytest.mark.parametrize("document", ALL_DOCUMENTS)
async def test_an_agent_sets_extensions(document: str) -> None:
    async def assistant(turn: Turn) -> Any:
        yield RunStarted(turn.thread, turn.run)
        yield response_extensions({"openaiAssistantAPI": {"threadId": "thread_8"}})
        yield RunFinished("stop")

    answer = await ask(Runtime(agents={"default": assistant}), document)
    assert answer.response["extensions"]["openaiAssistantAPI"]["threadId"] == "thread_8"
    assert answer.response["extensions"]["openaiAssistantAPI"]["runId"] is None


@pytest.mark.parametrize("document", ALL_DOCUMENTS)
async def test_a_hook_sets_extensions(document: str) -> None:
    hooks = Hooks(on_before_request=lambda asked: RequestAdditions(extensions=THREAD))
    answer = await ask(Runtime(model=FakeModel(reply_text("hi")), hooks=hooks), document)
    assert answer.response["extensions"]["openaiAssistantAPI"] == SENT


async def test_hooks_get_the_pages_address() -> None:
    told: list[HookRequest] = []
    ended: list[HookResponse] = []
    hooks = Hooks(on_before_request=told.append, on_after_request=ended.append)
    data = make_input(frontend={"actions": [], "url": "https://shop.example/cart?x=1"})
    await ask(Runtime(model=FakeModel(reply_text("hi")), hooks=hooks), DOCUMENT, data)
    await wait_until(lambda: bool(ended))
    for seen in (told[0], ended[0]):
        assert (seen.url, seen.path) == ("https://shop.example/cart?x=1", "/copilotkit")


async def test_hooks_get_the_path_where_no_page_is_named() -> None:
    told: list[HookRequest] = []
    runtime = Runtime(model=FakeModel(reply_text("hi")), hooks=Hooks(on_before_request=told.append))
    await ask(runtime, DOCUMENT, make_bare_input(SAID))
    assert (told[0].url, told[0].path) == ("/copilotkit", "/copilotkit")
