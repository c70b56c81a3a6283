"""Streams as they come, and the fragments that they are."""

import itertools
import json

import pytest

from rightseat.errors import Incomplete, RightseatError, UpstreamGarbled, UpstreamOverloaded
from rightseat.http.sse import SseParser
from rightseat.models._vendor.parser import FinishReason
from rightseat.models.anthropic.stream_parser import MessageStreamParser
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ProviderDataChunk,
    ReasoningChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage
from tests.kit.cases import each_case
from tests.kit.chunks import Json
from tests.kit.vendors import anthropic as wire

DONE = [UsageChunk(Usage(7, 3)), FinishChunk("stop")]
THOUGHT = {"type": "thinking", "thinking": "first think", "signature": wire.THINKING_SIGNATURE}


def parse_bytes(data: bytes, size: int | None = None) -> list[ModelChunk]:
    """The fragments of a whole stream, given in pieces of `size` bytes."""
    answer, reader = MessageStreamParser("claude-kit", {}), SseParser()
    out: list[ModelChunk] = []
    step = size or max(1, len(data))
    for at in range(0, len(data), step):
        for payload in reader.feed(data[at : at + step]):
            out += answer.feed(payload)
    for payload in reader.close():
        out += answer.feed_tail(payload)
    return out + answer.finish()


def parse_blocks(*blocks: list[bytes], reason: str = "end_turn") -> list[ModelChunk]:
    return parse_bytes(b"".join(wire.answer_blocks(*blocks, reason=reason).events))


def test_thoughts_are_signed_and_kept_in_their_place() -> None:
    found = parse_blocks(
        wire.encode_thinking(0, "first ", "think"),
        wire.encode_text(1, "Let me see."),
        wire.encode_redacted_thinking(2, "ciphertext"),
        wire.encode_tool_use(3, "add", '{"a"', ": 2}"),
        wire.encode_tool_use(4, "now"),
        reason="tool_use",
    )
    steps = [
        {"block": THOUGHT},
        {"text": 11},
        {"block": {"type": "redacted_thinking", "data": "ciphertext"}},
        {"call": 0},
        {"call": 1},
    ]
    assert found == [
        ReasoningChunk("first "),
        ReasoningChunk("think"),
        TextChunk("Let me see."),
        ToolCallStart(0, "add"),
        ToolCallArgs(0, '{"a"'),
        ToolCallArgs(0, ": 2}"),
        ToolCallStart(1, "now"),
        ToolCallArgs(1, "{}"),
        ProviderDataChunk("anthropic", {"model": "claude-kit", "steps": steps}),
        UsageChunk(Usage(7, 3)),
        FinishChunk("calls"),
    ]


def test_thoughts_that_are_not_shown_are_kept_all_the_same() -> None:
    found = parse_blocks(wire.encode_thinking(0), wire.encode_text(1, "Yes."))
    hidden = {"type": "thinking", "thinking": "", "signature": wire.THINKING_SIGNATURE}
    assert found[:2] == [
        TextChunk("Yes."),
        ProviderDataChunk("anthropic", {"model": "claude-kit", "steps": [{"block": hidden}, {"text": 4}]}),
    ]


def test_what_nobody_signed_cannot_be_given_back() -> None:
    assert parse_blocks(wire.encode_thinking(0, "hm", signature="")) == [ReasoningChunk("hm"), *DONE]


@pytest.mark.demand("models.anthropic_messages_api")
def test_blocks_at_the_same_time() -> None:
    """By index, however they mix."""
    first, second = wire.encode_tool_use(0, "add", "[1", "]"), wire.encode_tool_use(1, "sub", "[2", "]")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    found = parse_blocks(mixed, reason="tool_use")
    assert found[:-2] == [
        ToolCallStart(0, "add"), ToolCallStart(1, "sub"), ToolCallArgs(0, "[1"), ToolCallArgs(1, "[2"),
        ToolCallArgs(0, "]"),
        ToolCallArgs(1, "]"),
    ]  # fmt: skip


