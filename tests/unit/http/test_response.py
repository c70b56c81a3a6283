"""One answer, in every framing that HTTP/1.1 has and in every way it can break."""

import asyncio

import pytest

from rightseat.http.client import MAX_BUFFERED, MAX_HEAD, IncompleteResponse, InvalidHttpResponse
from rightseat.http.idle import NEVER
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.http.raw_server import fetch_body, make_reply, send_request, serve_raw

pytestmark = pytest.mark.io

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\none \r\n4;x=y\r\ntwo \r\n5\r\nthree\r\n"
# name → (bytes, whether the server closes after them, whether the connection can serve again)
WHOLE = {
    "length": (OK + b"Content-Length: 13\r\n\r\none two three", False, True),
    "chunked": (CHUNKED + b"0\r\n\r\n", False, True),
    "trailers": (CHUNKED + b"0\r\nStatus: 500\r\n\r\n", False, True),
    "until the end": (OK + b"\r\none two three", True, False),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\none two three", True, False),
    "close": (OK + b"Connection: close\r\nContent-Length: 13\r\n\r\none two three", False, False),
    "interim": (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 13\r\n\r\none two three",
        False,
        True,
    ),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 13\n\none two three", False, True),
}
BROKEN = {"length": OK + b"Content-Length: 14\r\n\r\none two three", "chunked": CHUNKED, "half a chunk": CHUNKED[:-4]}
GARBLED = {
    "not HTTP": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "two lengths": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
    "an upgrade": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nxx",
    "a head without end": OK + b"X: " + b"x" * MAX_HEAD,
}


@pytest.mark.parametrize("split", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("name", WHOLE)
async def test_a_whole_answer(name: str, split: bool) -> None:
    data, end, again = WHOLE[name]
    async with serve_raw() as (server, client, url):
        pieces = [data[i : i + 1] for i in range(len(data))] if split else [data]
        server.reply = make_reply(*pieces, end=end)
        for _ in range(2):
            response = await send_request(client, url)
            assert response.status == 200
            assert "link" not in response.headers
            assert await response.read_body(100) == b"one two three"
            assert response.complete
            assert "status" not in response.headers
            response.close()
        assert len(server.requests) == (1 if again else 2)


async def test_headers_are_joined_and_in_lower_case() -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(OK + b"X-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n")
        response = await send_request(client, url)
        assert response.headers == {"x-a": "1, 2", "content-length": "0"}
        response.close()


@pytest.mark.parametrize("name", BROKEN)
async def test_what_breaks_off_is_cut_after_all_that_came(name: str) -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(BROKEN[name], end=True)
        response = await send_request(client, url)
        came = b""
        while not response.ended:
            if not response.ready:
                await response.next_arrival()
            came += response.take_body()
        assert (came + response.take_body()).startswith(b"one two thr")
        assert not response.complete
        with pytest.raises(IncompleteResponse):
            await response.read_body(100)
        response.close()


async def test_a_broken_chunk_is_noticed_at_once() -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(CHUNKED, b"zz\r\n")
        async with asyncio.timeout(HANG_TIMEOUT):
            with pytest.raises(InvalidHttpResponse):
                await fetch_body(client, url)


@pytest.mark.parametrize("name", GARBLED)
async def test_what_is_not_http(name: str) -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(GARBLED[name])
        with pytest.raises(InvalidHttpResponse):
            await send_request(client, url)


async def test_a_connection_that_ends_without_an_answer() -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(end=True)
        with pytest.raises(IncompleteResponse) as raised:
            await send_request(client, url)
        assert type(raised.value) is IncompleteResponse


@pytest.mark.parametrize("more", [b"garbage", OK + b"Content-Length: 2\r\n\r\nno"], ids=["garbage", "answer"])
async def test_what_follows_an_answer_spoils_only_its_connection(more: bytes) -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(OK + b"Content-Length: 2\r\n\r\nok" + more)
        assert await fetch_body(client, url) == b"ok"
        assert await fetch_body(client, url) == b"ok"
        assert len(server.requests) == 2


async def test_a_server_waits_for_a_reader_that_takes_nothing() -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(OK + b"\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with serve_raw() as (server, client, url):
        server.reply = endless
        response = await send_request(client, url)
        before = -1
        while sent != before or sent <= MAX_BUFFERED:
            before = sent
            await asyncio.sleep(0.1)
        # One read of the loop's may go over the bound; the rest is in the kernel's buffers.
        assert MAX_BUFFERED < len(response.take_body()) < MAX_BUFFERED + (1 << 20)

        def goes_on() -> bool:
            # The kernel's buffers may hold more than one body does.
            response.take_body()
            return sent > before

        await wait_until(goes_on)
        response.close()


async def test_cutting_wakes_who_waits() -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(OK + b"Content-Length: 2\r\n\r\n")
        response = await send_request(client, url)
        arrival = response.next_arrival()
        assert response.waiting_since < NEVER
        response.abort()
        async with asyncio.timeout(HANG_TIMEOUT):
            await arrival
        assert (response.ready, response.ended, response.complete) == (True, True, False)
        response.close()
        await wait_until(lambda: server.disconnects == 1)
