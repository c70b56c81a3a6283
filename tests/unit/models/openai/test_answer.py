import pytest

from rightseat import errors
from rightseat.models.openai.chat_parser import ChatStreamParser, FinishReason
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage
from tests.kit.chunks import dump, error, usage_chunk, whole
from tests.unit.models.payloads import answered, calls, delta

STOP = delta("stop")
CALLS = delta("tool_calls")


def test_text() -> None:
    said = answered(delta(role="assistant", content=""), delta(content="a"), delta(content="b"), STOP)
    assert said == [TextChunk("a"), TextChunk("b"), FinishChunk("stop")]


@pytest.mark.parametrize(
    ("payload", "fragment"),
    [
        (delta(reasoning_content="hm"), ReasoningChunk("hm")),
        (delta(reasoning="hm"), ReasoningChunk("hm")),
        (delta(reasoning="hm", reasoning_content="hm"), ReasoningChunk("hm")),
        (delta(refusal="no"), RefusalChunk("no")),
        (delta(content=[{"type": "text", "text": "a"}, {"type": "x"}, 7, {"text": "b"}]), TextChunk("ab")),
        (b'{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[1]}}]}', TextChunk("a", {"content": [1]})),
        (b'{"choices":[{"delta":{"content":""},"logprobs":{"content":[1]}}]}', TextChunk("", {"content": [1]})),
    ],
)
def test_kinds_of_fragment(payload: bytes, fragment: ModelChunk) -> None:
    assert answered(payload, STOP) == [fragment, FinishChunk("stop")]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b" ",
        b"{}",
        b'{"choices":null}',
        b'{"choices":[]}',
        b'{"choices":[],"error":false}',
        b'{"choices":[{}]}',
        b'{"choices":[{"delta":null,"finish_reason":null}]}',
        b'{"choices":[{"delta":{"content":null,"tool_calls":null,"function_call":null,"refusal":null}}]}',
        b'{"choices":[{"delta":{"tool_calls":[{"index":0,"function":null}]}}]}',
        b'{"choices":[{"delta":{"reasoning":{"x":1},"content":""},"finish_reason":""}]}',
        b'{"choices":[{"index":1,"delta":{"content":"another choice"},"finish_reason":"length"}]}',
    ],
)
def test_payloads_that_say_nothing(payload: bytes) -> None:
    assert answered(payload, delta(content="a"), STOP) == [TextChunk("a"), FinishChunk("stop")]


def test_usage_comes_once_and_before_the_finish() -> None:
    counting = dump({"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 7}})
    said = answered(counting, STOP, dump(usage_chunk()), b"[DONE]")
    assert said == [TextChunk("a"), UsageChunk(Usage(7, 3)), FinishChunk("stop")]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "stop"),
        ("eos", "stop"),
        (None, "stop"),
    ],
)
def test_finish_reasons_before_done(reason: str | None, finish: FinishReason) -> None:
    assert answered(delta(reason), b"[DONE]") == [FinishChunk(finish)]


@pytest.mark.demand("engine.retries_backoff_retry_after")
@pytest.mark.parametrize("payloads", [(), (delta(),), (delta("eos"),), (delta("error"), b"[DONE]")])
def test_an_end_that_says_nothing_is_no_end(payloads: tuple[bytes, ...]) -> None:
    with pytest.raises(errors.Incomplete):
        answered(delta(content="a"), *payloads)


def test_a_finish_reason_without_done_is_an_end() -> None:
    assert answered(STOP) == [FinishChunk("stop")]


def test_nothing_after_done_counts() -> None:
    assert answered(delta(content="a"), STOP, b"[DONE]", delta(content="b"), b"junk") == [
        TextChunk("a"),
        FinishChunk("stop"),
    ]


ONE = [ToolCallStart(0, "add"), ToolCallArgs(0, '{"a":'), ToolCallArgs(0, "1}"), FinishChunk("calls")]
TWO = [
    ToolCallStart(0, "add"),
    ToolCallArgs(0, "{}"),
    ToolCallStart(1, "sub"),
    ToolCallArgs(1, "[]"),
    FinishChunk("calls"),
]


def piece(name: str | None = None, arguments: object = None, **more: object) -> dict[str, object]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {**more, "function": function}


REST = calls(piece(None, "1}", index=0))
LEGACY_REST = delta(function_call={"arguments": "1}"})


@pytest.mark.parametrize(
    "payloads",
    [
        (calls(piece("add", "", index=0, id="x")), calls(piece(None, '{"a":', index=0)), REST),
        (calls(piece("add", '{"a":', index=0, id="x")), calls(piece("add", "1}", index=0, id="x"))),
        (calls(piece("add", '{"a":', index=0, id="x")), calls(piece("add", "1}", index=0, id="y"))),
        (calls(piece("add", '{"a":', index=3, id="x")), calls(piece("", "1}", index=3, id=""))),
        (calls(piece("add", '{"a":', id="x")), calls(piece(None, "1}", id="x"))),
        (calls(piece("add", '{"a":', id="x")), calls(piece(None, "1}"))),
        (calls(piece("add", '{"a":')), calls(piece(None, "1}"))),
        (calls(piece("add", '{"a":')), calls(piece("add", "1}"))),
        (delta(function_call={"name": "add", "arguments": '{"a":'}), LEGACY_REST),
        (calls(piece(None, '{"a":', index=0)), calls(piece("add", None, index=0)), REST),
    ],
)
@pytest.mark.parametrize("end", [STOP, CALLS, delta("function_call")])
def test_one_call(payloads: tuple[bytes, ...], end: bytes) -> None:
    assert answered(*payloads, end) == ONE


