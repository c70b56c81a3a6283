"""Connections: kept, given up, refused, in time, over TLS."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from yarl import URL

from rightseat.errors import CallerError
from rightseat.http import client
from rightseat.http.client import ConnectTimeout, HttpClient, IncompleteResponse, format_request_head
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.http.certificate import write_certificate
from tests.unit.http.raw_server import fetch_body, make_reply, send_request, serve_raw

pytestmark = pytest.mark.io


@pytest.mark.parametrize(
    ("url", "lines"),
    [
        ("http://api.test/v1/x?a=b%20c", b"POST /v1/x?a=b%20c HTTP/1.1\r\nHost: api.test\r\n"),
        ("https://api.test:443/x", b"POST /x HTTP/1.1\r\nHost: api.test\r\n"),
        ("http://[::1]:80/", b"POST / HTTP/1.1\r\nHost: [::1]\r\n"),
        ("http://bücher.test:8080/", b"POST / HTTP/1.1\r\nHost: xn--bcher-kva.test:8080\r\n"),
    ],
)
def test_a_requests_head(url: str, lines: bytes) -> None:
    assert format_request_head("POST", URL(url), {"X-A": "b"}) == lines + b"X-A: b\r\n"


@pytest.mark.parametrize("header", [("X-A", "a\r\nHost: evil"), ("X-A", "a\nb"), ("X-A\r\nX-B", "a"), ("X-A", "a\0")])
def test_a_header_never_adds_lines(header: tuple[str, str]) -> None:
    with pytest.raises(CallerError, match="line break"):
        format_request_head("GET", URL("http://api.test/"), dict([header]))


async def test_what_goes_over_the_wire() -> None:
    async with serve_raw() as (server, client, url):
        assert await fetch_body(client, url) == b"ok"
        head = f"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:{url.port}\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{{}}"
        assert server.requests == [[head.encode()]]


async def test_as_many_connections_as_answers_at_the_same_time() -> None:
    async with serve_raw() as (server, client, url):
        for _ in range(2):
            responses = [await send_request(client, url) for _ in range(3)]
            for response in responses:
                assert await response.read_body(10) == b"ok"
                response.close()
        assert [len(came) for came in server.requests] == [2, 2, 2]


async def test_an_answer_that_is_not_read_to_its_end_costs_its_connection() -> None:
    async with serve_raw() as (server, client, url):
        server.reply = make_reply(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
        response = await send_request(client, url)
        response.close()
        await wait_until(lambda: server.disconnects == 1)
        await send_request(client, url)
        assert len(server.requests) == 2


async def test_a_server_that_hangs_up_is_asked_anew() -> None:
    async with serve_raw() as (server, client, url):
        assert await fetch_body(client, url) == b"ok"
        server.close_connections()
        await wait_until(lambda: not client._idle)
        assert await fetch_body(client, url) == b"ok"
        assert len(server.requests) == 2


async def test_a_server_that_speaks_unasked_is_left() -> None:
    async with serve_raw() as (server, client, url):

        async def talkative(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            # Not before the connection has been put aside for the next question.
            await wait_until(lambda: client._idle)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")

        plain, server.reply = server.reply, talkative
        assert await fetch_body(client, url) == b"ok"
        await wait_until(lambda: server.disconnects == 1)
        server.reply = plain
        assert await fetch_body(client, url) == b"ok"


async def test_a_connection_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "IDLE_SECONDS", 0.05)
    async with serve_raw() as (server, ours, url):
        assert await fetch_body(ours, url) == b"ok"
        assert server.disconnects == 0
        await wait_until(lambda: server.disconnects == 1)
        assert ours._stale_timer is None


async def test_closing_ends_what_is_kept_and_what_is_under_way() -> None:
    async with serve_raw() as (server, client, url):
        first, second = await send_request(client, url), await send_request(client, url)
        assert await first.read_body(10) == b"ok"
        first.close()
        client.close()
        await wait_until(lambda: server.disconnects == 2)
        assert second.ended
        second.close()


async def test_nobody_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = URL.build(scheme="http", host="127.0.0.1", port=closed.getsockname()[1])
        with pytest.raises(ConnectionRefusedError):
            await send_request(HttpClient(url, connect_timeout=HANG_TIMEOUT), url)


async def test_a_name_that_dns_cannot_have() -> None:
    url = URL.build(scheme="http", host="a" * 64 + ".test")
    with pytest.raises(OSError, match=r"DNS|known|Name"):
        await send_request(HttpClient(url, connect_timeout=HANG_TIMEOUT), url)


@pytest.mark.parametrize(("connect", "deadline"), [(0.05, HANG_TIMEOUT), (HANG_TIMEOUT, 0.05)])
async def test_a_connection_in_time(monkeypatch: pytest.MonkeyPatch, connect: float, deadline: float) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(client, "start_connection", never)
    url = URL("http://127.0.0.1:1")
    with pytest.raises(TimeoutError) as raised:
        await HttpClient(url, connect_timeout=connect).send(b"", b"", asyncio.get_running_loop().time() + deadline)
    assert (type(raised.value) is ConnectTimeout) == (connect < deadline)


async def test_a_connection_lost_before_it_was_used() -> None:
    async with serve_raw() as (_, ours, url):
        connection = await ours._connect_before(asyncio.get_running_loop().time() + HANG_TIMEOUT)
        connection.abort()
        with pytest.raises(IncompleteResponse):
            connection.send_request(format_request_head("POST", url, {}) + b"\r\n")


@pytest.fixture
def fresh_tls_context() -> Iterator[None]:
    client.make_tls_context.cache_clear()
    yield
    client.make_tls_context.cache_clear()


@pytest.mark.usefixtures("fresh_tls_context")
async def test_tls_needs_a_certificate_that_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = write_certificate(tmp_path)
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    theirs.load_cert_chain(pem)
    async with serve_raw(tls=theirs) as (server, ours, url):
        with pytest.raises(ssl.SSLCertVerificationError):
            await send_request(ours, url)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        client.make_tls_context.cache_clear()
        trusting = HttpClient(url, connect_timeout=HANG_TIMEOUT)
        for _ in range(2):
            assert await fetch_body(trusting, url) == b"ok"
        trusting.close()
        assert [len(came) for came in server.requests if came] == [2]


async def test_repeated_headers_that_have_one_value_are_not_joined() -> None:
    async with serve_raw() as (server, ours, url):
        head = b"Location: /a\r\nLocation: /b\r\nX-A: 1\r\nX-A: 2\r\n"
        server.reply = make_reply(b"HTTP/1.1 302 Found\r\n" + head + b"Content-Length: 0\r\n\r\n")
        response = await send_request(ours, url)
        assert (response.headers["location"], response.headers["x-a"]) == ("/a", "1, 2")
        response.close()


async def test_many_short_headers_are_too_many() -> None:
    async with serve_raw() as (server, ours, url):
        server.reply = make_reply(b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 50_000 + b"\r\n", end=True)
        with pytest.raises(IncompleteResponse):
            await send_request(ours, url)


def test_credentials_of_an_address_become_a_header() -> None:
    head = format_request_head("GET", URL("http://ada:s%C3%A9cret@api.test/"), {})
    assert b"Authorization: Basic YWRhOnPDqWNyZXQ=\r\n" in head
    assert b"Basic" not in format_request_head("GET", URL("http://a:b@api.test/"), {"authorization": "Bearer x"})


def test_a_client_outlives_the_loop_of_its_connections() -> None:
    """As a model does that is asked by `asyncio.run` twice: what the first loop left open cannot be used."""

    async def ask() -> tuple[HttpClient, client.Connection]:
        async with serve_raw() as (_, ours, url):
            assert await fetch_body(ours, url) == b"ok"
            return ours, ours._idle[0]

    async def ask_again() -> None:
        async with serve_raw() as (_, _, url):
            ours._url = url
            assert await fetch_body(ours, url) == b"ok"
            ours.close()

    ours, connection = asyncio.run(ask())
    ours._idle.append(connection)
    asyncio.run(asyncio.wait_for(ask_again(), HANG_TIMEOUT))
    assert connection not in ours._connections
