"""Thinking models at each door: their thoughts stay out of the answer and go back to vendors that demand them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.models.openai import model as make_model
from rightseat.types.chunks import FinishChunk, ReasoningChunk, TextChunk
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, serve_runtime
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
