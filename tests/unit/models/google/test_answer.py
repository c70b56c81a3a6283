"""What is made of Google's chunks."""

import json

import pytest

from rightseat.errors import ContentRefused, Incomplete, OutputInvalid, RightseatError, UpstreamGarbled
from rightseat.models.google.stream_parser import GeminiStreamParser
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
from tests.kit.chunks import Json
from tests.kit.vendors.google import GoogleReply, answer_text, make_call_part, make_chunk, make_part
from tests.unit.models.google.model_calls import collect_chunks, connect_model

pytestmark = pytest.mark.io


def parse_chunks(*chunks: Json) -> list[ModelChunk]:
    answer = GeminiStreamParser()
    return [fragment for one in chunks for fragment in answer.feed(json.dumps(one).encode())] + answer.finish()


def test_thoughts_are_reasoning_and_paid_for_as_output() -> None:
    usage = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 2,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 20,
    }
    assert parse_chunks(
        make_chunk(make_part("hm", thought=True)), make_chunk(make_part("yes")), make_chunk(finish="STOP", usage=usage)
    ) == [ReasoningChunk("hm"), TextChunk("yes"), UsageChunk(Usage(12, 23, 4)), FinishChunk("stop")]


def test_the_last_count_is_the_answers() -> None:
    first, last = ({"promptTokenCount": 7, "candidatesTokenCount": n} for n in (1, 5))
    found = parse_chunks(make_chunk(make_part("a"), usage=first), make_chunk(make_part("b"), finish="STOP", usage=last))
    assert UsageChunk(Usage(7, 5)) in found
    assert parse_chunks(make_chunk(make_part("a"), finish="STOP", usage=None)) == [TextChunk("a"), FinishChunk("stop")]


@pytest.mark.demand("models.google_gemini_api")
def test_several_calls_in_one_chunk_and_in_several() -> None:
    found = parse_chunks(
        make_chunk(make_call_part("add", {"a": 2}), make_call_part("add", {"b": "é"})),
        make_chunk(make_call_part("look", {})),
        make_chunk(finish="STOP"),
    )
    assert found[:6] == [
        ToolCallStart(0, "add"),
        ToolCallArgs(0, '{"a": 2}'),
        ToolCallStart(1, "add"),
        ToolCallArgs(1, '{"b": "é"}'),
        ToolCallStart(2, "look"),
        ToolCallArgs(2, "{}"),
    ]
    assert found[-1] == FinishChunk("calls")


def test_signatures_and_ids_are_kept_with_their_places() -> None:
    found = parse_chunks(
        make_chunk(make_part("ab")),
        make_chunk(make_part("", signature=b"\xff")),
        make_chunk(make_call_part("add", {}, id="up_1")),
        make_chunk(finish="STOP"),
    )
    assert [one for one in found if isinstance(one, ProviderDataChunk)] == [
        ProviderDataChunk("google", {"signature": "/w==", "start": 2, "end": 2}),
        ProviderDataChunk("google", {"call": 0, "name": "add", "id": "up_1"}),
    ]


@pytest.mark.demand("models.google_thought_signatures_safety")
@pytest.mark.parametrize(
    ("finish", "error"),
    [
        *((name, ContentRefused) for name in ("SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")),
        *((name, ContentRefused) for name in ("RECITATION", "LANGUAGE", "IMAGE_SAFETY")),
        *((name, OutputInvalid) for name in ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")),
        *((name, Incomplete) for name in ("OTHER", "FINISH_REASON_UNSPECIFIED", "SOMETHING_NEW")),
    ],
)
async def test_an_end_that_is_none(finish: str, error: type[RightseatError]) -> None:
    """What came before it is still given out."""
    async with connect_model(answer_text("so far", finish=finish)) as (_, model):
        fragments, found = await collect_chunks(model)
    assert fragments == [TextChunk("so far")]
    assert type(found) is error


@pytest.mark.parametrize("finish", ["MAX_TOKENS", "CONTINUATION"])
def test_a_cut_answer_is_no_call(finish: str) -> None:
    assert parse_chunks(make_chunk(make_call_part("add", {})), make_chunk(finish=finish, usage=None))[
        -1
    ] == FinishChunk("length")


@pytest.mark.demand("models.google_thought_signatures_safety")
@pytest.mark.parametrize("reason", ["SAFETY", "BLOCKLIST", "OTHER", "SOMETHING_NEW"])
async def test_a_question_that_is_blocked(reason: str) -> None:
    reply = GoogleReply([{"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 7}}])
    async with connect_model(reply) as (_, model):
        fragments, error = await collect_chunks(model)
    assert not fragments
    assert isinstance(error, ContentRefused)
    assert reason not in error.message


def test_a_second_candidate_is_not_heard() -> None:
    second = make_chunk(make_part("b"))
    second["candidates"][0]["index"] = 1
    assert parse_chunks(make_chunk(make_part("a")), second, make_chunk(finish="STOP", usage=None)) == [
        TextChunk("a"),
        UsageChunk(Usage(7, 3)),
        FinishChunk("stop"),
    ]


async def test_parts_that_are_neither_text_nor_call_are_passed_over() -> None:
    odd = [
        make_part(executableCode={"language": "PYTHON", "code": "1"}),
        make_part(inlineData={"mimeType": "image/png", "data": "AA=="}),
        {},
        make_part("told"),
    ]
    async with connect_model(GoogleReply([make_chunk(*odd, finish="STOP")])) as (_, model):
        fragments, error = await collect_chunks(model)
    assert error is None
    assert [one for one in fragments if isinstance(one, TextChunk)] == [TextChunk("told")]


@pytest.mark.parametrize("odd", [make_part("\ud800"), make_call_part("add", {"a": "\udfff"}), make_call_part("", {})])
def test_what_no_door_could_write_is_refused(odd: Json) -> None:
    with pytest.raises(UpstreamGarbled):
        parse_chunks(make_chunk(odd, finish="STOP"))
