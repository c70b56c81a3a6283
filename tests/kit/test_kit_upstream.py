"""The fault upstream, seen through the raw client."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.kit import connection_faults, framing
from tests.kit.answers import answer_text, answer_tool_call
from tests.kit.catalogue import ANSWERS, ENDLESS, FRAMINGS, REPLIES, STATUSES
from tests.kit.chunks import Json
from tests.kit.client import RawHttpClient, TruncatedResponse
from tests.kit.faults import CANARY
from tests.kit.sinks import SinkServer
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as made:
        yield made


def make_body(message: str, stream: bool = True) -> Json:
    return {"model": "x", "stream": stream, "messages": [{"role": "user", "content": message}]}


async def fetch_body(client: RawHttpClient, message: str, stream: bool = True) -> bytes:
    await client.post_json("/v1/chat/completions", make_body(message, stream))
    assert (await client.read_head()).status == 200
    return await client.read_body()


def extract_text(body: bytes) -> str:
    """The text of an SSE body in any framing, read the slow and obvious way."""
    lines = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    content, data = "", list[bytes]()
    for line in lines:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            value = b"\n".join(data)
            data = []
            if value != b"[DONE]":
                content += json.loads(value)["choices"][0]["delta"].get("content") or ""
    return content


async def test_text_streamed_and_whole(upstream: FakeUpstream) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        assert extract_text(await fetch_body(client, "hello")) == "w0 w1 w2"
        body = json.loads(await fetch_body(client, "fault-ok:count=2", stream=False))
    assert body["choices"][0]["message"]["content"] == "w0 w1"
    assert [r.stream for r in upstream.requests] == [True, False]
    assert len(upstream.connections) == 1


@pytest.mark.parametrize("name", FRAMINGS)
async def test_every_framing_says_the_same(upstream: FakeUpstream, name: str) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        body = await fetch_body(client, f"fault-{name}")
    assert extract_text(body) == framing.TEXT


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ANSWERS)
async def test_every_answer_is_whole(upstream: FakeUpstream, name: str, stream: bool) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        body = await fetch_body(client, f"fault-{name}", stream)
    if stream:
        values = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: {")]
        assert values[-1]["choices"] == [] or values[-1]["choices"][0]["finish_reason"]
        assert body.endswith(b"[DONE]\n\n") is (name != "no-done")
    else:
        assert json.loads(body)["choices"][0]["finish_reason"]


@pytest.mark.parametrize("name", STATUSES)
async def test_statuses(upstream: FakeUpstream, name: str) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/v1/chat/completions", make_body(f"fault-{name}"))
        head = await client.read_head()
        assert head.status == int(name)
        assert CANARY in (await client.read_json())["error"]["message"]
    assert head.headers.get("retry-after") == ("7" if name == "429" else None)


@pytest.mark.parametrize("stream", [True, False])
async def test_reset_comes_after_the_tokens(upstream: FakeUpstream, stream: bool) -> None:
    got = bytearray()

    async def collect() -> None:
        async for piece in client.iterate_pieces():
            got.extend(piece)

    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/v1/chat/completions", make_body("fault-reset", stream))
        await client.read_head()
        with pytest.raises(ConnectionResetError):
            await collect()
    assert (extract_text(bytes(got)) == "w0 w1 w2") if stream else got
    assert upstream.closed_count == 0


@pytest.mark.parametrize("stream", [True, False])
async def test_cut_is_an_early_fin(upstream: FakeUpstream, stream: bool) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/v1/chat/completions", make_body("fault-cut", stream))
        await client.read_head()
        with pytest.raises(TruncatedResponse):
            await client.read_body()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ["length-too-long", "length-too-short"])
async def test_lengths_lie(upstream: FakeUpstream, name: str, stream: bool) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/v1/chat/completions", make_body(f"fault-{name}", stream))
        length = int((await client.read_head()).headers["content-length"])
        got = b""
        while piece := await client.read():
            got += piece
    assert len(got) - length == (-50 if name == "length-too-long" else 50)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ENDLESS)
async def test_waits_end_when_the_client_leaves(upstream: FakeUpstream, name: str, stream: bool) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/v1/chat/completions", make_body(f"fault-{name}", stream))
        (request,) = await upstream.wait_requests(1)
        assert upstream.closed_count == 0
        client.reset() if stream else client.close()
        await upstream.wait_closed(1)
    assert request.abandoned_at is not None
    await upstream.wait_idle()
    assert not upstream.open_connections


async def test_all_closed_fails_in_time(upstream: FakeUpstream) -> None:
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/", make_body("fault-mute"))
        with pytest.raises(AssertionError, match="0 of 1"):
            await upstream.wait_closed(1, within=0.05)


async def test_slow_reader_stops_the_sender(upstream: FakeUpstream) -> None:
    async with RawHttpClient(upstream.base_url, rcvbuf=4096) as client:
        await client.post_json("/", make_body("fault-endless"))
        (request,) = await upstream.wait_requests(1)
        sent = -1
        while sent != request.bytes_sent:
            sent = request.bytes_sent
            await asyncio.sleep(0.1)
        assert 0 < sent < 20_000_000


async def test_script_queue_and_raw(upstream: FakeUpstream) -> None:
    upstream.reply_raw([b"data: 1", b"\n\n"])
    upstream.queue_replies(answer_tool_call(), answer_text(1))
    async with RawHttpClient(upstream.base_url) as client:
        assert b'"name":"add"' in await fetch_body(client, "fault-404")
        assert extract_text(await fetch_body(client, "fault-404")) == "w0"
        assert await fetch_body(client, "fault-404") == b"data: 1\n\n"


async def test_tool_results_get_text(upstream: FakeUpstream) -> None:
    body = make_body("fault-tool")
    body["messages"].append({"role": "tool", "tool_call_id": "up_1", "content": "5"})
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/v1/chat/completions", body)
        await client.read_head()
        assert extract_text(await client.read_body()) == "w0 w1 w2"


async def test_a_broken_script_fails_the_test() -> None:
    async def broken() -> None:
        async with FakeUpstream() as upstream, RawHttpClient(upstream.base_url) as client:
            await client.post_json("/", make_body("fault-no-such"))
            assert await client.read_or_reset() == b""

    with pytest.raises(KeyError, match="no-such"):
        await broken()


async def test_garbage_is_no_http(upstream: FakeUpstream) -> None:
    upstream.reply = connection_faults.send_garbage()
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/", make_body("hello"))
        assert not (await client.read()).startswith(b"HTTP")


async def test_frames_and_comments(upstream: FakeUpstream) -> None:
    upstream.reply_raw([b": hi\n\nevent: x\nid: 3\nda", b"ta: 1\ndata: 2\n\n"])
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/", make_body("hello"))
        await client.read_head()
        first, second = [frame async for frame in client.iterate_frames()]
    assert (first.comment, first.data) == ("hi", None)
    assert (second.event, second.id, second.data) == ("x", "3", "1\n2")


async def test_a_loop_over_frames_can_be_left_and_taken_up(upstream: FakeUpstream) -> None:
    upstream.reply_raw([b"data: 1\n\ndata: 2\n\n"])
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/", make_body("hello"))
        await client.read_head()
        async for first in client.iterate_frames():
            assert first.data == "1"
            break
        assert [frame.data async for frame in client.iterate_frames()] == ["2"]


async def test_half_a_frame_is_no_frame(upstream: FakeUpstream) -> None:
    upstream.reply_raw([b"data: 1\n\nda"])
    async with RawHttpClient(upstream.base_url) as client:
        await client.post_json("/", make_body("hello"))
        await client.read_head()
        assert await client.read_frame() is not None
        with pytest.raises(TruncatedResponse):
            await client.read_frame()


async def test_sink_keeps_what_reaches_it() -> None:
    async with SinkServer() as sink:
        sink.assert_unreached()
        async with RawHttpClient(sink.url) as client:
            await client.post_json("/x", {"key": "s3cret"})
            assert (await client.read_head()).status == 200
        assert sink.has_received("s3cret")
        with pytest.raises(AssertionError, match="1 connections"):
            sink.assert_unreached()


def test_names_can_be_said_in_a_message() -> None:
    assert all(name == name.lower() and name.replace("-", "").isalnum() for name in REPLIES)
