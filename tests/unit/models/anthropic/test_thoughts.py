"""Thoughts go back to the model that had them: within a turn by the engine, across turns by a memory."""

from typing import Any

import pytest
from msgspec.structs import replace

from rightseat import Runtime, tool
from rightseat.models._vendor.thinking_cache import ThinkingCache
from rightseat.types.chunks import ModelChunk, ProviderDataChunk, ReasoningChunk, TextChunk
from rightseat.types.messages import Message, ProviderData, ToolCall, text_message
from rightseat.types.model import Prompt
from tests.kit.vendors import anthropic as wire
from tests.unit.engine.turns import run_turn
from tests.unit.models.anthropic.model_calls import collect_chunks, connect_model
from tests.unit.models.anthropic.test_request import TOOL

pytestmark = pytest.mark.io

THOUGHT = {"type": "thinking", "thinking": "I must add.", "signature": wire.THINKING_SIGNATURE}
HIDDEN = {"type": "redacted_thinking", "data": "ciphertext"}
CALLING_ANSWER = wire.answer_blocks(
    wire.encode_thinking(0, "I must", " add."),
    wire.encode_text(1, "Let me see."),
    wire.encode_redacted_thinking(2, "ciphertext"),
    wire.encode_tool_use(3, "add", '{"a": 2, ', '"b": 3}'),
    reason="tool_use",
)
SPOKEN_ANSWER = wire.answer_blocks(wire.encode_thinking(0, "Five."), wire.encode_text(1, "It is 5."))


def get_content_without_ids(body: dict[str, Any], at: int) -> list[dict[str, Any]]:
    """Without the ids, which the engine makes."""
    found: list[dict[str, Any]] = body["messages"][at]["content"]
    return [{key: value for key, value in block.items() if key not in ("id", "tool_use_id")} for block in found]


def to_provider_data(came: list[ModelChunk]) -> tuple[ProviderData, ...]:
    """As the engine keeps it."""
    return tuple(ProviderData(found.provider, found.blob) for found in came if isinstance(found, ProviderDataChunk))


CALLED = [
    THOUGHT,
    {"type": "text", "text": "Let me see."},
    HIDDEN,
    {"type": "tool_use", "name": "add", "input": {"a": 2, "b": 3}},
]


@pytest.mark.demand("models.anthropic_thinking_signatures_kept")
async def test_within_a_turn_they_stand_where_they_stood() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    async with connect_model() as (upstream, model):
        upstream.queue_replies(CALLING_ANSWER, SPOKEN_ANSWER)
        events = await run_turn(Runtime(model=model, tools=[add]))
        body = upstream.requests[1].json
    assert "It is 5." in str(events)
    assert get_content_without_ids(body, 1) == CALLED
    assert [block["type"] for block in get_content_without_ids(body, 2)] == ["tool_result"]


def make_posted_prompt(conversation: str | None = "thread-1", question: str = "2 and 3?") -> Prompt:
    """The conversation as a client posts it: words, calls and results, no thoughts."""
    messages = (
        text_message("user", question),
        Message("assistant", text_message("assistant", "Let me see.").parts, (ToolCall("c1", "add", '{"b":3,"a":2}'),)),
        text_message("tool", "5", call_id="c1"),
        text_message("assistant", "It is 5."),
        text_message("user", "And 7?"),
    )
    return Prompt(messages=messages, tools=(TOOL,), conversation=conversation)


async def capture_second_body(second: Prompt, first: Prompt | None = None) -> dict[str, Any]:
    """What is sent for a second turn, after a first one of two answers."""
    begun = first or make_posted_prompt()
    async with connect_model() as (upstream, model):
        for reply, count in ((CALLING_ANSWER, 1), (SPOKEN_ANSWER, 3)):
            upstream.reply = reply
            _, failure = await collect_chunks(model, replace(begun, messages=begun.messages[:count]))
            assert failure is None
        _, failure = await collect_chunks(model, second)
        assert failure is None
        found: dict[str, Any] = upstream.requests[2].json
        return found


