"""What is made of all that a Runnable may yield."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableGenerator, RunnableLambda

from rightseat.errors import Incomplete, Misused, UpstreamGarbled
from rightseat.models.langchain.stream_parser import LangChainStreamParser
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ProviderDataChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage
from tests.contract.models.cases import collect_answer
from tests.kit.cases import each_case
from tests.kit.vendors.langchain import FakeChatModel, NonStreamingChatModel, make_call_chunk, make_message_chunk
from tests.unit.models.langchain.model_calls import collect_chunks

CALL = AIMessage("", tool_calls=[{"name": "add", "args": {"a": "é"}, "id": "up_1"}])


def parse_values(*values: Any) -> list[ModelChunk]:
    answer = LangChainStreamParser("kit")
    return [fragment for value in values for fragment in answer.feed(value)] + answer.finish()


def parse_calls(*pieces: Any) -> tuple[tuple[str, str], ...]:
    return collect_answer(parse_values(*(make_message_chunk("", one) for one in pieces))).calls


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
def test_pieces_are_told_apart_by_index() -> None:
    found = parse_values(
        make_message_chunk("", make_call_chunk(0, "up_1", "add", ""), make_call_chunk(1, "up_2", "look", None)),
        make_message_chunk("", make_call_chunk(1, args='{"x"'), make_call_chunk(0, args='{"a": 2')),
        make_message_chunk("", make_call_chunk(0, args="}")),
        make_message_chunk("", make_call_chunk(1, args=": 1}")),
    )
    assert collect_answer(found).calls == (("add", '{"a": 2}'), ("look", '{"x": 1}'))
    assert found[-1] == FinishChunk("calls")


def test_indexes_need_not_begin_at_0() -> None:
    """Anthropic's count the text before them."""
    assert parse_calls(
        make_call_chunk(2, "a", "add", "{}"), make_call_chunk(5, "b", "look", "{"), make_call_chunk(5, args="}")
    ) == (("add", "{}"), ("look", "{}"))


def test_one_index_for_all_is_told_apart_by_id() -> None:
    assert parse_calls(make_call_chunk(0, "a", "add", '{"a": 1}'), make_call_chunk(0, "b", "add", '{"a": 2}')) == (
        ("add", '{"a": 1}'),
        ("add", '{"a": 2}'),
    )


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
def test_without_index_by_id() -> None:
    first, second = make_call_chunk(None, "a", "add", "{"), make_call_chunk(None, "b", "add", "{")
    assert parse_calls(first, second, make_call_chunk(None, "a", None, "}"), make_call_chunk(None, "b", None, "}")) == (
        ("add", "{}"),
        ("add", "{}"),
    )


def test_without_both_by_order() -> None:
    assert parse_calls(
        make_call_chunk(name="add", args='{"a"'),
        make_call_chunk(args=": 1}"),
        make_call_chunk(name="add", args="{}"),
        make_call_chunk(name="look"),
    ) == (("add", '{"a": 1}'), ("add", "{}"), ("look", ""))


def test_a_call_that_is_said_again_at_the_end_is_one() -> None:
    assert parse_calls(make_call_chunk(0, "a", "add", '{"a": 1}'), make_call_chunk(None, "a", "add", '{"a": 1}')) == (
        ("add", '{"a": 1}'),
    )


def test_arguments_before_the_name() -> None:
    assert parse_calls(
        make_call_chunk(0, "a", None, '{"a": '), make_call_chunk(0, None, "add", None), make_call_chunk(0, args="1}")
    ) == (("add", '{"a": 1}'),)


def test_whole_calls() -> None:
    streamed = AIMessageChunk(content="", tool_calls=CALL.tool_calls * 2)
    wrong = AIMessage("", invalid_tool_calls=[{"name": "add", "args": "{", "id": "x", "error": None}])
    assert parse_values(CALL) == [ToolCallStart(0, "add"), ToolCallArgs(0, '{"a": "é"}'), FinishChunk("calls")]
    assert collect_answer(parse_values(AIMessageChunk(content="", tool_calls=CALL.tool_calls))).calls[0][0] == "add"
    assert collect_answer(parse_values(streamed)).calls[0][0] == "add"
    assert collect_answer(parse_values(wrong)).calls == (("add", "{"),)


