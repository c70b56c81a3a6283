import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.errors import UpstreamGarbled
from rightseat.http.sse import KEEP_ALIVE_COMMENT, SseParser, format_event
from tests.kit.cases import each_case


def parse_sse(*chunks: bytes, limit: int = 1 << 20) -> list[bytes]:
    reader = SseParser(limit)
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends(end: bytes) -> None:
    assert parse_sse(b"data: a" + end + end + b"data: b" + end + end) == [b"a", b"b"]


@each_case(
    ("stream", "events"),
    [
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data\n\n", [b""]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": ping\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 7\nretry: 1\ndata: a\nfoo\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: \xef\xbb\xbfa\n\n", [b"\xef\xbb\xbfa"]),
        (b"\n\n\n", []),
        (b"", []),
        ("data: a\u2028b\u0085c\n\n".encode(), ["a\u2028b\u0085c".encode()]),
        (b"data: a", [b"a"]),
        (b"data: a\n", [b"a"]),
        (b"\xef\xbb", []),
        (b"dat", []),
    ],
)
def test_every_split_reads_the_same(stream: bytes, events: list[bytes]) -> None:
    assert parse_sse(stream) == events
    assert parse_sse(*(stream[i : i + 1] for i in range(len(stream)))) == events
    for first, second in itertools.combinations(range(len(stream) + 1), 2):
        assert parse_sse(stream[:first], stream[first:second], stream[second:]) == events


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\n\r", b"\r\r"])
def test_a_complete_event_does_not_wait_for_more_bytes(end: bytes) -> None:
    reader = SseParser()
    assert reader.feed(b"data: a" + end) == [b"a"]
    assert reader.feed(b"data: b" + end) == [b"b"]


def test_an_lf_after_a_read_that_ended_in_cr_is_no_blank_line() -> None:
    reader = SseParser()
    assert reader.feed(b"data: a\r") == []
    assert reader.feed(b"\n") == []
    assert reader.feed(b"\ndata: b\n\n") == [b"a", b"b"]


def test_a_long_event_is_refused_after_those_before_it() -> None:
    reader = SseParser(limit=10)
    assert reader.feed(b"data: a\n\ndata: " + b"x" * 20) == [b"a"]
    with pytest.raises(UpstreamGarbled):
        reader.feed(b"x")
    with pytest.raises(UpstreamGarbled):
        reader.close()


@pytest.mark.parametrize("stream", [b"data: 12345\n\n", b"data: 1\ndata: 2\n\n", b": 123456789\n\n", b"data: 12345"])
def test_the_limit_does_not_depend_on_the_reads(stream: bytes) -> None:
    for size in range(1, len(stream) + 1):
        with pytest.raises(UpstreamGarbled):
            parse_sse(*(stream[i : i + size] for i in range(0, len(stream), size)), limit=10)


def test_many_short_events_are_not_a_long_one() -> None:
    assert parse_sse(b"data: a\n\n: c\n\n" * 50, limit=10) == [b"a"] * 50
    assert parse_sse(*[b"data: 1234\n\n"] * 50, limit=12) == [b"1234"] * 50


LINE = st.sampled_from([b"data: a", b"data:b", b"data", b": c", b"event: x", b"", b"data: \xe2\x80\xa8", b"x"])
END = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(
    lines=st.lists(st.tuples(LINE, END), max_size=12), bom=st.booleans(), cuts=st.lists(st.integers(0, 100), max_size=8)
)
def test_any_split_of_any_stream_reads_the_same(lines: list[tuple[bytes, bytes]], bom: bool, cuts: list[int]) -> None:
    stream = (b"\xef\xbb\xbf" if bom else b"") + b"".join(line + end for line, end in lines)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert parse_sse(*(stream[a:b] for a, b in itertools.pairwise(places))) == parse_sse(stream)


@given(st.binary(max_size=200))
def test_what_is_written_is_read_again(data: bytes) -> None:
    written = format_event(data, id="7", event="x")
    assert parse_sse(written + format_event(b"next")) == [data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), b"next"]


def test_a_frame() -> None:
    assert format_event(b"{}") == b"data: {}\n\n"
    assert format_event(b"{}", id="run:1", event="done") == b"id: run:1\nevent: done\ndata: {}\n\n"
    assert format_event(b"a\r\nb\rc\nd") == b"data: a\ndata: b\ndata: c\ndata: d\n\n"
    assert parse_sse(KEEP_ALIVE_COMMENT + format_event(b"a")) == [b"a"]


@each_case("bad", ["", "a\n", "a\r", "a\nb", "a b", "é", "a\0", "x" * 201])
def test_an_id_or_a_name_that_could_end_a_line_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="takes letters"):
        format_event(b"", id=bad)
    with pytest.raises(ValueError, match="takes letters"):
        format_event(b"", event=bad)
