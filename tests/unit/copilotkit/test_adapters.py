"""Adapters written to the description of CopilotRuntime, behind the real doors."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rightseat import RightseatError, tool
from rightseat.copilotkit import (
    ActionExecutionMessage,
    AnthropicAdapter,
    CopilotKitLowLevelError,
    CopilotKitMisuseError,
    CopilotRuntime,
    CopilotRuntimeRequest,
    CopilotRuntimeResponse,
    CopilotServiceAdapter,
    EmptyAdapter,
    GoogleAdapter,
    LangChainAdapter,
    MetaEvent,
    ModelAdapter,
    OpenAIAdapter,
    ResultMessage,
    RuntimeEventStream,
    TextMessage,
    TextMessageContent,
)
from rightseat.middleware.guardrails import GuardrailPolicies, GuardrailPolicy, TextRules, WordList
from rightseat.runtime.incidents import Incident
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.client import RawHttpClient
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import wait_until
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    PATH,
    UNSTREAMED_DOCUMENT,
    GraphQLAnswer,
    make_action,
    make_input,
    make_request_body,
    post_graphql,
    serve_copilotkit,
)

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.names_of_the_runtime")]
ALL_DOCUMENTS = [DOCUMENT, GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT]


class EchoAdapter(CopilotServiceAdapter):
    """As the description has it: start, content and end by the event source; thread ids in the response."""

    def __init__(self) -> None:
        self.requests: list[CopilotRuntimeRequest] = []

    async def process(self, request: CopilotRuntimeRequest) -> CopilotRuntimeResponse:
        self.requests.append(request)
        last = request.messages[-1]
        assert isinstance(last, TextMessage)

        async def produce(stream: RuntimeEventStream) -> None:
            stream.send_text_message_start(message_id="m1")
            for word in last.content.split(" "):
                stream.send_text_message_content(message_id="m1", content=f"{word} ")
                await stream.drain()
            stream.send_text_message_end(message_id="m1")
            stream.complete()

        request.event_source.stream(produce)
        extensions = {"openaiAssistantAPI": {"threadId": "thread_7", "runId": "run_9"}}
        return CopilotRuntimeResponse(thread_id=request.thread_id, extensions=extensions)


class ScriptedAdapter(CopilotServiceAdapter):
    """Runs the next of some functions for each request."""

    def __init__(self, *parts: Callable[[CopilotRuntimeRequest], Any]) -> None:
        self.parts = list(parts)
        self.requests: list[CopilotRuntimeRequest] = []

    async def process(self, request: CopilotRuntimeRequest) -> CopilotRuntimeResponse:
        self.requests.append(request)
        result = self.parts.pop(0)(request)
        if asyncio.iscoroutine(result):
            await result
        return CopilotRuntimeResponse()


def say(text: str) -> Callable[[CopilotRuntimeRequest], None]:
    return lambda request: request.event_source.send_text_message("m", text)


def call(name: str, args: str) -> Callable[[CopilotRuntimeRequest], None]:
    return lambda request: request.event_source.send_action_execution(
        action_execution_id="a1", action_name=name, args=args
    )


async def ask(runtime: CopilotRuntime, document: str = DOCUMENT, **data: Any) -> GraphQLAnswer:
    async with serve_copilotkit(runtime) as url:
        return await post_graphql(url, make_request_body(make_input(**data), document))


@pytest.mark.parametrize("document", ALL_DOCUMENTS)
async def test_an_adapter_of_ones_own_answers(document: str) -> None:
    adapter = EchoAdapter()
    data = {"extensions": {"openaiAssistantAPI": {"threadId": "thread_6"}}, "frontend": {"actions": [make_action()]}}
    answer = await ask(CopilotRuntime(adapter), document, **data)
    assert answer.text == "hi "
    assert answer.response["status"]["code"] == "Success"
    assert answer.response["extensions"]["openaiAssistantAPI"]["threadId"] == "thread_7"
    [request] = adapter.requests
    assert (request.thread_id, [action.name for action in request.actions]) == ("t1", ["setColor"])
    assert request.extensions == {"openaiAssistantAPI": {"threadId": "thread_6", "runId": None}}
    assert request.agent_session is None


async def test_words_come_one_by_one() -> None:
    content = "one two three"
    message = {"id": "u1", "createdAt": "2026-01-01T00:00:00.000Z", "textMessage": {"role": "user", "content": content}}
    answer = await ask(CopilotRuntime(EchoAdapter()), messages=[message])
    assert answer.messages[0]["content"] == ["one ", "two ", "three "]


async def test_an_action_of_the_server_is_run_and_the_adapter_asked_again() -> None:
    @tool
    def find_order(number: str) -> str:
        """Find an order."""
        return f"{number} is shipped"

    adapter = ScriptedAdapter(call("find_order", '{"number":"A7"}'), say("Shipped."))
    answer = await ask(CopilotRuntime(adapter, actions=[find_order]))
    assert answer.message_types == ["ActionExecution", "Result", "Text"]
    called, resulted = adapter.requests[1].messages[-2:]
    assert isinstance(called, ActionExecutionMessage)
    assert isinstance(resulted, ResultMessage)
    assert (called.name, called.arguments) == ("find_order", {"number": "A7"})
    assert (resulted.action_name, resulted.result) == ("find_order", "A7 is shipped")
    assert resulted.action_execution_id == called.id


async def test_an_action_of_the_page_is_left_to_it() -> None:
    answer = await ask(CopilotRuntime(ScriptedAdapter(call("setColor", '{"color":"red"}'))))
    assert answer.message_types == ["ActionExecution"]
    assert answer.messages[0]["name"] == "setColor"
    assert "".join(answer.messages[0]["arguments"]) == '{"color":"red"}'


async def test_other_doors_have_the_adapter_too() -> None:
    async with serve_copilotkit(CopilotRuntime(EchoAdapter())) as url, RawHttpClient(url) as client:
        run = {"threadId": "t", "runId": "r", "tools": [], "context": [], "forwardedProps": {}, "state": {}}
        messages = [{"id": "1", "role": "user", "content": "hi"}]
        await client.post_json(f"{PATH}/agent/default/run", {**run, "messages": messages})
        assert (await client.read_head()).status == 200
        frames = [frame.json async for frame in client.iterate_frames() if frame.data]
    assert "".join(frame.get("delta", "") for frame in frames) == "hi "


async def raise_low_level(request: CopilotRuntimeRequest) -> None:
    request.event_source.send_text_message_start(message_id="m")
    raise CopilotKitLowLevelError("The vendor is away.")


def emit_meta_event(request: CopilotRuntimeRequest) -> None:
    request.event_source.emit(MetaEvent(name="LangGraphInterruptEvent", value="?"))


def leave_call_open(request: CopilotRuntimeRequest) -> None:
    request.event_source.send_action_execution_start(action_execution_id="a", action_name="setColor")


def emit_after_complete(request: CopilotRuntimeRequest) -> None:
    request.event_source.complete()
    request.event_source.send_text_message("m", "late")


@pytest.mark.parametrize(
    ("part", "name", "message"),
    [
        (raise_low_level, "CopilotKitLowLevelError", "The vendor is away."),
        (emit_meta_event, "CopilotKitMisuseError", "An adapter emits no MetaEvent"),
        (leave_call_open, "CopilotKitMisuseError", "The adapter ends without ActionExecutionEnd of setColor."),
        (emit_after_complete, "CopilotKitMisuseError", "after complete()"),
    ],
)
async def test_errors_have_the_name_of_their_class(part: Any, name: str, message: str) -> None:
    answer = await ask(CopilotRuntime(ScriptedAdapter(part)))
    details = answer.response["status"]["details"]
    assert details["originalError"]["extensions"]["name"] == name
    assert message in details["description"]


async def test_an_unknown_agent_has_the_name_of_its_class() -> None:
    answer = await ask(CopilotRuntime(EchoAdapter()), agentSession={"agentName": "nobody"})
    assert answer.errors[0]["extensions"]["name"] == "CopilotKitAgentDiscoveryError"


async def test_a_client_that_leaves_cancels_the_adapter() -> None:
    cancelled = asyncio.Event()

    async def hang(request: CopilotRuntimeRequest) -> None:
        try:
            request.event_source.send_text_message("m", "one")
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with serve_copilotkit(CopilotRuntime(ScriptedAdapter(hang))) as url:
        async with RawHttpClient(url) as client:
            await client.post_json(PATH, make_request_body(make_input()), {"Accept": "text/event-stream"})
            await client.read_head()
            async for frame in client.iterate_frames():
                if frame.data and '"one"' in frame.data:
                    break
        await wait_until(cancelled.is_set)


async def test_an_empty_adapter_leaves_all_to_agents() -> None:
    for runtime in (CopilotRuntime(EmptyAdapter()), CopilotRuntime()):
        answer = await ask(runtime)
        assert answer.response["status"]["details"]["originalError"]["extensions"]["name"] == "CopilotKitMisuseError"


async def test_the_openai_adapter_asks_its_server() -> None:
    async with FakeUpstream() as upstream:
        adapter = OpenAIAdapter("gpt-4o", base_url=f"{upstream.origin}/v1", api_key="k")
        answer = await ask(CopilotRuntime(adapter))
        assert upstream.requests[0].json["model"] == "gpt-4o"
    assert answer.text


async def test_the_vendors_adapters_have_a_model() -> None:
    for adapter, name in ((AnthropicAdapter(api_key="k"), "claude"), (GoogleAdapter(api_key="k"), "gemini")):
        assert name in adapter.model.name
        await adapter.close()


async def test_the_langchain_adapter_takes_an_object() -> None:
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    answer = await ask(CopilotRuntime(LangChainAdapter(FakeListChatModel(responses=["From a chain."]))))
    assert answer.text == "From a chain."


async def test_an_adapter_may_ask_another_one() -> None:
    """`process` of a built-in adapter emits events: texts, and calls with their arguments."""

    class Polite(ModelAdapter):
        async def process(self, request: CopilotRuntimeRequest) -> CopilotRuntimeResponse:
            request.event_source.send_text_message("p", "Dear friend: ")
            return await super().process(request)

    assert (await ask(CopilotRuntime(Polite(FakeModel(reply_text("Hel", "lo")))))).text == "Dear friend: Hello"
    calls = FakeModel(reply_calls(("setColor", '{"color":"red"}'), text="So: "))
    answer = await ask(CopilotRuntime(Polite(calls)))
    assert (answer.text, answer.message_types) == ("Dear friend: So: ", ["Text", "ActionExecution"])


async def test_a_wrong_return_value_is_said() -> None:
    class Wrong(CopilotServiceAdapter):
        async def process(self, request: CopilotRuntimeRequest) -> Any:
            return {"threadId": "t"}

    answer = await ask(CopilotRuntime(Wrong()))
    expected = "Wrong.process returns dict, not a CopilotRuntimeResponse."
    assert answer.response["status"]["details"]["description"] == expected


async def test_requests_are_processed_without_a_door() -> None:
    runtime = CopilotRuntime(ScriptedAdapter(say("Hello"), raise_low_level))
    async with runtime:
        events = [event async for event in runtime.process_request(make_input())]
        assert [event.type for event in events] == ["TextMessageStart", "TextMessageContent", "TextMessageEnd"]
        assert isinstance(events[1], TextMessageContent)
        assert events[1].content == "Hello"
        with pytest.raises(CopilotKitLowLevelError, match="The vendor is away"):
            async for _ in runtime.process_request(make_input()):
                pass
        with pytest.raises(RightseatError, match="frontend"):
            async for _ in runtime.process_request({"metadata": {}, "messages": []}):
                pass


async def test_guardrails_and_on_error_are_those_of_a_runtime() -> None:
    told: list[Incident] = []
    guards = GuardrailPolicies(GuardrailPolicy(input=TextRules(deny=WordList(["hi"]))))
    answer = await ask(CopilotRuntime(EchoAdapter(), guards=guards, environment="development", on_error=told.append))
    assert answer.response["status"]["reason"] == "GUARDRAILS_VALIDATION_FAILED"
    assert (told[0].code, told[0].environment) == ("guardrails_validation_failed", "development")


def test_an_adapter_needs_process() -> None:
    with pytest.raises(TypeError, match="process"):
        CopilotServiceAdapter()  # type: ignore[abstract]
    assert issubclass(CopilotKitMisuseError, RightseatError)
