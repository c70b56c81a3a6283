"""The fault upstream, seen through the raw client."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from tests.kit import breaks, framing
from tests.kit.answers import text, tool
from tests.kit.catalogue import ANSWERS, CATALOGUE, FRAMINGS, STATUSES, WAITS
from tests.kit.chunks import Json
from tests.kit.client import Client, Closed
from tests.kit.faults import CANARY
from tests.kit.sinks import Sink
from tests.kit.upstream import Upstream

pytestmark = pytest.mark.io


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with Upstream() as made:
        yield made


def ask(message: str, stream: bool = True) -> Json:
    return {"model": "x", "stream": stream, "messages": [{"role": "user", "content": message}]}


async def answer(client: Client, message: str, stream: bool = True) -> bytes:
    await client.post("/v1/chat/completions", ask(message, stream))
    assert (await client.head()).status == 200
    return await client.body()


def spoken(body: bytes) -> str:
    """The text of an SSE body in any framing, read the slow and obvious way."""
    lines = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    found, data = "", list[bytes]()
    for line in lines:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            value = b"\n".join(data)
            data = []
            if value != b"[DONE]":
                found += json.loads(value)["choices"][0]["delta"].get("content") or ""
    return found


async def test_text_streamed_and_whole(upstream: Upstream) -> None:
    async with Client(upstream.url) as client:
        assert spoken(await answer(client, "hello")) == "w0 w1 w2"
        body = json.loads(await answer(client, "fault-ok:count=2", stream=False))
    assert body["choices"][0]["message"]["content"] == "w0 w1"
    assert [r.stream for r in upstream.requests] == [True, False]
    assert len(upstream.connections) == 1


@pytest.mark.parametrize("name", FRAMINGS)
async def test_every_framing_says_the_same(upstream: Upstream, name: str) -> None:
    async with Client(upstream.url) as client:
        body = await answer(client, f"fault-{name}")
    assert spoken(body) == framing.SPOKEN


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ANSWERS)
async def test_every_answer_is_whole(upstream: Upstream, name: str, stream: bool) -> None:
    async with Client(upstream.url) as client:
        body = await answer(client, f"fault-{name}", stream)
    if stream:
        values = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: {")]
        assert values[-1]["choices"] == [] or values[-1]["choices"][0]["finish_reason"]
        assert body.endswith(b"[DONE]\n\n") is (name != "no-done")
    else:
        assert json.loads(body)["choices"][0]["finish_reason"]


@pytest.mark.parametrize("name", STATUSES)
async def test_statuses(upstream: Upstream, name: str) -> None:
    async with Client(upstream.url) as client:
        await client.post("/v1/chat/completions", ask(f"fault-{name}"))
        head = await client.head()
        assert head.status == int(name)
        assert CANARY in (await client.json())["error"]["message"]
    assert head.headers.get("retry-after") == ("7" if name == "429" else None)


@pytest.mark.parametrize("stream", [True, False])
async def test_reset_comes_after_the_tokens(upstream: Upstream, stream: bool) -> None:
    got = bytearray()

    async def collect() -> None:
        async for piece in client.pieces():
            got.extend(piece)

    async with Client(upstream.url) as client:
        await client.post("/v1/chat/completions", ask("fault-reset", stream))
        await client.head()
        with pytest.raises(ConnectionResetError):
            await collect()
    assert (spoken(bytes(got)) == "w0 w1 w2") if stream else got
    assert upstream.closed == 0


@pytest.mark.parametrize("stream", [True, False])
async def test_cut_is_an_early_fin(upstream: Upstream, stream: bool) -> None:
    async with Client(upstream.url) as client:
        await client.post("/v1/chat/completions", ask("fault-cut", stream))
        await client.head()
        with pytest.raises(Closed):
            await client.body()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ["length-too-long", "length-too-short"])
async def test_lengths_lie(upstream: Upstream, name: str, stream: bool) -> None:
    async with Client(upstream.url) as client:
        await client.post("/v1/chat/completions", ask(f"fault-{name}", stream))
        length = int((await client.head()).headers["content-length"])
        got = b""
        while piece := await client.read():
            got += piece
    assert len(got) - length == (-50 if name == "length-too-long" else 50)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", WAITS)
async def test_waits_end_when_the_client_leaves(upstream: Upstream, name: str, stream: bool) -> None:
    async with Client(upstream.url) as client:
        await client.post("/v1/chat/completions", ask(f"fault-{name}", stream))
        (request,) = await upstream.received(1)
        assert upstream.closed == 0
        client.reset() if stream else client.close()
        await upstream.all_closed(1)
    assert request.left_at is not None
    await upstream.quiet()
    assert not upstream.live


async def test_all_closed_fails_in_time(upstream: Upstream) -> None:
    async with Client(upstream.url) as client:
        await client.post("/", ask("fault-mute"))
        with pytest.raises(AssertionError, match="0 of 1"):
            await upstream.all_closed(1, within=0.05)


async def test_slow_reader_stops_the_sender(upstream: Upstream) -> None:
    async with Client(upstream.url, rcvbuf=4096) as client:
        await client.post("/", ask("fault-endless"))
        (request,) = await upstream.received(1)
        sent = -1
        while sent != request.sent:
            sent = request.sent
            await asyncio.sleep(0.1)
        assert 0 < sent < 20_000_000


async def test_script_queue_and_raw(upstream: Upstream) -> None:
    upstream.raw([b"data: 1", b"\n\n"])
    upstream.queue(tool(), text(1))
    async with Client(upstream.url) as client:
        assert b'"name":"add"' in await answer(client, "fault-404")
        assert spoken(await answer(client, "fault-404")) == "w0"
        assert await answer(client, "fault-404") == b"data: 1\n\n"


async def test_tool_results_get_text(upstream: Upstream) -> None:
    body = ask("fault-tool")
    body["messages"].append({"role": "tool", "tool_call_id": "up_1", "content": "5"})
    async with Client(upstream.url) as client:
        await client.post("/v1/chat/completions", body)
        await client.head()
        assert spoken(await client.body()) == "w0 w1 w2"


async def test_a_broken_script_fails_the_test() -> None:
    async def broken() -> None:
        async with Upstream() as upstream, Client(upstream.url) as client:
            await client.post("/", ask("fault-no-such"))
            assert await client.read_or_reset() == b""

    with pytest.raises(KeyError, match="no-such"):
        await broken()


async def test_garbage_is_no_http(upstream: Upstream) -> None:
    upstream.reply = breaks.garbage()
    async with Client(upstream.url) as client:
        await client.post("/", ask("hello"))
        assert not (await client.read()).startswith(b"HTTP")


async def test_frames_and_comments(upstream: Upstream) -> None:
    upstream.raw([b": hi\n\nevent: x\nid: 3\nda", b"ta: 1\ndata: 2\n\n"])
    async with Client(upstream.url) as client:
        await client.post("/", ask("hello"))
        await client.head()
        first, second = [frame async for frame in client.frames()]
    assert (first.comment, first.data) == ("hi", None)
    assert (second.event, second.id, second.data) == ("x", "3", "1\n2")


async def test_a_loop_over_frames_can_be_left_and_taken_up(upstream: Upstream) -> None:
    upstream.raw([b"data: 1\n\ndata: 2\n\n"])
    async with Client(upstream.url) as client:
        await client.post("/", ask("hello"))
        await client.head()
        async for first in client.frames():
            assert first.data == "1"
            break
        assert [frame.data async for frame in client.frames()] == ["2"]


async def test_half_a_frame_is_no_frame(upstream: Upstream) -> None:
    upstream.raw([b"data: 1\n\nda"])
    async with Client(upstream.url) as client:
        await client.post("/", ask("hello"))
        await client.head()
        assert await client.frame() is not None
        with pytest.raises(Closed):
            await client.frame()


async def test_sink_keeps_what_reaches_it() -> None:
    async with Sink() as sink:
        sink.assert_untouched()
        async with Client(sink.url) as client:
            await client.post("/x", {"key": "s3cret"})
            assert (await client.head()).status == 200
        assert sink.holds("s3cret")
        with pytest.raises(AssertionError, match="1 connections"):
            sink.assert_untouched()


def test_names_can_be_said_in_a_message() -> None:
    assert all(name == name.lower() and name.replace("-", "").isalnum() for name in CATALOGUE)
