"""The model that a front end names, by every door that has a place for it."""

import json
from typing import Any

import pytest

from rightseat import Assistant, Runtime
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import BoundModel, ModelInfo
from rightseat.wiring.runtime import RuntimeParts
from tests.kit.client import Client
from tests.kit.house import Lines, house, says
from tests.unit.doors.copilotkit.client import ask, body, data, home

pytestmark = pytest.mark.io

HI = [{"role": "user", "content": "hi"}]
RUN = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}
PERSON = [{"id": "u", "role": "user", "content": "hi"}]


def choosing() -> Runtime:
    fast, big = Lines(says("by fast")), Lines(says("by big"))
    choice = {"fast": BoundModel.from_model(fast), "big": BoundModel.from_model(big)}
    return Runtime(
        assistants=[
            Assistant("default", fast, models=choice),
            Assistant("big", big),
            Assistant("plain", Lines(says("by plain"))),
        ]
    )


async def chat(model: str | None) -> tuple[int, Any]:
    async with house(choosing()) as server, Client(server.url) as client:
        await client.post("/v1/chat/completions", {"model": model, "messages": HI})
        return (await client.head()).status, await client.json()


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
    status, found = await chat(model)
    assert status == 200, found
    assert found["choices"][0]["message"]["content"] == answer


@pytest.mark.demand("models.front_end_choose_among")
@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        ("default/gpt-9", 400, "default may not use the model 'gpt-9'. Choose one of: fast, big."),
        ("plain/big", 404, "There is no model 'plain/big'. Those that exist: default, big, plain"),
    ],
)
async def test_openai_refuses_another(model: str, status: int, message: str) -> None:
    found, told = await chat(model)
    assert (found, told["error"]["message"], told["error"]["param"]) == (status, message, "model")


@pytest.mark.demand("models.front_end_choose_among")
async def test_openai_lists_what_may_be_chosen() -> None:
    async with house(choosing()) as server, Client(server.url) as client:
        await client.get("/v1/models")
        await client.head()
        listed = [one["id"] for one in (await client.json())["data"]]
        assert listed == ["default", "big", "plain", "default/fast", "default/big"]
        for target, status in (("default/big", 200), ("default/gpt-9", 404)):
            await client.get(f"/v1/models/{target}")
            assert (await client.head()).status == status
            await client.json()


async def by_agui(props: dict[str, Any], agent: str = "default") -> list[Any]:
    async with house(choosing()) as server, Client(server.url) as client:
        await client.post(f"/agui/{agent}", {**RUN, "messages": PERSON, "forwardedProps": props})
        await client.head()
        return [json.loads(frame.data) async for frame in client.frames() if frame.data]


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
    events = await by_agui(props, agent)
    assert "".join(event.get("delta", "") for event in events) == answer


@pytest.mark.demand("models.front_end_choose_among")
async def test_agui_refuses_another() -> None:
    last = (await by_agui({"model": "gpt-9"}))[-1]
    assert last["type"] == "RUN_ERROR"
    assert "Choose one of: fast, big." in last["message"]


async def by_copilotkit(given: dict[str, Any], properties: dict[str, Any] | None = None) -> Any:
    asked = body(given)
    asked["variables"]["properties"] = properties or {}
    async with home(choosing()) as url:
        return await ask(url, asked)


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
    assert (await by_copilotkit(data(**given), properties)).text == answer


@pytest.mark.demand("models.models_name_limits_own", "playground.inspector_event_stream_run")
async def test_what_an_answer_cost_stands_beside_its_tokens() -> None:
    line: list[ModelChunk] = [TextChunk("ok"), UsageChunk(Usage(1000, 500)), FinishChunk("stop")]
    model = Lines(line, line)
    runtime = Runtime(model=model, parts=RuntimeParts(model_infos={"default": ModelInfo("kit", "m", 2.0, 4.0)}))
    async with house(runtime) as server, Client(server.url) as client:
        await client.post("/agui/default", {**RUN, "messages": PERSON})
        await client.head()
        events = [json.loads(frame.data) async for frame in client.frames() if frame.data]
        assert events[-1]["usage"] == [{"inputTokens": 1000, "outputTokens": 500, "cost": 0.004}]
        await client.post("/v1/chat/completions", {"messages": HI})
        await client.head()
        usage = (await client.json())["usage"]
        assert usage == {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500, "cost": 0.004}
        await client.get("/metrics")
        await client.head()
        assert 'rightseat_cost_total{model="m"} 0.008' in (await client.body()).decode()
