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
from rightseat.models.openai.chat_parser import ChatStreamParser
from rightseat.models.openai.exchange import ChatDeltaFastPath, OpenAIExchange
from rightseat.types.chunks import TextChunk, merge_text_chunks


def event(text: str, **more: object) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None} | more
    return b"data: " + json.dumps({"id": "c", "choices": [choice], "created": 1}).encode() + b"\n\n"


def short_way(mould: ChatDeltaFastPath, data: bytes) -> list[str] | None:
    found = mould.read_text(data)
    return None if found is None else [found]


def taught(first: bytes) -> ChatDeltaFastPath:
    mould = ChatDeltaFastPath()
    mould.learn(first, first[6:-2])
    return mould


def long_way(data: bytes) -> list[str]:
    answer = ChatStreamParser()
    found = [fragment for payload in SseParser().feed(data) for fragment in answer.feed(payload)]
    return [fragment.text for fragment in found if isinstance(fragment, TextChunk)]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=8))
def test_texts_are_those_of_the_long_way(texts: list[str]) -> None:
    data = b"".join(map(event, texts))
    # What came at once goes on as one.
    assert short_way(taught(event("first")), data) == ["".join(texts)] == ["".join(long_way(data))]


@given(st.text('"\\,:content{}[]\n ', max_size=30), st.binary(max_size=12), st.integers(0, 200))
def test_whatever_is_read_the_short_way_is_right(text: str, noise: bytes, at: int) -> None:
    whole = event(text) + event("then")
    data = whole[:at] + noise + whole[at:]
    found = short_way(taught(event("first")), data)
    if found is not None:
        assert "".join(found) == "".join(long_way(data))


@pytest.mark.parametrize(
    "other",
    [
        event("x", finish_reason="stop"),
        event("x", index=1),
        event("x", logprobs={"content": []}),
        event("x")[:-1],
        event("x") + b"data: [DONE]\n\n",
        event("x").replace(b'"x"', b'"x", "content": "y"'),
        event("x").replace(b'"x"', b'"x","y"'),
        event("x").replace(b'"x"', b"null"),
        event("x").replace(b'"x"', b'"\n"'),
        event("x").replace(b'"x"', b'"\xff"'),
        event("x").replace(b'"x"', b""),
        b"",
    ],
)
def test_what_differs_elsewhere_is_read_whole(other: bytes) -> None:
    assert taught(event("first")).read_text(other) is None


def test_the_last_event_of_a_read_teaches_and_not_for_ever() -> None:
    mould = ChatDeltaFastPath()
    mould.learn(event("a") + b"data: [DONE]\n\n", event("a")[6:-2])
    assert mould.read_text(event("c")) is None
    mould.learn(event("a", index=1) + event("b"), event("b")[6:-2])
    assert short_way(mould, event("c")) == ["c"]
    for number in range(10):
        changing = event("a").replace(b'"created": 1', b'"created": %d' % number)
        mould.learn(changing, changing[6:-2])
    # It gave up after a few: the last one it took is the one that it still knows.
    assert mould.read_text(event("c").replace(b'"created": 1', b'"created": 9')) is None
    assert short_way(mould, event("c").replace(b'"created": 1', b'"created": 2')) == ["c"]


def test_a_second_content_teaches_nothing() -> None:
    odd = event("a").replace(b'"created": 1', b'"note": {"content": "b"}')
    assert taught(odd).read_text(odd) is None


KINDS = [
    event("word "),
    event('\u2028 " \\ é'),
    event("x", logprobs={"content": []}),
    event("", finish_reason="stop"),
    event("other", index=1),
    b": a comment\n\n",
    b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"reasoning": "hm"}}]}).encode() + b"\r\n\r\n",
]


class Arrived:
    """A response whose body has come in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.headers = {"content-type": "text/event-stream"}

    @property
    def ended(self) -> bool:
        return not self.pieces

    def take_body(self) -> bytes:
        return self.pieces.pop(0)


class Watching:
    begun = expired = False


def through(pieces: list[bytes]) -> list[Any]:
    """What an exchange gives out, texts that came apart joined."""
    exchange = OpenAIExchange(
        cast(Response, Arrived(pieces)),
        ChatStreamParser(),
        cast(IdleTimer, Watching()),
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
    body += event("", finish_reason="stop") + b"data: [DONE]\n\n"
    places = sorted({min(cut, len(body)) for cut in cuts} | {0, len(body)})
    parts = [body[start:end] for start, end in pairwise(places)]
    answer = ChatStreamParser()
    slow = [fragment for payload in SseParser().feed(body) for fragment in answer.feed(payload)]
    assert through(parts) == merge_text_chunks([*slow, *answer.finish()])


def test_what_breaks_off_amid_many_is_told_after_what_came() -> None:
    words = event("word ") * 100
    with pytest.raises(UpstreamGarbled):
        through([words + b"data: {nonsense}\n\n" + words])
    with pytest.raises(Incomplete):
        through([words + event("half")[:-20]])
