"""The model that a front end names, by every door that has a place for it."""

import json
from typing import Any

import pytest

from rightseat import Assistant, Runtime
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import BoundModel, ModelInfo
from rightseat.wiring.runtime import RuntimeParts
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import make_input, make_request_body, post_graphql, serve_copilotkit

pytestmark = pytest.mark.io

HI = [{"role": "user", "content": "hi"}]
RUN = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}
USER_MESSAGES = [{"id": "u", "role": "user", "content": "hi"}]


def make_runtime_with_choice() -> Runtime:
    fast, big = FakeModel(reply_text("by fast")), FakeModel(reply_text("by big"))
    choice = {"fast": BoundModel.from_model(fast), "big": BoundModel.from_model(big)}
    return Runtime(
        assistants=[
            Assistant("default", fast, models=choice),
            Assistant("big", big),
            Assistant("plain", FakeModel(reply_text("by plain"))),
        ]
    )


async def ask_by_openai(model: str | None) -> tuple[int, Any]:
    async with serve_runtime(make_runtime_with_choice()) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/chat/completions", {"model": model, "messages": HI})
        return (await client.read_head()).status, await client.read_json()


@pytest.mark.demand("models.front_end_choose_among")
@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (None, "by fast"),
        ("default/big", "by big"),
        ("default/fast", "by fast"),
        ("big", "by big"),
        ("plain", "by plain"),
    ],
)
async def test_openai(model: str | None, answer: str) -> None:
    status, found = await ask_by_openai(model)
    assert status == 200, found
    assert found["choices"][0]["message"]["content"] == answer


@pytest.mark.demand("models.front_end_choose_among")
@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        ("default/gpt-9", 404, "default may not use the model 'gpt-9'. Choose one of: fast, big."),
        ("plain/big", 404, "'plain' lets nobody choose a model. Send 'plain'."),
    ],
)
async def test_openai_refuses_another(model: str, status: int, message: str) -> None:
    found, told = await ask_by_openai(model)
    assert (found, told["error"]["message"], told["error"]["param"]) == (status, message, "model")


@pytest.mark.demand("models.front_end_choose_among")
async def test_openai_lists_what_may_be_chosen() -> None:
    async with serve_runtime(make_runtime_with_choice()) as server, RawHttpClient(server.url) as client:
        await client.get("/v1/models")
        await client.read_head()
        listed = [one["id"] for one in (await client.read_json())["data"]]
        assert listed == ["default", "big", "plain", "default/fast", "default/big"]
        for target, status in (("default/big", 200), ("default/gpt-9", 404)):
            await client.get(f"/v1/models/{target}")
            assert (await client.read_head()).status == status
            await client.read_json()


async def ask_by_agui(props: dict[str, Any], agent: str = "default") -> list[Any]:
    async with serve_runtime(make_runtime_with_choice()) as server, RawHttpClient(server.url) as client:
        await client.post_json(f"/agui/{agent}", {**RUN, "messages": USER_MESSAGES, "forwardedProps": props})
        await client.read_head()
        return [json.loads(frame.data) async for frame in client.iterate_frames() if frame.data]


@pytest.mark.demand("models.front_end_choose_among")
@pytest.mark.parametrize(
    ("props", "agent", "answer"),
    [
        ({"model": "big"}, "default", "by big"),
        ({"model": 7}, "default", "by fast"),
        ({}, "default", "by fast"),
        ({"model": "Model 3"}, "plain", "by plain"),
    ],
)
async def test_agui(props: dict[str, Any], agent: str, answer: str) -> None:
    events = await ask_by_agui(props, agent)
    assert "".join(event.get("delta", "") for event in events) == answer


@pytest.mark.demand("models.front_end_choose_among")
async def test_agui_refuses_another() -> None:
    last = (await ask_by_agui({"model": "gpt-9"}))[-1]
    assert last["type"] == "RUN_ERROR"
    assert "Choose one of: fast, big." in last["message"]


async def ask_by_copilotkit(given: dict[str, Any], properties: dict[str, Any] | None = None) -> Any:
    asked = make_request_body(given)
    asked["variables"]["properties"] = properties or {}
    async with serve_copilotkit(make_runtime_with_choice()) as url:
        return await post_graphql(url, asked)


@pytest.mark.demand("models.front_end_choose_among")
@pytest.mark.parametrize(
    ("given", "properties", "answer"),
    [
        ({"forwardedParameters": {"model": "big"}}, {}, "by big"),
        ({"forwardedParameters": {"model": "plain"}}, {}, "by plain"),
        ({"forwardedParameters": {"model": "default/big"}}, {}, "by big"),
        ({}, {"model": "big"}, "by big"),
        ({}, {"model": "Model 3"}, "by fast"),
        ({"agentSession": {"agentName": "default"}, "forwardedParameters": {"model": "big"}}, {}, "by big"),
        ({"agentSession": {"agentName": "plain"}, "forwardedParameters": {"model": "big"}}, {}, "by plain"),
    ],
)
async def test_copilotkit(given: dict[str, Any], properties: dict[str, Any], answer: str) -> None:
    assert (await ask_by_copilotkit(make_input(**given), properties)).text == answer


@pytest.mark.demand("models.models_name_limits_own", "playground.inspector_event_stream_run")
async def test_what_an_answer_cost_stands_beside_its_tokens() -> None:
    line: list[ModelChunk] = [TextChunk("ok"), UsageChunk(Usage(1000, 500)), FinishChunk("stop")]
    model = FakeModel(line, line)
    runtime = Runtime(model=model, parts=RuntimeParts(model_infos={"default": ModelInfo("kit", "m", 2.0, 4.0)}))
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.post_json("/agui/default", {**RUN, "messages": USER_MESSAGES})
        await client.read_head()
        events = [json.loads(frame.data) async for frame in client.iterate_frames() if frame.data]
        assert events[-1]["usage"] == [{"inputTokens": 1000, "outputTokens": 500, "cost": 0.004}]
        await client.post_json("/v1/chat/completions", {"messages": HI})
        await client.read_head()
        usage = (await client.read_json())["usage"]
        assert usage == {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500, "cost": 0.004}
        await client.get("/metrics")
        await client.read_head()
        assert 'rightseat_cost_total{model="m"} 0.008' in (await client.read_body()).decode()
