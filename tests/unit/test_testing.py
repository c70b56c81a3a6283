"""`rightseat.testing`: what an application's own tests use."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rightseat
from rightseat.errors import Misused, UpstreamBusy
from rightseat.testing import ScriptedModel, TestClient
from tests.kit.cases import each_case

HI = {"messages": [{"role": "user", "content": "hi"}]}


def find_order(number: str) -> str:
    """Find an order."""
    return f"{number} is shipped"


async def test_a_scripted_model_says_its_turns_in_order() -> None:
    model = ScriptedModel(["Let me look.", ("find_order", {"number": "A7"})], "It is on its way.")
    async with rightseat.Runtime(model=model, tools=[find_order]) as runtime:
        answer = await runtime.ask("Where is A7?")
    assert answer.text == "Let me look.\n\nIt is on its way."
    assert [(call.name, call.arguments, call.result) for call in answer.tool_calls] == [
        ("find_order", {"number": "A7"}, "A7 is shipped")
    ]
    assert [prompt.messages[-1].role for prompt in model.prompts] == ["user", "tool"]


async def test_a_scripted_model_fails_as_told_and_when_it_has_no_turn_left() -> None:
    async with rightseat.Runtime(model=ScriptedModel(UpstreamBusy("Later."))) as runtime:
        with pytest.raises(UpstreamBusy, match="Later"):
            await runtime.ask("hi")
        with pytest.raises(Misused, match="asked 2 times and has 1 turns"):
            await runtime.ask("hi")


async def test_a_client_of_a_runtime_needs_no_socket() -> None:
    async with TestClient(rightseat.Runtime(model=ScriptedModel("one", "two"))) as client:
        response = await client.post_json("/v1/chat/completions", HI)
        assert (response.status, response.headers["content-type"]) == (200, "application/json")
        assert response.json["choices"][0]["message"]["content"] == "one"
        chunks = [chunk async for chunk in client.stream("/v1/chat/completions", HI | {"stream": True})]
        assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks) == "two"
        assert "rightseat" in (await client.get("/openapi.json?x=1")).text


async def test_a_stream_that_is_left_stops_the_run() -> None:
    stopped = asyncio.Event()

    class Endless:
        async def stream(self, prompt: rightseat.Prompt, /) -> Any:
            try:
                while True:
                    yield rightseat.TextChunk("a")
                    await asyncio.sleep(0)
            finally:
                stopped.set()

    async with TestClient(rightseat.Runtime(model=Endless())) as client:
        stream: Any = client.stream("/agui/default", HI)
        async for event in stream:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                break
        await stream.aclose()
        await asyncio.wait_for(stopped.wait(), 10)


async def test_what_is_no_stream_is_told() -> None:
    client = TestClient(rightseat.Runtime(model=ScriptedModel()))
    with pytest.raises(Misused, match="answered 404"):
        [event async for event in client.stream("/nowhere", HI)]


async def test_an_app_that_raises_raises_here() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await TestClient(broken).get("/")
    with pytest.raises(ZeroDivisionError):
        async with TestClient(broken):
            pass


def test_the_package_has_a_short_listing() -> None:
    names = [path.name for path in Path(rightseat.__file__).parent.iterdir() if path.name != "__pycache__"]
    assert len(names) <= 25


@each_case("name", rightseat.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(rightseat, name) is not None
