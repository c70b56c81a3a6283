"""The doctor's client: what it says of servers that cannot be reached, and that it reads what browsers read."""

import asyncio
import gzip
from contextlib import closing

import pytest

from rightseat.doctor.client import ProbeClient, Unreachable
from tests.unit.http.fetch.canned_server import CannedServer, format_response

pytestmark = pytest.mark.io


async def explain(base: str) -> str:
    with closing(ProbeClient(base)) as client, pytest.raises(Unreachable) as caught:
        await client.send("GET", "/", seconds=5)
    return str(caught.value)


async def test_why_there_is_no_answer() -> None:
    async with CannedServer(responses={"/": b"SSH-2.0-x\r\n\r\n"}) as ssh:
        url = ssh.url
        assert await explain(url) == "what answers there does not speak HTTP"
    assert await explain(url) == "nothing listens there"
    async with CannedServer(responses={"/": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"}) as short:
        assert await explain(short.url) == "the connection was cut"
    assert await explain(f"http://{'a' * 64}.test") == "its name is not known to the DNS"
    for address in ("127.0.0.1:80", "ftp://127.0.0.1", "http://[::", "http://"):
        assert await explain(address) == "this is not an address that HTTP knows", address


async def test_https_to_a_server_of_plain_http() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)
        writer.write(format_response(status="400 Bad Request"))
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        assert await explain(f"https://127.0.0.1:{port}") == "TLS failed: it may speak plain http"


async def test_a_compressed_answer_and_a_key_beyond_ascii() -> None:
    packed = format_response(gzip.compress(b"hello"), "Content-Encoding: gzip")
    async with CannedServer(responses={"/": packed}) as served:
        with closing(ProbeClient(served.url, "schlüssel")) as client:
            assert (await client.send("GET", "/")).body == b"hello"
    assert "Authorization: Bearer schlüssel" in served.requests[0]