def test_a_call_without_a_name_is_garbled() -> None:
    with pytest.raises(UpstreamGarbled):
        parse_values(make_message_chunk("", make_call_chunk(0, "a", None, "{}")))


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
@each_case(
    ("value", "found"),
    [
        (make_message_chunk("a"), [TextChunk("a")]),
        (make_message_chunk(["a", {"type": "text", "text": "b"}]), [TextChunk("a"), TextChunk("b")]),
        (make_message_chunk([{"type": "thinking", "thinking": "hm", "index": 0}]), [ReasoningChunk("hm")]),
        (make_message_chunk([{"type": "reasoning", "reasoning": "hm"}]), [ReasoningChunk("hm")]),
        (
            make_message_chunk([{"type": "reasoning", "summary": [{"text": "h"}, {"text": "m"}]}]),
            [ReasoningChunk("hm")],
        ),
        (make_message_chunk(additional_kwargs={"reasoning_content": "hm"}), [ReasoningChunk("hm")]),
        (
            make_message_chunk([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "tool_use", "id": "a"}, {}]),
            [],
        ),
        (make_message_chunk([{"type": "input_json_delta", "partial_json": "{"}]), []),
        (make_message_chunk([{"type": "refusal", "refusal": "no"}]), [RefusalChunk("no")]),
        (make_message_chunk(additional_kwargs={"refusal": "no"}), [RefusalChunk("no")]),
        (AIMessage("a"), [TextChunk("a")]),
        (ChatGenerationChunk(message=make_message_chunk("a")), [TextChunk("a")]),
        ("a", [TextChunk("a")]),
        ("", []),
        (None, []),
        ({"messages": [HumanMessage("q"), AIMessage("a")]}, [TextChunk("a")]),
        ({"messages": [AIMessage("old"), HumanMessage("q")]}, []),
        ({"output": "a", "other": 1}, [TextChunk("a")]),
        ({"answer": AIMessage("a")}, [TextChunk("a")]),
        ({"steps": 1}, []),
        ([HumanMessage("q"), AIMessage("a")], [TextChunk("a")]),
        ([], []),
        (HumanMessage("q"), []),
        (ToolMessage("r", tool_call_id="x"), []),
        (make_message_chunk("", id="another", chunk_position="last"), []),
    ],
)
def test_a_value(value: Any, found: list[ModelChunk]) -> None:
    assert parse_values(value) == [*found, FinishChunk("stop")]


@pytest.mark.parametrize("value", [7, object()])
def test_what_is_no_answer_is_said_to_be_none(value: object) -> None:
    with pytest.raises(Misused, match=type(value).__name__):
        parse_values(value)


def test_counts_add_up_as_langchain_adds_them() -> None:
    first = {"input_tokens": 9, "output_tokens": 0, "total_tokens": 9, "input_token_details": {"cache_read": 4}}
    last = {"input_tokens": 0, "output_tokens": 5, "total_tokens": 5}
    found = parse_values(make_message_chunk("a", usage_metadata=first), make_message_chunk(usage_metadata=last))
    assert found == [TextChunk("a"), UsageChunk(Usage(9, 5, 4)), FinishChunk("stop")]


@each_case(
    ("metadata", "reason"),
    [
        ({"finish_reason": "stop"}, "stop"),
        ({"finish_reason": "tool_calls"}, "stop"),
        ({"finish_reason": "length"}, "length"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"stop_reason": "end_turn"}, "stop"),
        ({"stop_reason": "refusal"}, "content_filter"),
        ({"finish_reason": "content_filter"}, "content_filter"),
        ({"finish_reason": "SAFETY"}, "content_filter"),
        ({"done_reason": "length"}, "length"),
        ({"stopReason": "guardrail_intervened"}, "content_filter"),
        ({"finish_reason": None, "model_name": "length"}, "stop"),
    ],
)
def test_why_it_stopped(metadata: dict[str, Any], reason: Any) -> None:
    assert parse_values(make_message_chunk(response_metadata=metadata), make_message_chunk(chunk_position="last"))[
        -1
    ] == FinishChunk(reason)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_vendor_that_always_says_why_and_does_not_was_cut(provider: str) -> None:
    """Their packages take a stream that ends too early for one that is over."""
    who = {"model_provider": provider}
    with pytest.raises(Incomplete):
        parse_values(make_message_chunk("a", response_metadata=who), make_message_chunk(chunk_position="last"))
    for told in ({"finish_reason": "stop"}, {"stop_reason": "end_turn"}, {"status": "completed"}):
        assert parse_values(make_message_chunk("a", response_metadata=who), make_message_chunk(response_metadata=told))[
            -1
        ] == FinishChunk("stop")


