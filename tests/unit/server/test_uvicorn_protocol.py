from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import cast

import pytest

from rightseat.server import uvicorn_protocol
from rightseat.server.uvicorn_protocol import LimitedHttpProtocol
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.server.conftest import RunningServer, ServeConfig

pytestmark = pytest.mark.io

HOST = b" HTTP/1.1\r\nHost: localhost\r\n"
QUICK = "[server]\nheader_timeout = 0.5\nbody_timeout = 0.5\nmax_body_mb = 0.001\n"


def get_status(reply: bytes) -> int:
    assert reply.startswith(b"HTTP/1.1 "), reply[:100]
    return int(reply.split()[1])


async def test_a_plain_request_is_answered(serve: ServeConfig) -> None:
    async with serve() as serving:
        reply = await serving.get("/health")
    assert get_status(reply) == 200
    assert b"server:" not in reply.lower()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (b"X: " + b"a" * 1_000_000, 431),
        (b"X: " + b"a" * 70_000, 431),
        (b"\r\n".join(b"X%d: y" % number for number in range(101)), 431),
        (b"\r\n".join(b"X%d: y" % number for number in range(10_000)), 431),
        (b"Host: other", 400),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
        (b"X: a\r\n folded: b", 400),
        (b"X y: a", 400),
    ],
)
async def test_bad_heads_are_refused(serve: ServeConfig, headers: bytes, expected: int) -> None:
    async with serve() as serving:
        reply = await serving.send_raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n\r\n")
        assert get_status(reply) == expected
        assert get_status(await serving.get("/health")) == 200


