import pytest

from rightseat import errors
from rightseat.models._vendor.parser import FinishReason
from rightseat.models.openai.client import OpenAIChatParser
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
from tests.kit.cases import each_case
from tests.kit.chunks import encode_json, make_completion, make_error_body, make_usage_chunk
from tests.unit.models.payloads import make_delta_payload, make_tool_calls_payload, parse_payloads

STOP = make_delta_payload("stop")
CALLS = make_delta_payload("tool_calls")


def test_text() -> None:
    said = parse_payloads(
        make_delta_payload(role="assistant", content=""),
        make_delta_payload(content="a"),
        make_delta_payload(content="b"),
        STOP,
    )
    assert said == [TextChunk("a"), TextChunk("b"), FinishChunk("stop")]


@each_case(
    ("payload", "fragment"),
    [
        (make_delta_payload(reasoning_content="hm"), ReasoningChunk("hm")),
        (make_delta_payload(reasoning="hm"), ReasoningChunk("hm")),
        (make_delta_payload(reasoning="hm", reasoning_content="hm"), ReasoningChunk("hm")),
        (make_delta_payload(refusal="no"), RefusalChunk("no")),
        (make_delta_payload(content=[{"type": "text", "text": "a"}, {"type": "x"}, 7, {"text": "b"}]), TextChunk("ab")),
        (b'{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[1]}}]}', TextChunk("a", {"content": [1]})),
        (b'{"choices":[{"delta":{"content":""},"logprobs":{"content":[1]}}]}', TextChunk("", {"content": [1]})),
    ],
)
def test_kinds_of_fragment(payload: bytes, fragment: ModelChunk) -> None:
    assert parse_payloads(payload, STOP) == [fragment, FinishChunk("stop")]


