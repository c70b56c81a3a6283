"""OpenAI's Responses API as an upstream: what is sent, what is read, and that no split matters."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.http.sse import SseParser
from rightseat.models.openai import model
from rightseat.models.openai.request import RESPONSES_PROVIDER, Dialect, build_responses_body
from rightseat.models.openai.responses_parser import ResponsesStreamParser
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
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    ProviderData,
    TextMessagePart,
    ToolCall,
    text_message,
)
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from tests.kit import faults
from tests.kit.cases import each_case
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import responses as wire
from tests.unit.models.model_calls import collect_chunks

DIALECT = Dialect(developer_role=True, max_completion_tokens=True, strict_tools=False, usage=True)
ADD = ToolSpec("add", "Adds.", {"type": "object"})
THOUGHT = {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": wire.ENCRYPTED_REASONING}


def build_body(*messages: Message, dialect: Dialect = DIALECT, reasons: bool = False, **fields: Any) -> dict[str, Any]:
    prompt = Prompt(messages=messages, **fields)
    dialect = replace(dialect, reasoning=reasons, reasoning_summary="auto" if reasons else None)
    return build_responses_body("m", prompt, dialect)


@pytest.mark.demand("models.openai_gains_responses_upstream")
def test_a_conversation_as_items() -> None:
    called = Message(
        "assistant",
        (TextMessagePart("Let me see."),),
        (ToolCall("c1", "add", "{}"),),
        opaque=(ProviderData(RESPONSES_PROVIDER, {"said": False, "calls": 0, "item": THOUGHT}),),
    )
    foreign = text_message("assistant", "ok", opaque=(ProviderData("anthropic", {"signature": "x"}),))
    picture = Message(
        "user",
        (TextMessagePart("And this?"), ImageMessagePart("data:x"), FileMessagePart("a.pdf", "application/pdf", "AA==")),
    )
    found = build_body(
        text_message("system", "Be brief."), called, text_message("tool", "5", call_id="c1"), foreign, picture
    )
    assert found["input"] == [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        THOUGHT,
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "5"},
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "ok", "annotations": []}]},
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "And this?"},
            {"type": "input_image", "image_url": "data:x", "detail": "auto"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="},
        ]},
    ]  # fmt: skip
    assert (found["store"], found["stream"]) == (False, True)
    assert "include" not in found


def test_a_picture_in_a_result_goes_with_its_text() -> None:
    result = Message("tool", (TextMessagePart("See."), ImageMessagePart("data:x")), call_id="c1")
    [_, output] = build_body(Message("assistant", calls=(ToolCall("c1", "draw", "{}"),)), result)["input"]
    assert output["output"] == [
        {"type": "input_text", "text": "See."},
        {"type": "input_image", "image_url": "data:x", "detail": "auto"},
    ]


def test_every_thought_goes_back_to_its_place() -> None:
    fragments, error = parse_events(
        *wire.make_reasoning_events(0, "a", cipher="one"),
        *wire.make_text_events(1, "Hi"),
        *wire.make_reasoning_events(2, "b", cipher="two"),
        *wire.make_call_events(3, "add", "{}"),
        *wire.make_reasoning_events(4, "c", cipher="three"),
        *wire.make_call_events(5, "add", "{}"),
        *wire.make_reasoning_events(6, "d", cipher="four"),
        wire.make_end_event(),
    )
    assert error is None
    opaque = tuple(ProviderData(f.provider, f.blob) for f in fragments if isinstance(f, ProviderDataChunk))
    calls = (ToolCall("c1", "add", "{}"), ToolCall("c2", "add", "{}"))
    whole = build_body(Message("assistant", (TextMessagePart("Hi"),), calls, opaque=opaque))["input"]
    # Of the fourth nothing came; of a message that was left empty, nothing at all.
    assert [item.get("encrypted_content", item["type"]) for item in whole] == [
        "one", "message", "two", "function_call", "three", "function_call",
    ]  # fmt: skip
    assert build_body(Message("assistant", (), opaque=opaque))["input"] == []


def test_allowed_tools() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "add"}]}
    assert build_body(tools=(ADD,), tool_choice=ToolChoice("required", allowed=("add",)))["tool_choice"] == allowed


@pytest.mark.demand("models.openai_gains_responses_upstream")
def test_tools_forms_and_tuning_in_its_own_words() -> None:
    extra = {"reasoning_effort": "low", "verbosity": "low", "user": "u", "seed": 1, "logit_bias": {}}
    found = build_body(
        tools=(ADD,),
        tool_choice=ToolChoice("named", "add"),
        output_schema={"type": "object"},
        settings=SamplingSettings(temperature=0.5, max_tokens=9, stop=("x",), parallel_calls=False, extra=extra),
        reasons=True,
    )
    assert found == {
        "model": "m",
        "input": [],
        "stream": True,
        "store": False,
        "tools": [
            {
                "type": "function",
                "name": "add",
                "description": "Adds.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "tool_choice": {"type": "function", "name": "add"},
        "parallel_tool_calls": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.5,
        "max_output_tokens": 9,
        "text": {
            "format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": False},
            "verbosity": "low",
        },
        "reasoning": {"effort": "low", "summary": "auto"},
        "user": "u",
    }


def parse_bytes(*pieces: bytes) -> tuple[list[ModelChunk], type[RightseatError] | None]:
    reader, answer = SseParser(), ResponsesStreamParser(frozenset({"sure"}))
    out: list[ModelChunk] = []
    try:
        for piece in pieces:
            for payload in reader.feed(piece):
                out += answer.feed(payload)
        for payload in reader.close():
            out += answer.feed_tail(payload)
        out += answer.finish()
    except RightseatError as error:
        return out, type(error)
    return out, None


def parse_events(*events: dict[str, Any]) -> tuple[list[ModelChunk], type[RightseatError] | None]:
    return parse_bytes(*wire.ResponsesReply(events).encode_frames())


@pytest.mark.demand("models.openai_gains_responses_upstream")
def test_reasoning_is_told_by_paragraphs_and_kept_to_be_given_back() -> None:
    parts = ("First.", "Second.")
    summary = [{"type": "summary_text", "text": part} for part in parts]
    fragments, error = parse_events(
        *wire.make_reasoning_events(0, *parts), *wire.make_text_events(1, "Hi"), wire.make_end_event()
    )
    assert error is None
    assert fragments == [
        ReasoningChunk("First."),
        ReasoningChunk("\n\nSecond"),
        ReasoningChunk("."),
        ProviderDataChunk(RESPONSES_PROVIDER, {"said": False, "calls": 0, "item": {**THOUGHT, "summary": summary}}),
        TextChunk("Hi"),
        UsageChunk(Usage(7, 3)),
        FinishChunk("stop"),
    ]  # fmt: skip
    [blob] = [fragment.blob for fragment in fragments if isinstance(fragment, ProviderDataChunk)]
    assert "status" not in blob["item"]


def test_a_server_that_tells_only_whole_items_is_understood() -> None:
    events = [*wire.make_text_events(0, "Hi"), *wire.make_call_events(1, "sure", '{"a":1}'), wire.make_end_event()]
    whole = [event for event in events if not event["type"].endswith(".delta")]
    expected = [
        TextChunk("Hi"),
        ToolCallStart(0, "sure", True),
        ToolCallArgs(0, '{"a":1}'),
        UsageChunk(Usage(7, 3)),
        FinishChunk("calls"),
    ]
    assert parse_events(*whole) == (expected, None)
    done = [event for event in whole if event["type"] in ("response.output_item.done", "response.completed")]
    assert parse_events(*done) == (expected, None)


def test_an_answer_in_one_piece() -> None:
    items = [event["item"] for event in wire.make_text_events(0, "Hi") if event["type"] == "response.output_item.done"]
    reply = {"object": "response", "status": "completed", "output": items, "usage": wire.USAGE}
    answer = ResponsesStreamParser()
    assert answer.feed(json.dumps(reply).encode()) + answer.finish() == [
        TextChunk("Hi"),
        UsageChunk(Usage(7, 3)),
        FinishChunk("stop"),
    ]


@pytest.mark.demand("models.openai_gains_responses_upstream")
@each_case(
    ("event", "kind"),
    [
        (wire.make_failed_event("server_error"), errors.UpstreamError),
        (wire.make_failed_event("rate_limit_exceeded"), errors.UpstreamBusy),
        (wire.make_failed_event("invalid_prompt"), errors.ContentRefused),
        ({"type": "error", "code": "context_length_exceeded", "message": "x"}, errors.ContextTooLong),
        ({"type": "error", "error": {"type": "invalid_request_error"}}, errors.UpstreamRejected),
        ({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call"}},
         errors.UpstreamGarbled),
        ({"type": "response.function_call_arguments.delta", "output_index": 9, "delta": "{"},
         errors.UpstreamGarbled),
    ],
)  # fmt: skip
def test_every_way_to_fail(event: dict[str, Any], kind: type[RightseatError]) -> None:
    assert parse_events(*wire.make_text_events(0, "half"), event) == ([TextChunk("half")], kind)


@pytest.mark.io
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_a_status_means_what_it_means_to_a_chat(status: int) -> None:
    async with FakeUpstream() as upstream:
        kinds = []
        for api in ("chat", "responses"):
            upstream.reply = faults.fail_with_status(status)
            made = model("m", {"base_url": upstream.base_url, "api": api, "tries": 1})
            kinds.append(type((await collect_chunks(made))[1]))
            await made.close()
    assert kinds[0] is kinds[1] is not type(None)


@pytest.mark.demand("models.openai_gains_responses_upstream")
@pytest.mark.io
async def test_thoughts_travel_back_with_the_result_of_a_call() -> None:
    async with FakeUpstream() as upstream:
        upstream.queue_replies(
            wire.ResponsesReply(
                [*wire.make_reasoning_events(0, "Sum."), *wire.make_call_events(1, "add", "{}"), wire.make_end_event()]
            ),
            wire.ResponsesReply([*wire.make_text_events(0, "5"), wire.make_end_event()]),
        )
        made = model("o3", {"base_url": upstream.base_url, "api": "responses", "reasoning": True})
        first, _ = await collect_chunks(made)
        kept = tuple(ProviderData(f.provider, f.blob) for f in first if isinstance(f, ProviderDataChunk))
        called = Message("assistant", (), (ToolCall("call_1", "add", "{}"),), opaque=kept)
        talk = Prompt(
            messages=(text_message("user", "2+3?"), called, text_message("tool", "5", call_id="call_1")), tools=(ADD,)
        )
        second, error = await collect_chunks(made, talk)
        await made.close()
    assert error is None
    assert TextChunk("5") in second
    assert upstream.requests[0].json["include"] == ["reasoning.encrypted_content"]
    assert [item["type"] for item in upstream.requests[1].json["input"]] == [
        "message", "reasoning", "function_call", "function_call_output",
    ]  # fmt: skip


PIECES = st.lists(
    st.one_of(
        st.builds(lambda t: wire.make_text_events(0, t, "世界🙂"), st.text(st.characters(codec="utf-8"), max_size=5)),
        st.just(wire.make_text_events(0, "no", kind="refusal")),
        st.just(wire.make_reasoning_events(0, "a\u2028b", "second")),
        st.just(wire.make_call_events(0, "add", '{"a": "é"}')),
        st.sampled_from(
            [[wire.make_failed_event("server_error")], [{"type": "error", "code": "x"}], [{"type": "new"}]]
        ),
    ),
    max_size=4,
)
ENDS = st.sampled_from(
    [[wire.make_end_event()], [wire.make_end_event("length")], [wire.make_end_event("content_filter")], []]
)


@pytest.mark.demand("models.openai_gains_responses_upstream", "models.model_contract_suite_passes")
@given(PIECES, ENDS, st.lists(st.floats(0, 1), max_size=8), st.sampled_from([b"", b"data: {", b"data: [DONE]\n\n"]))
def test_any_split_gives_the_same_fragments(
    pieces: list[list[dict[str, Any]]], end: list[dict[str, Any]], cuts: list[float], tail: bytes
) -> None:
    moved = [{**event, "output_index": n} for n, piece in enumerate(pieces) for event in piece]
    stream = b"".join(wire.ResponsesReply([*moved, *end]).encode_frames()) + tail
    whole = parse_bytes(stream)
    assert parse_bytes(*(stream[i : i + 1] for i in range(len(stream)))) == whole
    places = [0, *sorted(round(cut * len(stream)) for cut in cuts), len(stream)]
    assert parse_bytes(*(stream[a:b] for a, b in itertools.pairwise(places))) == whole