@pytest.mark.parametrize(
    "line", [b"\x16\x03\x01\x02\x00", b"nonsense", b"GET", b"GET /\xff HTTP/1.1", b"GET * HTTP/1.1", b"PRI * HTTP/2.0"]
)
async def test_what_is_not_http_is_answered_once(serve: ServeConfig, line: bytes) -> None:
    async with serve() as serving:
        reply = await serving.send_raw(line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert get_status(reply) in (400, 404)
        assert reply.count(b"HTTP/1.1") == 1
        assert get_status(await serving.get("/health")) == 200


async def test_bad_http_does_not_fill_the_log(serve: ServeConfig, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        async with serve() as serving:
            caplog.clear()
            for _ in range(50):
                assert get_status(await serving.send_raw(b"nonsense\r\n\r\n")) == 400
            assert caplog.records == []


@pytest.mark.parametrize("start", [b"G", b"GET / HTTP/1.1\r\nHost: local", b"GET /" + HOST])
async def test_a_head_that_does_not_end_is_timed_out(serve: ServeConfig, start: bytes) -> None:
    async with serve(QUICK) as serving:
        assert get_status(await serving.send_raw(start)) == 408


async def test_dripping_does_not_buy_time(serve: ServeConfig) -> None:
    async with serve(QUICK) as serving:
        reader, writer = await serving.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        answer = asyncio.ensure_future(reader.read())
        drops = 0
        while not answer.done() and drops < 500:
            writer.write(b"a")
            drops += 1
            await asyncio.wait([answer], timeout=0.02)
        assert get_status(answer.result()) == 408
        writer.close()


@pytest.mark.parametrize("start", [b"", b"\r\n"])
async def test_a_silent_connection_is_closed_without_a_word(serve: ServeConfig, start: bytes) -> None:
    async with serve(QUICK) as serving:
        assert await serving.send_raw(start) == b""


async def test_the_second_request_of_a_connection_has_its_time_too(serve: ServeConfig) -> None:
    async with serve(QUICK) as serving:
        reader, writer = await serving.connect()
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert get_status(await reader.readuntil(b"}")) == 200
        writer.write(b"GET /hea")
        assert get_status(await asyncio.wait_for(reader.read(), HANG_TIMEOUT)) == 408
        writer.close()


async def test_keep_alive_carries_many_requests(serve: ServeConfig) -> None:
    async with serve(QUICK) as serving:
        reader, writer = await serving.connect()
        for _ in range(3):
            writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert get_status(await reader.readuntil(b"}")) == 200
        writer.close()


async def send_forever(serving: RunningServer, data: bytes) -> bytes:
    """Send without end until the server closes."""
    reader, writer = await serving.connect()
    answer = asyncio.ensure_future(reader.read())
    try:
        writer.write(b"POST /say HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(1000):
            if answer.done() or writer.is_closing():
                break
            writer.write(data)
            await asyncio.wait([answer], timeout=0.005)
        return await asyncio.wait_for(answer, HANG_TIMEOUT)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_endless_trailers_are_cut(serve: ServeConfig) -> None:
    async with serve() as serving:
        reader, writer = await serving.connect()
        writer.write(b"POST /say HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ")
        writer.write(b"a" * 200_000)
        assert get_status(await asyncio.wait_for(reader.read(), HANG_TIMEOUT)) == 431
        writer.close()


async def test_trailers_do_not_become_headers(serve: ServeConfig) -> None:
    toml = '[server]\nheader_timeout = 0.5\n[models.main]\nspec = "scripted:demo"\n'
    async with serve(toml) as serving:
        body = b"2\r\nhi\r\n0\r\nHost: evil\r\n\r\n"
        head = b"POST /say" + HOST + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert get_status(await serving.send_raw(head + body)) == 200


async def test_a_refused_body_does_not_hold_the_connection(serve: ServeConfig) -> None:
    async with serve(QUICK) as serving:
        reply = await serving.send_raw(b"POST /say" + HOST + b"Content-Length: 999999\r\n\r\nabc")
        assert get_status(reply) == 413


async def test_half_a_body_is_timed_out(serve: ServeConfig) -> None:
    async with serve(QUICK) as serving:
        reply = await serving.send_raw(b"POST /say HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc")
        assert get_status(reply) == 408


async def test_a_refused_connection_stays_open_while_its_body_arrives() -> None:
    """A client that is still sending 3 MB when it is closed upon sees a reset instead of the 413."""
    protocol = object.__new__(LimitedHttpProtocol)
    protocol.loop = asyncio.get_running_loop()
    protocol.transport = cast(asyncio.Transport, SimpleNamespace(close=lambda: None))
    protocol.refused = True
    protocol.close_by = protocol.loop.time() + 60

    def feed() -> float:
        protocol.data_received(b"x")
        assert protocol.timer is not None
        return protocol.timer.when()

    first, second = feed(), feed()
    assert first < second < protocol.close_by
    protocol.close_by = first
    assert feed() == first
    protocol.cancel_timer()


@pytest.mark.parametrize(("sent", "closes"), [(b"", True), (b"x" * 10, True), (b"x" * 2000, False)])
async def test_a_response_before_the_end_of_its_request_says_that_the_connection_closes(
    serve: ServeConfig, sent: bytes, closes: bool
) -> None:
    """A client that reads a 413 without it keeps the connection, and its next request fails."""
    async with serve(QUICK) as serving:
        reader, writer = await serving.connect()
        writer.write(b"POST /say" + HOST + b"Content-Length: 2000\r\n\r\n" + sent)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HANG_TIMEOUT)
        assert get_status(head) == 413
        assert (b"connection: close\r\n" in head.lower()) == closes
        writer.close()


async def test_an_endless_body_is_refused_and_ended(serve: ServeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_protocol, "HALF_CLOSE_LIMIT", 1.0)
    async with serve(QUICK) as serving:
        reply = await send_forever(serving, b"400\r\n" + b"x" * 1024 + b"\r\n")
        assert reply == b"" or get_status(reply) == 413
        assert get_status(await serving.get("/health")) == 200


async def test_websockets_are_off(serve: ServeConfig, caplog: pytest.LogCaptureFixture) -> None:
    upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: eA==\r\n"
    async with serve() as serving:
        reply = await serving.send_raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + upgrade + b"\r\n")
        assert get_status(reply) == 200
    assert "WebSocket" not in caplog.text


async def test_garbage_after_a_request_never_lands_inside_its_answer(serve: ServeConfig) -> None:
    async with serve() as serving:
        reply = await serving.send_raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n\x00\x01garbage\r\n\r\n")
        assert reply == b"" or get_status(reply) in (200, 400)
        assert get_status(await serving.get("/health")) == 200