@each_case(
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
    assert parse_payloads(payload, make_delta_payload(content="a"), STOP) == [TextChunk("a"), FinishChunk("stop")]


def test_usage_comes_once_and_before_the_finish() -> None:
    counting = encode_json({"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 7}})
    said = parse_payloads(counting, STOP, encode_json(make_usage_chunk()), b"[DONE]")
    assert said == [TextChunk("a"), UsageChunk(Usage(7, 3)), FinishChunk("stop")]


@each_case(
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
    assert parse_payloads(make_delta_payload(reason), b"[DONE]") == [FinishChunk(finish)]


@pytest.mark.demand("engine.retries_backoff_retry_after")
@pytest.mark.parametrize(
    "payloads", [(), (make_delta_payload(),), (make_delta_payload("eos"),), (make_delta_payload("error"), b"[DONE]")]
)
def test_an_end_that_says_nothing_is_no_end(payloads: tuple[bytes, ...]) -> None:
    with pytest.raises(errors.Incomplete):
        parse_payloads(make_delta_payload(content="a"), *payloads)


def test_a_finish_reason_without_done_is_an_end() -> None:
    assert parse_payloads(STOP) == [FinishChunk("stop")]


def test_nothing_after_done_counts() -> None:
    assert parse_payloads(
        make_delta_payload(content="a"), STOP, b"[DONE]", make_delta_payload(content="b"), b"junk"
    ) == [TextChunk("a"), FinishChunk("stop")]


ONE = [ToolCallStart(0, "add"), ToolCallArgs(0, '{"a":'), ToolCallArgs(0, "1}"), FinishChunk("calls")]
TWO = [
    ToolCallStart(0, "add"),
    ToolCallArgs(0, "{}"),
    ToolCallStart(1, "sub"),
    ToolCallArgs(1, "[]"),
    FinishChunk("calls"),
]


def make_call_delta(name: str | None = None, arguments: object = None, **more: object) -> dict[str, object]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {**more, "function": function}


REST = make_tool_calls_payload(make_call_delta(None, "1}", index=0))
LEGACY_REST = make_delta_payload(function_call={"arguments": "1}"})


@pytest.mark.parametrize(
    "payloads",
    [
        (
            make_tool_calls_payload(make_call_delta("add", "", index=0, id="x")),
            make_tool_calls_payload(make_call_delta(None, '{"a":', index=0)),
            REST,
        ),
        (
            make_tool_calls_payload(make_call_delta("add", '{"a":', index=0, id="x")),
            make_tool_calls_payload(make_call_delta("add", "1}", index=0, id="x")),
        ),
        (
            make_tool_calls_payload(make_call_delta("add", '{"a":', index=0, id="x")),
            make_tool_calls_payload(make_call_delta("add", "1}", index=0, id="y")),
        ),
        (
            make_tool_calls_payload(make_call_delta("add", '{"a":', index=3, id="x")),
            make_tool_calls_payload(make_call_delta("", "1}", index=3, id="")),
        ),
        (
            make_tool_calls_payload(make_call_delta("add", '{"a":', id="x")),
            make_tool_calls_payload(make_call_delta(None, "1}", id="x")),
        ),
        (
            make_tool_calls_payload(make_call_delta("add", '{"a":', id="x")),
            make_tool_calls_payload(make_call_delta(None, "1}")),
        ),
        (
            make_tool_calls_payload(make_call_delta("add", '{"a":')),
            make_tool_calls_payload(make_call_delta(None, "1}")),
        ),
        (
            make_tool_calls_payload(make_call_delta("add", '{"a":')),
            make_tool_calls_payload(make_call_delta("add", "1}")),
        ),
        (make_delta_payload(function_call={"name": "add", "arguments": '{"a":'}), LEGACY_REST),
        (
            make_tool_calls_payload(make_call_delta(None, '{"a":', index=0)),
            make_tool_calls_payload(make_call_delta("add", None, index=0)),
            REST,
        ),
    ],
)
@pytest.mark.parametrize("end", [STOP, CALLS, make_delta_payload("function_call")])
def test_one_call(payloads: tuple[bytes, ...], end: bytes) -> None:
    assert parse_payloads(*payloads, end) == ONE


@pytest.mark.parametrize(
    "payloads",
    [
        (
            make_tool_calls_payload(
                make_call_delta("add", "{}", index=0, id="x"), make_call_delta("sub", "[]", index=1, id="y")
            ),
        ),
        (
            make_tool_calls_payload(make_call_delta("add", "{}", id="x")),
            make_tool_calls_payload(make_call_delta("sub", "[]", id="y")),
        ),
        (make_tool_calls_payload(make_call_delta("add", "{}"), make_call_delta("sub", "[]")),),
        (make_tool_calls_payload(make_call_delta("add", {}), make_call_delta("sub", [])),),
        (
            make_tool_calls_payload(make_call_delta("add", "{}", index=0, id="x")),
            make_tool_calls_payload(make_call_delta("sub", "[]", index=0, id="y")),
        ),
    ],
)
def test_two_calls(payloads: tuple[bytes, ...]) -> None:
    assert parse_payloads(*payloads, CALLS) == TWO


def test_the_same_tool_twice_without_index_or_id() -> None:
    said = parse_payloads(make_tool_calls_payload(make_call_delta("add", "{}"), make_call_delta("add", "{}")), CALLS)
    assert said == [
        ToolCallStart(0, "add"),
        ToolCallArgs(0, "{}"),
        ToolCallStart(1, "add"),
        ToolCallArgs(1, "{}"),
        FinishChunk("calls"),
    ]


def test_interleaved_calls() -> None:
    said = parse_payloads(
        make_tool_calls_payload(
            make_call_delta("add", None, index=0, id="x"), make_call_delta("sub", None, index=1, id="y")
        ),
        make_tool_calls_payload(make_call_delta(None, "[", index=1), make_call_delta(None, "{", index=0)),
        make_tool_calls_payload(make_call_delta(None, "}", index=0), make_call_delta(None, "]", index=1)),
        CALLS,
    )
    assert [f for f in said if isinstance(f, ToolCallArgs)] == [
        ToolCallArgs(1, "["), ToolCallArgs(0, "{"), ToolCallArgs(0, "}"), ToolCallArgs(1, "]")
    ]  # fmt: skip


def test_arguments_as_an_object_keep_their_numbers() -> None:
    function = b'{"name":"add","arguments":{"a":1.0,"b":12345678901234567890123}}'
    payload = b'{"choices":[{"delta":{"tool_calls":[{"function":' + function + b"}]}}]}"
    assert parse_payloads(payload, CALLS)[1] == ToolCallArgs(0, '{"a":1.0,"b":12345678901234567890123}')


def test_strict_tools_are_enforced_and_others_are_not() -> None:
    said = parse_payloads(
        make_tool_calls_payload(make_call_delta("add", "{}", index=0), make_call_delta("sub", "{}", index=1)),
        CALLS,
        strict=("add",),
    )
    assert [f.enforced for f in said if isinstance(f, ToolCallStart)] == [True, False]


def test_a_call_without_a_name_is_garbage_unless_it_was_cut() -> None:
    with pytest.raises(errors.UpstreamGarbled):
        parse_payloads(make_tool_calls_payload(make_call_delta(None, "{}", index=0)), CALLS)
    assert parse_payloads(
        make_tool_calls_payload(make_call_delta(None, "{", index=0)), make_delta_payload("length")
    ) == [FinishChunk("length")]


def test_a_whole_completion() -> None:
    message = {
        "content": "a",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "x", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
    }
    said = parse_payloads(encode_json(make_completion(message, "tool_calls")))
    assert said == [
        ReasoningChunk("hm"), TextChunk("a"), ToolCallStart(0, "add"), ToolCallArgs(0, "{}"), UsageChunk(Usage(7, 3)),
        FinishChunk("calls")
    ]  # fmt: skip


@each_case(
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
        parse_payloads(payload)
    assert "junk" not in raised.value.message


def test_half_an_event_at_the_end_is_a_cut() -> None:
    answer = OpenAIChatParser()
    with pytest.raises(errors.Incomplete):
        answer.feed_tail(b'{"choices":[{"del')


@each_case(
    ("fault", "kind"),
    [
        (make_error_body("canary", "rate_limit_exceeded"), errors.UpstreamBusy),
        (make_error_body("canary", "overloaded"), errors.UpstreamOverloaded),
        (make_error_body("canary", "invalid_api_key"), errors.UpstreamDenied),
        (make_error_body("canary", "context_length_exceeded"), errors.ContextTooLong),
        (make_error_body("canary", "x", "exceed_context_size_error"), errors.ContextTooLong),
        (make_error_body("canary", "x", "invalid_request_error"), errors.UpstreamRejected),
        (make_error_body("canary", "x"), errors.UpstreamError),
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
        parse_payloads(make_delta_payload(content="a"), encode_json(fault))
    assert type(raised.value) is kind
    assert "canary" not in raised.value.message