def test_signed_thoughts_are_kept_whole() -> None:
    found = parse_values(
        make_message_chunk([{"type": "thinking", "thinking": "I ", "index": 0}]),
        make_message_chunk([{"type": "thinking", "thinking": "see", "index": 0}]),
        make_message_chunk([{"type": "thinking", "signature": "sig", "index": 0}]),
        make_message_chunk([{"type": "redacted_thinking", "data": "xyz", "index": 1}]),
        make_message_chunk([{"type": "text", "text": "yes", "index": 2}]),
    )
    assert found[:3] == [ReasoningChunk("I "), ReasoningChunk("see"), TextChunk("yes")]
    assert found[3] == ProviderDataChunk(
        "langchain",
        {
            "model": "kit",
            "blocks": [
                {"type": "thinking", "thinking": "I see", "signature": "sig"},
                {"type": "redacted_thinking", "data": "xyz"},
            ],
        },
    )


@pytest.mark.parametrize("value", [make_message_chunk("\ud800"), "\udfff"])
def test_half_a_character_is_refused(value: Any) -> None:
    with pytest.raises(UpstreamGarbled):
        parse_values(value)


async def stream_words() -> AsyncIterator[str]:
    for word in ("a", "b"):
        yield word


def iterate_words() -> Iterator[str]:
    yield from ("a", "b")


async def stream_words_of(_: Any) -> AsyncIterator[str]:
    async for word in stream_words():
        yield word


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
@pytest.mark.parametrize(
    "thing",
    [
        FakeChatModel(chunks=[make_message_chunk("a"), make_message_chunk("b")]),
        FakeChatModel(chunks=[make_message_chunk("a"), make_message_chunk("b")]).with_config(tags=["x"]),
        NonStreamingChatModel(message=AIMessage("ab")),
        RunnableLambda(lambda _: "ab"),
        RunnableLambda(lambda _: AIMessage("ab")),
        RunnableLambda(lambda _: {"messages": [AIMessage("ab")]}),
        RunnableLambda(lambda _: iter(["a", AIMessage("b")])),
        RunnableLambda(lambda _: stream_words()),
        RunnableLambda(lambda _: iter([stream_words()])),
        RunnableGenerator(stream_words_of),
        RunnableLambda(lambda _: "go") | FakeChatModel(chunks=[make_message_chunk("a"), make_message_chunk("b")]),
        lambda: FakeChatModel(chunks=[make_message_chunk("a"), make_message_chunk("b")]),
        lambda _messages: "ab",
        lambda _messages: iterate_words(),
        stream_words_of,
    ],
)
async def test_everything_that_answers(thing: Any) -> None:
    fragments, error = await collect_chunks(thing)
    assert error is None
    assert collect_answer(fragments).text == "ab"
    assert fragments[-1] == FinishChunk("stop")


@pytest.mark.demand("models.langchain_module_attr_basechatmodel", "models.model_contract_suite_passes")
@given(st.lists(st.integers(1, 30), max_size=6), st.lists(st.integers(1, 30), max_size=6))
def test_arguments_split_anywhere_and_interleaved_stay_apart(first: list[int], second: list[int]) -> None:
    whole = ['{"a": "é\\u2028 🙂", "b": [1, 2]}', '{"x": {"y": null}}']
    cuts = [_split(text, places) for text, places in zip(whole, (first, second), strict=True)]
    pieces = [
        make_message_chunk("", make_call_chunk(0, "a", "add")),
        make_message_chunk("", make_call_chunk(1, "b", "look")),
    ]
    for n in range(max(map(len, cuts))):
        pieces += [
            make_message_chunk("", make_call_chunk(i, args=cut[n])) for i, cut in enumerate(cuts) if n < len(cut)
        ]
    fragments, error = asyncio.run(collect_chunks(FakeChatModel(chunks=pieces)))
    assert error is None
    assert collect_answer(fragments).calls == (("add", whole[0]), ("look", whole[1]))


def _split(text: str, places: list[int]) -> list[str]:
    cuts = sorted({0, *(place for place in places if place < len(text)), len(text)})
    return [text[start:end] for start, end in itertools.pairwise(cuts)]