@pytest.mark.parametrize(
    "payloads",
    [
        (calls(piece("add", "{}", index=0, id="x"), piece("sub", "[]", index=1, id="y")),),
        (calls(piece("add", "{}", id="x")), calls(piece("sub", "[]", id="y"))),
        (calls(piece("add", "{}"), piece("sub", "[]")),),
        (calls(piece("add", {}), piece("sub", [])),),
        (calls(piece("add", "{}", index=0, id="x")), calls(piece("sub", "[]", index=0, id="y"))),
    ],
)
def test_two_calls(payloads: tuple[bytes, ...]) -> None:
    assert answered(*payloads, CALLS) == TWO


def test_the_same_tool_twice_without_index_or_id() -> None:
    said = answered(calls(piece("add", "{}"), piece("add", "{}")), CALLS)
    assert said == [
        ToolCallStart(0, "add"),
        ToolCallArgs(0, "{}"),
        ToolCallStart(1, "add"),
        ToolCallArgs(1, "{}"),
        FinishChunk("calls"),
    ]


def test_interleaved_calls() -> None:
    said = answered(
        calls(piece("add", None, index=0, id="x"), piece("sub", None, index=1, id="y")),
        calls(piece(None, "[", index=1), piece(None, "{", index=0)),
        calls(piece(None, "}", index=0), piece(None, "]", index=1)),
        CALLS,
    )
    assert [f for f in said if isinstance(f, ToolCallArgs)] == [
        ToolCallArgs(1, "["), ToolCallArgs(0, "{"), ToolCallArgs(0, "}"), ToolCallArgs(1, "]")
    ]  # fmt: skip


def test_arguments_as_an_object_keep_their_numbers() -> None:
    function = b'{"name":"add","arguments":{"a":1.0,"b":12345678901234567890123}}'
    payload = b'{"choices":[{"delta":{"tool_calls":[{"function":' + function + b"}]}}]}"
    assert answered(payload, CALLS)[1] == ToolCallArgs(0, '{"a":1.0,"b":12345678901234567890123}')


def test_strict_tools_are_enforced_and_others_are_not() -> None:
    said = answered(calls(piece("add", "{}", index=0), piece("sub", "{}", index=1)), CALLS, strict=("add",))
    assert [f.enforced for f in said if isinstance(f, ToolCallStart)] == [True, False]


def test_a_call_without_a_name_is_garbage_unless_it_was_cut() -> None:
    with pytest.raises(errors.UpstreamGarbled):
        answered(calls(piece(None, "{}", index=0)), CALLS)
    assert answered(calls(piece(None, "{", index=0)), delta("length")) == [FinishChunk("length")]


def test_a_whole_completion() -> None:
    message = {
        "content": "a",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "x", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
    }
    said = answered(dump(whole(message, "tool_calls")))
    assert said == [
        ReasoningChunk("hm"), TextChunk("a"), ToolCallStart(0, "add"), ToolCallArgs(0, "{}"), UsageChunk(Usage(7, 3)),
        FinishChunk("calls")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "payload",
    [
        b"junk",
        b"[1]",
        b'"x"',
        b'{"choices":{"delta":7}}',
        b'{"choices":[{"delta":{"content":7}}]}',
        b'{"choices":[{"delta":{"content":"\xff"}}]}',
        b'{"choices":' + b"[" * 200_000,
        b'{"choices":[],"usage":{"prompt_tokens":"many"}}',
    ],
)
def test_what_cannot_be_read(payload: bytes) -> None:
    with pytest.raises(errors.UpstreamGarbled) as raised:
        answered(payload)
    assert "junk" not in raised.value.message


def test_half_an_event_at_the_end_is_a_cut() -> None:
    answer = ChatStreamParser()
    with pytest.raises(errors.Incomplete):
        answer.feed_tail(b'{"choices":[{"del')


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (error("canary", "rate_limit_exceeded"), errors.UpstreamBusy),
        (error("canary", "overloaded"), errors.UpstreamOverloaded),
        (error("canary", "invalid_api_key"), errors.UpstreamDenied),
        (error("canary", "context_length_exceeded"), errors.ContextTooLong),
        (error("canary", "x", "exceed_context_size_error"), errors.ContextTooLong),
        (error("canary", "x", "invalid_request_error"), errors.UpstreamRejected),
        (error("canary", "x"), errors.UpstreamError),
        ({"error": {"message": "canary", "code": 429}}, errors.UpstreamBusy),
        ({"error": {"message": "canary", "code": "504"}}, errors.UpstreamTimeout),
        ({"error": {"message": "canary", "code": [1], "type": {}}}, errors.UpstreamError),
        ({"error": "canary"}, errors.UpstreamError),
        ({"error": True}, errors.UpstreamError),
        ({"object": "error", "message": "canary", "code": 400}, errors.UpstreamRejected),
    ],
)
def test_an_error_in_the_stream(fault: object, kind: type[errors.RightseatError]) -> None:
    with pytest.raises(errors.RightseatError) as raised:
        answered(delta(content="a"), dump(fault))
    assert type(raised.value) is kind
    assert "canary" not in raised.value.message
