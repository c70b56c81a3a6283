"""Thinking models at each door: their thoughts stay out of the answer and go back to vendors that demand them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.models.openai import model as make_model
from rightseat.types.chunks import FinishChunk, ModelChunk, ReasoningChunk, TextChunk
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors.thinking import ANSWER, ThinkingVendor, VendorName

pytestmark = pytest.mark.io

# The name by which the vendor is known, its rules, the field of its thoughts, further options.
VENDORS: dict[str, tuple[str, VendorName, str, dict[str, Any]]] = {
    "deepseek": ("deepseek-v4-pro", "deepseek", "reasoning_content", {}),
    "kimi": ("kimi-k2.5", "kimi", "reasoning_content", {}),
    "openrouter": ("qwen/qwen4", "openrouter", "reasoning", {"reasoning_vendor": "openrouter"}),
    "google": ("gemini-3-flash", "google", "reasoning_content", {"reasoning_vendor": "google"}),
    "told to": ("my-model", "kimi", "reasoning", {"returns_reasoning": True}),
    "told not to": ("deepseek-v4-pro", "strict", "reasoning_content", {"returns_reasoning": False}),
    "unknown": ("my-model", "strict", "reasoning_content", {}),
    "deepseek r1": ("deepseek-r1", "strict", "reasoning_content", {}),
}


@asynccontextmanager
async def serve_vendor(name: str, member: str, **runtime: Any) -> AsyncIterator[tuple[DoorClient, ThinkingVendor]]:
    model_name, rules, key, options = VENDORS[name]
    async with FakeUpstream() as upstream:
        upstream.reply = vendor = ThinkingVendor(rules, key)
        model = make_model(model_name, {"base_url": upstream.base_url, **options})
        async with serve_runtime(Runtime(model=model, **runtime)) as server:
            yield MEMBERS[member](server.url), vendor


@pytest.mark.demand("models.thoughts_returned_where_demanded")
@pytest.mark.spread("member", "name")
@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("member", MEMBERS)
async def test_client_tools_work_with_thinking_models(member: str, name: str) -> None:
    """Three turns: a call, its result, and the next question with both in the history."""
    async with serve_vendor(name, member) as (client, vendor):
        for _ in range(2):
            seen = await client.send_message("How is the weather?")
            assert (seen.error, len(seen.calls)) == (None, 1), vendor.refusals
            seen = await client.send_results(dict.fromkeys(seen.calls, "sunny"))
            assert (seen.error, seen.text) == (None, ANSWER), vendor.refusals
    assert vendor.refusals == []


@pytest.mark.demand("models.thoughts_returned_where_demanded")
@pytest.mark.parametrize("name", VENDORS)
async def test_server_tools_work_with_thinking_models(name: str) -> None:
    def show(title: str) -> str:
        return f"{title}: sunny"

    async with serve_vendor(name, "openai-whole", tools=[show]) as (client, vendor):
        for _ in range(2):
            seen = await client.send_message("How is the weather?")
            assert (seen.error, seen.text) == (None, ANSWER), vendor.refusals


@pytest.mark.demand("models.thoughts_separate_at_doors")
@pytest.mark.parametrize("member", MEMBERS)
async def test_thoughts_are_not_part_of_the_answer(member: str) -> None:
    model = FakeModel([ReasoningChunk("Hmm, "), ReasoningChunk("SECRET"), TextChunk("Yes."), FinishChunk("stop")])
    async with serve_runtime(Runtime(model=model)) as server:
        client = MEMBERS[member](server.url)
        seen = await client.send_message("Really")
        assert (seen.error, seen.text) == (None, "Yes.")
        model.replies.append([TextChunk("Again."), FinishChunk("stop")])
        await client.send_message("And now")
    assert [message.text for message in model.prompts[1].messages if message.role == "assistant"] == ["Yes."]


@pytest.mark.demand("models.thoughts_separate_at_doors")
@pytest.mark.parametrize("member", MEMBERS)
async def test_an_answer_cut_inside_a_thought_is_empty(member: str) -> None:
    model = FakeModel([ReasoningChunk("Hmm, SEC"), FinishChunk("length")])
    async with serve_runtime(Runtime(model=model)) as server:
        seen = await MEMBERS[member](server.url).send_message("Really")
    assert "SEC" not in seen.text


THINKING_ANSWER: list[ModelChunk] = [
    ReasoningChunk("Hmm, "),
    ReasoningChunk("SECRET"),
    TextChunk("Yes."),
    FinishChunk("stop"),
]


async def post_raw(path: str, body: dict[str, Any]) -> str:
    """Post to a server with a thinking model; return all that it sent, as text."""
    async with serve_runtime(Runtime(model=FakeModel(THINKING_ANSWER))) as server, RawHttpClient(server.url) as client:
        await client.post_json(path, body, {"Accept": "application/json, text/event-stream"})
        assert (await client.read_head()).status == 200
        return (await client.read_body()).decode()


@pytest.mark.demand("models.thoughts_separate_at_doors")
@pytest.mark.parametrize("stream", [True, False])
async def test_openai_clients_get_thoughts_by_both_names(stream: bool) -> None:
    body = {"messages": [{"role": "user", "content": "Really"}], "stream": stream}
    sent = await post_raw("/v1/chat/completions", body)
    if stream:
        chunks = [json.loads(line[6:]) for line in sent.splitlines() if line.startswith("data: {")]
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    else:
        deltas = [json.loads(sent)["choices"][0]["message"]]
    for field, expected in (("reasoning_content", "Hmm, SECRET"), ("reasoning", "Hmm, SECRET"), ("content", "Yes.")):
        assert "".join(delta.get(field) or "" for delta in deltas) == expected


@pytest.mark.demand("models.thoughts_separate_at_doors")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", {"prompt": "Really", "stream": True}),
        ("/v1/completions", {"prompt": "Really"}),
        (
            "/mcp",
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "ask_default", "arguments": {"request": "Really"}},
            },
        ),
    ],
)
async def test_doors_that_have_no_thoughts_send_none(path: str, body: dict[str, Any]) -> None:
    sent = await post_raw(path, body)
    assert "Yes." in sent
    assert "SECRET" not in sent


@pytest.mark.demand("models.thoughts_separate_at_doors")
@pytest.mark.parametrize("member", ["agui", "copilotkit-routes", "openbb-today"])
async def test_doors_that_have_thoughts_show_them(member: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel(THINKING_ANSWER))) as server:
        client = MEMBERS[member](server.url)
        client.history.append({"role": "human" if "openbb" in member else "user", "id": "u1", "content": "Really"})
        path, body = client.build_request()
        async with RawHttpClient(server.url) as raw:
            await raw.post_json(path, body)
            assert (await raw.read_head()).status == 200
            frames = [frame.data or "" async for frame in raw.iterate_frames()]
    shown = [frame for frame in frames if "SECRET" in frame]
    assert shown
    assert all("REASONING" in frame or "eventType" in frame for frame in shown)
