"""Any split of any upstream byte stream gives the same fragments."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.errors import RightseatError
from rightseat.http.sse import SseParser
from rightseat.models.openai.client import OpenAIChatParser
from rightseat.types.chunks import ModelChunk
from tests.kit.chunks import DONE, make_call_delta, make_chunk, make_usage_chunk

ParseOutcome = tuple[list[ModelChunk], type[RightseatError] | None]

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["世界", "🙂", "a\u2028b\u0085c", "\r\n\r\n", "data: x\n\n", ": c", "é"]
)
PIECES = st.builds(
    make_call_delta,
    st.integers(0, 2),
    id=st.none() | st.sampled_from(["x", "y"]),
    name=st.none() | st.sampled_from(["add", "sub"]),
    arguments=st.none() | WORDS,
)
DELTAS = st.one_of(
    st.fixed_dictionaries({"content": WORDS}),
    st.fixed_dictionaries({"content": WORDS}),
    st.fixed_dictionaries({"reasoning_content": WORDS}),
    st.fixed_dictionaries({"refusal": WORDS}),
    st.fixed_dictionaries({"tool_calls": st.lists(PIECES, max_size=3)}),
    st.fixed_dictionaries({"function_call": st.just({"name": "add", "arguments": "{}"})}),
)
PAYLOADS = st.one_of(
    st.builds(make_chunk, DELTAS),
    st.builds(make_chunk, DELTAS),
    st.builds(make_chunk, st.just({}), st.sampled_from(["stop", "length", "tool_calls", "odd"])),
    st.just(make_usage_chunk()),
    st.just({"error": {"message": "x", "code": 429}}),
    st.just({"choices": 7}),
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
NOISE = st.sampled_from([b"", b"", b": ping", b"event: message", b"id: 7", b":"])


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    value, end, noise = draw(PAYLOADS), draw(ENDS), draw(NOISE)
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, None, 1])))
    label = draw(st.sampled_from([b"data: ", b"data:"]))
    lines = [label + line for line in text.encode().split(b"\n")]
    return end.join([*([noise] if noise else []), *lines, b"", b""])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    opening = draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"\n\n", b": hello\n\n"]))
    # Half a frame at the end is a cut, and must be the same cut.
    ending = draw(st.sampled_from([b"", DONE, DONE, b"data: [DONE]", b'data: {"choi', b'data: {"error": {}}']))
    return opening + b"".join(draw(st.lists(frames(), max_size=6))) + ending


def parse_pieces(chunks: list[bytes]) -> ParseOutcome:
    reader, answer = SseParser(), OpenAIChatParser()
    out: list[ModelChunk] = []
    try:
        for data in chunks:
            for payload in reader.feed(data):
                out += answer.feed(payload)
        for payload in reader.close():
            out += answer.feed_tail(payload)
        out += answer.finish()
    except RightseatError as error:
        return out, type(error)
    return out, None


@pytest.mark.demand("engine.openai_name_survives_real", "models.model_contract_suite_passes")
@given(streams(), st.lists(st.floats(0, 1), max_size=12))
def test_any_split_gives_the_same_fragments(stream: bytes, cuts: list[float]) -> None:
    whole = parse_pieces([stream])
    assert parse_pieces([stream[i : i + 1] for i in range(len(stream))]) == whole
    places = [0, *sorted(round(cut * len(stream)) for cut in cuts), len(stream)]
    assert parse_pieces([stream[a:b] for a, b in itertools.pairwise(places)]) == whole