def test_what_is_not_known_is_skipped() -> None:
    search = wire.encode_block(
        0,
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"query": "x"}'},
    )
    result = wire.encode_block(1, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})
    cited = wire.encode_block(
        2,
        {"type": "text", "text": "He", "citations": []},
        {"type": "citations_delta", "citation": {"type": "page_location"}},
        {"type": "text_delta", "text": "llo"},
    )
    odd = [wire.encode_event("weather_report", sky="blue"), wire.PING]
    assert parse_blocks(search, result, cited, odd) == [TextChunk("He"), TextChunk("llo"), *DONE]


def test_arguments_that_come_whole() -> None:
    begun: Json = {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1.0}}
    assert parse_blocks(wire.encode_block(0, begun), reason="tool_use")[:2] == [
        ToolCallStart(0, "add"),
        ToolCallArgs(0, '{"a":1.0}'),
    ]


@pytest.mark.demand("models.anthropic_stop_reasons_default")
@each_case(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("refusal", "content_filter"),
        ("something_new", "stop"),
    ],
)
def test_a_stop_reason(reason: str, finish: FinishReason) -> None:
    assert parse_blocks(wire.encode_text(0, "x"), reason=reason)[-1] == FinishChunk(finish)


def test_calls_decide_whatever_the_reason_says() -> None:
    assert parse_blocks(wire.encode_tool_use(0, "add"), reason="end_turn")[-1] == FinishChunk("calls")
    assert parse_blocks(wire.encode_tool_use(0, "add"), reason="max_tokens")[-1] == FinishChunk("length")


@pytest.mark.demand("models.anthropic_thinking_signatures_kept")
def test_what_was_in_the_cache_is_part_of_the_input() -> None:
    opening = wire.encode_message_start(input_tokens=10, cache_read_input_tokens=100, cache_creation_input_tokens=1000)
    assert parse_bytes(opening + b"".join(wire.encode_message_end("end_turn", input_tokens=11, output_tokens=5)))[
        0
    ] == UsageChunk(Usage(1111, 5, 100))


BLOCKS = (
    wire.encode_thinking(0, "é世"),
    wire.encode_text(1, "a\u2028b", "🙂\n\n"),
    wire.encode_tool_use(2, "add", "{", "}"),
)
WHOLE_STREAM = b"".join(wire.answer_blocks(*BLOCKS).events)


@pytest.mark.demand("models.model_contract_suite_passes")
def test_any_split_gives_the_same() -> None:
    whole = parse_bytes(WHOLE_STREAM)
    assert len(whole) == 9
    for size in range(1, 40):
        assert parse_bytes(WHOLE_STREAM, size) == whole
    for end in (b"\r\n", b"\r"):
        for size in (1, 2, 3, 7):
            assert parse_bytes(WHOLE_STREAM.replace(b"\n", end), size) == whole


def test_any_cut_is_incomplete() -> None:
    # Only the blank line behind the last event may be missing.
    last = WHOLE_STREAM.index(b"event: message_stop")
    for at in itertools.chain(range(0, last, 7), range(last, len(WHOLE_STREAM) - 3)):
        with pytest.raises(Incomplete):
            parse_bytes(WHOLE_STREAM[:at])
    assert parse_bytes(WHOLE_STREAM[:-2]) == parse_bytes(WHOLE_STREAM)


@each_case(
    ("payload", "error"),
    [
        (b"{", UpstreamGarbled),
        (b"[]", UpstreamGarbled),
        (b'{"no": "type"}', UpstreamGarbled),
        (b'{"type": "content_block_delta", "index": 9, "delta": {"text": "x"}}', UpstreamGarbled),
        (b'{"type": "content_block_start", "content_block": {"type": "tool_use"}}', UpstreamGarbled),
        (b'{"type": "x", "index": "one"}', UpstreamGarbled),
        (b'{"type": "x\xff"}', UpstreamGarbled),
        (b'{"type": "x", "error": ' + b"[" * 100_000, UpstreamGarbled),
        (json.dumps(wire.make_error_body(529)).encode(), UpstreamOverloaded),
    ],
)
def test_a_payload_that_is_none(payload: bytes, error: type[RightseatError]) -> None:
    with pytest.raises(error):
        MessageStreamParser("claude-kit", {}).feed(payload)


def test_an_end_without_a_reason_is_none() -> None:
    with pytest.raises(Incomplete):
        parse_bytes(wire.encode_message_start() + wire.encode_event("message_stop"))