@pytest.mark.demand("models.anthropic_thinking_signatures_kept")
async def test_across_turns_they_are_found_again() -> None:
    body = await capture_second_body(make_posted_prompt())
    assert get_content_without_ids(body, 1) == CALLED
    five = {"type": "thinking", "thinking": "Five.", "signature": wire.THINKING_SIGNATURE}
    assert get_content_without_ids(body, 3) == [five, {"type": "text", "text": "It is 5."}]


@pytest.mark.demand("models.anthropic_thinking_signatures_kept")
@pytest.mark.parametrize(
    "other",
    [make_posted_prompt("thread-2"), make_posted_prompt(None), make_posted_prompt(question="3 and 3?")],
    ids=["another conversation", "none", "another question"],
)
async def test_but_only_in_their_own_conversation(other: Prompt) -> None:
    body = await capture_second_body(other)
    assert "thinking" not in str(body["messages"])


async def test_and_not_where_there_is_no_conversation() -> None:
    nameless = make_posted_prompt(None)
    assert "thinking" not in str((await capture_second_body(nameless, nameless))["messages"])


async def test_an_answer_that_was_shortened_still_begins_with_its_thoughts() -> None:
    """The engine leaves out a call that is no JSON."""
    async with connect_model() as (upstream, model):
        upstream.reply = CALLING_ANSWER
        came, _ = await collect_chunks(model)
        message = Message("assistant", text_message("assistant", "Let me").parts, opaque=to_provider_data(came))
        upstream.reply = SPOKEN_ANSWER
        _, failure = await collect_chunks(
            model, Prompt(messages=(text_message("user", "a"), message, text_message("user", "b")))
        )
        body = upstream.requests[1].json
    assert failure is None
    assert get_content_without_ids(body, 1) == [THOUGHT, HIDDEN, {"type": "text", "text": "Let me"}]


async def test_thoughts_alone_are_no_message() -> None:
    async with connect_model() as (upstream, model):
        upstream.reply = wire.answer_blocks(wire.encode_thinking(0, "hm"), reason="max_tokens")
        came, _ = await collect_chunks(model)
        upstream.reply = SPOKEN_ANSWER
        message = Message("assistant", opaque=to_provider_data(came))
        _, failure = await collect_chunks(
            model, Prompt(messages=(text_message("user", "a"), message, text_message("user", "b")))
        )
        assert failure is None
        assert [found["role"] for found in upstream.requests[1].json["messages"]] == ["user"]


async def test_a_model_that_does_not_think_now_is_not_shown_what_it_thought() -> None:
    async with connect_model("claude-opus-4-8", thinking=True) as (upstream, model):
        upstream.reply = CALLING_ANSWER
        came, _ = await collect_chunks(model)
    message = Message("assistant", text_message("assistant", "Let me see.").parts, opaque=to_provider_data(came))
    async with connect_model("claude-opus-4-8", thinking=False) as (upstream, model):
        await collect_chunks(model, Prompt(messages=(text_message("user", "a"), message, text_message("user", "b"))))
        assert "thinking" not in str(upstream.requests[0].json)


def test_the_oldest_are_forgotten_first() -> None:
    thoughts = ThinkingCache(max_bytes=250)
    prompts = [Prompt(messages=(text_message("user", "hi"),), conversation=str(n)) for n in range(10)]
    answer: list[ModelChunk] = [
        ReasoningChunk("x"),
        TextChunk("Hello."),
        ProviderDataChunk("anthropic", {"model": "m", "steps": ["x" * 50]}),
    ]
    for prompt in prompts:
        thoughts.store(prompt, answer)
    later = [replace(p, messages=(*p.messages, text_message("assistant", "Hello."))) for p in prompts]
    found = [bool(thoughts.restore(prompt).messages[-1].opaque) for prompt in later]
    assert found == [False] * 8 + [True] * 2
