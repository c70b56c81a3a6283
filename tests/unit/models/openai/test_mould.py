"""Events that differ in their text only: what is read the short way must be what the long way reads."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.errors import Incomplete, UpstreamGarbled
from rightseat.http.client import Response
from rightseat.http.idle import IdleTimer
from rightseat.http.sse import SseParser
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.openai.client import OpenAIChatParser
from rightseat.models.openai.exchange import ChatDeltaFastPath, OpenAIExchange
from rightseat.types.chunks import TextChunk, merge_text_chunks
from tests.kit.cases import each_case


def format_event(text: str, **more: object) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None} | more
    return b"data: " + json.dumps({"id": "c", "choices": [choice], "created": 1}).encode() + b"\n\n"


def read_by_fast_path(fast_path: ChatDeltaFastPath, data: bytes) -> list[str] | None:
    found = fast_path.read_text(data)
    return None if found is None else [found]


def make_fast_path(first: bytes) -> ChatDeltaFastPath:
    fast_path = ChatDeltaFastPath()
    fast_path.learn(first, first[6:-2])
    return fast_path


def read_by_parser(data: bytes) -> list[str]:
    answer = OpenAIChatParser()
    found = [fragment for payload in SseParser().feed(data) for fragment in answer.feed(payload)]
    return [fragment.text for fragment in found if isinstance(fragment, TextChunk)]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=8))
def test_texts_are_those_of_the_long_way(texts: list[str]) -> None:
    data = b"".join(map(format_event, texts))
    # What came at once goes on as one.
    assert (
        read_by_fast_path(make_fast_path(format_event("first")), data)
        == ["".join(texts)]
        == ["".join(read_by_parser(data))]
    )


@given(st.text('"\\,:content{}[]\n ', max_size=30), st.binary(max_size=12), st.integers(0, 200))
def test_whatever_is_read_the_short_way_is_right(text: str, noise: bytes, at: int) -> None:
    whole = format_event(text) + format_event("then")
    data = whole[:at] + noise + whole[at:]
    found = read_by_fast_path(make_fast_path(format_event("first")), data)
    if found is not None:
        assert "".join(found) == "".join(read_by_parser(data))


@each_case(
    "other",
    [
        format_event("x", finish_reason="stop"),
        format_event("x", index=1),
        format_event("x", logprobs={"content": []}),
        format_event("x")[:-1],
        format_event("x") + b"data: [DONE]\n\n",
        format_event("x").replace(b'"x"', b'"x", "content": "y"'),
        format_event("x").replace(b'"x"', b'"x","y"'),
        format_event("x").replace(b'"x"', b"null"),
        format_event("x").replace(b'"x"', b'"\n"'),
        format_event("x").replace(b'"x"', b'"\xff"'),
        format_event("x").replace(b'"x"', b""),
        b"",
    ],
)
def test_what_differs_elsewhere_is_read_whole(other: bytes) -> None:
    assert make_fast_path(format_event("first")).read_text(other) is None


def test_the_last_event_of_a_read_teaches_and_not_for_ever() -> None:
    mould = ChatDeltaFastPath()
    mould.learn(format_event("a") + b"data: [DONE]\n\n", format_event("a")[6:-2])
    assert mould.read_text(format_event("c")) is None
    mould.learn(format_event("a", index=1) + format_event("b"), format_event("b")[6:-2])
    assert read_by_fast_path(mould, format_event("c")) == ["c"]
    for number in range(10):
        changing = format_event("a").replace(b'"created": 1', b'"created": %d' % number)
        mould.learn(changing, changing[6:-2])
    # It gave up after a few: the last one it took is the one that it still knows.
    assert mould.read_text(format_event("c").replace(b'"created": 1', b'"created": 9')) is None
    assert read_by_fast_path(mould, format_event("c").replace(b'"created": 1', b'"created": 2')) == ["c"]


def test_a_second_content_teaches_nothing() -> None:
    odd = format_event("a").replace(b'"created": 1', b'"note": {"content": "b"}')
    assert make_fast_path(odd).read_text(odd) is None


KINDS = [
    format_event("word "),
    format_event('\u2028 " \\ é'),
    format_event("x", logprobs={"content": []}),
    format_event("", finish_reason="stop"),
    format_event("other", index=1),
    b": a comment\n\n",
    b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"reasoning": "hm"}}]}).encode() + b"\r\n\r\n",
]


class FakeResponse:
    """A response whose body has come in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.headers = {"content-type": "text/event-stream"}

    @property
    def ended(self) -> bool:
        return not self.pieces

    def take_body(self) -> bytes:
        return self.pieces.pop(0)


class FakeWatchdog:
    begun = expired = False


def collect_exchange(pieces: list[bytes]) -> list[Any]:
    """What an exchange gives out, texts that came apart joined."""
    exchange = OpenAIExchange(
        cast(Response, FakeResponse(pieces)),
        OpenAIChatParser(),
        cast(IdleTimer, FakeWatchdog()),
        Timeouts(),
        lambda payload: None,
    )
    found: list[Any] = []
    while not exchange.done:
        found += exchange.read()
    return merge_text_chunks([*found, *exchange.finish()])


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 40)), min_size=1, max_size=6),
    st.lists(st.integers(0, 12_000), max_size=4),
)
def test_however_much_comes_at_once_it_is_read_alike(stretches: list[tuple[bytes, int]], cuts: list[int]) -> None:
    body = b"".join(kind * times for kind, times in stretches)
    body += format_event("", finish_reason="stop") + b"data: [DONE]\n\n"
    places = sorted({min(cut, len(body)) for cut in cuts} | {0, len(body)})
    parts = [body[start:end] for start, end in pairwise(places)]
    answer = OpenAIChatParser()
    slow = [fragment for payload in SseParser().feed(body) for fragment in answer.feed(payload)]
    assert collect_exchange(parts) == merge_text_chunks([*slow, *answer.finish()])


def test_what_breaks_off_amid_many_is_told_after_what_came() -> None:
    words = format_event("word ") * 100
    with pytest.raises(UpstreamGarbled):
        collect_exchange([words + b"data: {nonsense}\n\n" + words])
    with pytest.raises(Incomplete):
        collect_exchange([words + format_event("half")[:-20]])
