"""The names that the description of CopilotRuntime has, as values: event types, inputs, endpoints, errors."""

import msgspec
import pytest

from rightseat import copilotkit, errors
from rightseat.copilotkit import (
    ActionInput,
    CopilotKitEndpoint,
    CopilotRuntime,
    EndpointType,
    FrontendInput,
    GenerateCopilotResponseInput,
    GenerateCopilotResponseMetadataInput,
    LangGraphPlatformEndpoint,
    MessageInput,
    MessageRole,
    RuntimeEvent,
    RuntimeEventTypes,
    TextMessageInput,
)
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.agents.copilotkit.endpoint import FakeRemoteEndpoint
from tests.unit.agents.langgraph.fake_server import FakeLangGraphServer
from tests.unit.doors.copilotkit.client import make_input, make_request_body, post_graphql, serve_copilotkit

pytestmark = pytest.mark.demand("copilotkit.names_of_the_runtime")


def test_every_name_is_there() -> None:
    assert all(hasattr(copilotkit, name) for name in copilotkit.__all__)
    adapters = {"CopilotServiceAdapter", *(f"{name}Adapter" for name in ("OpenAI", "Anthropic", "Google", "LangChain"))}
    five = {f"CopilotKit{name}Error" for name in ("", "LowLevel", "ApiDiscovery", "AgentDiscovery", "Misuse")}
    assert adapters | five | {"EmptyAdapter", "CopilotRuntime"} <= set(copilotkit.__all__)


def test_events_are_encoded_as_described() -> None:
    assert len(RuntimeEventTypes) == 9
    start = {"type": "ActionExecutionStart", "actionExecutionId": "a", "actionName": "n", "parentMessageId": None}
    event = msgspec.convert(start, RuntimeEvent)
    assert event.type is RuntimeEventTypes.ActionExecutionStart
    assert msgspec.to_builtins(event) == start


def test_errors_are_rightseats_own() -> None:
    """So that `except` by either name catches an error, whoever raised it."""
    assert copilotkit.CopilotKitError is errors.RightseatError
    assert copilotkit.CopilotKitAgentDiscoveryError is errors.AgentNotFound
    assert issubclass(copilotkit.CopilotKitLowLevelError, copilotkit.CopilotKitError)


async def test_inputs_have_the_described_fields() -> None:
    message = MessageInput(text_message=TextMessageInput(content="hi", role=MessageRole.USER.value))
    data = GenerateCopilotResponseInput(
        metadata=GenerateCopilotResponseMetadataInput(),
        messages=[message],
        frontend=FrontendInput(actions=[ActionInput(name="paint", description="", json_schema="{}")]),
        thread_id="t7",
    )
    model = FakeModel(reply_text("Hello"))
    runtime = CopilotRuntime(copilotkit.ModelAdapter(model))
    async with runtime:
        events = [event async for event in runtime.process_request(data)]
    assert len(events) == 3
    assert [tool.name for tool in model.prompts[0].tools] == ["paint"]


@pytest.mark.io
async def test_a_copilotkit_endpoint_has_agents_and_actions() -> None:
    async with FakeRemoteEndpoint() as remote:
        endpoint = CopilotKitEndpoint(url=remote.url, on_before_request=lambda request: {"x-tenant": "acme"})
        assert endpoint.type is EndpointType.CopilotKit
        model = FakeModel(reply_calls(("get_weather", '{"city":"Oslo"}')), reply_text("21 degrees"))
        runtime = CopilotRuntime(copilotkit.ModelAdapter(model), remote_endpoints=[endpoint])
        await runtime.start()
        assert "desk" in runtime.responders
        async with serve_copilotkit(runtime) as url:
            answer = await post_graphql(url, make_request_body(make_input()))
        assert answer.text == "21 degrees"
        assert all(request.headers["x-tenant"] == "acme" for request in remote.upstream.requests)


@pytest.mark.io
async def test_a_langgraph_endpoint_has_the_named_agents() -> None:
    async with FakeLangGraphServer(("desk", "other")) as platform:
        endpoint = LangGraphPlatformEndpoint(
            deployment_url=platform.url, langsmith_api_key="secret-key", agents=[{"name": "desk"}]
        )
        assert "secret-key" not in repr(endpoint)
        runtime = CopilotRuntime(remote_endpoints=[endpoint])
        async with runtime:
            assert "desk" in runtime.responders
            assert "other" not in runtime.responders
        assert platform.requests[0].headers["x-api-key"] == "secret-key"
