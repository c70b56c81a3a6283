"""What comes back: within a size, unpacked, and never an error that is not ours."""

import gzip
import os
import tracemalloc
import zlib

import pytest

from rightseat.errors import AddressRefused, RightseatError, UpstreamGarbled, UpstreamTooLarge
from rightseat.http.fetch import AddressRules, OutboundClient
from tests.unit.http.fetch.canned_server import CannedServer, format_redirect, format_response

pytestmark = pytest.mark.io

OUTSIDE = "127.0.0.2"
RULES = AddressRules(allow=[f"{OUTSIDE}/32"])


@pytest.mark.parametrize(
    "made",
    [
        format_response(b"x" * 2000),
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 2000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + b"x" * 2000 + b"\r\n0\r\n\r\n",
        format_response(gzip.compress(b"x" * 2000), "Content-Encoding: gzip"),
        format_response(zlib.compress(b"x" * 2000), "Content-Encoding: deflate"),
        format_response(gzip.compress(b"x" * 500) * 4, "Content-Encoding: gzip"),
    ],
    ids=["declared", "until the end", "chunked", "gzip", "deflate", "gzip in parts"],
)
async def test_what_is_too_large_is_refused(made: bytes) -> None:
    async with CannedServer(OUTSIDE, {"/": made}) as served:
        async with OutboundClient(RULES, max_bytes=1999) as outbound:
            with pytest.raises(UpstreamTooLarge, match="larger than 1999 bytes"):
                await outbound.fetch(served.url)
        async with OutboundClient(RULES, max_bytes=2000) as outbound:
            assert (await outbound.fetch(served.url)).data == b"x" * 2000


async def test_a_gzip_bomb_takes_no_memory() -> None:
    bomb = gzip.compress(bytes(100 << 20), 5)
    async with (
        CannedServer(OUTSIDE, {"/": format_response(bomb, "Content-Encoding: gzip")}) as served,
        OutboundClient(RULES, max_bytes=1 << 20) as outbound,
    ):
        tracemalloc.start()
        try:
            with pytest.raises(UpstreamTooLarge):
                await outbound.fetch(served.url)
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("made", "error"),
    [
        (format_response(b"x", "Content-Encoding: br"), UpstreamGarbled),
        (format_response(b"x", "Content-Encoding: gzip, gzip"), UpstreamGarbled),
        (format_response(b"not gzip", "Content-Encoding: gzip"), UpstreamGarbled),
        (format_response(gzip.compress(os.urandom(999))[:500], "Content-Encoding: gzip"), UpstreamGarbled),
        (b"rubbish\r\n\r\n", UpstreamGarbled),
        (b"", UpstreamGarbled),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", UpstreamGarbled),
        (format_redirect("http://[/"), AddressRefused),
        (format_redirect("http://host/a b\xe9"), AddressRefused),
    ],
)
async def test_a_broken_answer_is_an_error_of_ours(made: bytes, error: type[RightseatError]) -> None:
    async with CannedServer(OUTSIDE, {"/": made}) as served, OutboundClient(RULES) as outbound:
        with pytest.raises(error) as caught:
            await outbound.fetch(served.url)
        assert caught.value.message.endswith(".")


async def test_raw_deflate_is_read_too() -> None:
    machine = zlib.compressobj(wbits=-15)
    raw = machine.compress(b"hello") + machine.flush()
    async with (
        CannedServer(OUTSIDE, {"/": format_response(raw, "Content-Encoding: deflate")}) as served,
        OutboundClient(RULES) as outbound,
    ):
        assert (await outbound.fetch(served.url)).data == b"hello"
