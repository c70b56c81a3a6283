"""One request over connections that can only go to checked addresses; its body is read within a limit, which is
measured before and after decompression (gzip bombs)."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from aiohappyeyeballs import AddrInfoType

from rightseat.errors import UpstreamGarbled, UpstreamRefused, UpstreamTooLarge
from rightseat.http.client import HttpClients, IncompleteResponse, Response, format_request_head
from rightseat.http.fetch.fetch import FetchResult, record_request
from rightseat.http.fetch.rules import AddressRules, parse_address
from rightseat.http.fetch.target import Target
from rightseat.types.streams import closing

# Servers may send several gzip members; the limit stops endless empty ones.
MAX_MEMBERS = 64
WBITS_AUTO, WBITS_RAW = 47, -15


class Decompressor:
    """Decompresses gzip, and deflate with or without the zlib header: servers differ."""

    def __init__(self) -> None:
        self.zlib_object = zlib.decompressobj(WBITS_AUTO)
        self.started = False
        self.members = 1

    def feed(self, data: bytes, max_bytes: int) -> bytes:
        """Decompress `data`; returns at most `max_bytes` + 1 bytes."""
        chunks: list[bytes] = []
        while data and max_bytes >= 0:
            if self.zlib_object.eof:
                if self.members >= MAX_MEMBERS:
                    break
                self.members += 1
                self.zlib_object = zlib.decompressobj(WBITS_AUTO)
            piece = self.decompress(data, max_bytes + 1)
            chunks.append(piece)
            max_bytes -= len(piece)
            data = self.zlib_object.unused_data if self.zlib_object.eof else self.zlib_object.unconsumed_tail
        return b"".join(chunks)

    def decompress(self, data: bytes, max_bytes: int) -> bytes:
        try:
            piece = self.zlib_object.decompress(data, max_bytes)
        except zlib.error:
            if self.started:
                raise
            self.zlib_object = zlib.decompressobj(WBITS_RAW)
            piece = self.zlib_object.decompress(data, max_bytes)
        self.started = True
        return piece


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """Read and decompress all chunks; raises when either size exceeds `limit`."""
    async with closing(decode_body(chunks, encoding, limit)) as pieces:
        return b"".join([piece async for piece in pieces])


async def decode_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> AsyncIterator[bytes]:
    """Decompress the chunks as they come; raises when the size before or after exceeds `limit`."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UpstreamGarbled("The server uses an unsupported compression. Use another URL.")
    decompressor = None if encoding in ("", "identity") else Decompressor()
    packed = size = 0
    async with closing(chunks):
        async for chunk in chunks:
            packed += len(chunk)
            if decompressor is not None:
                try:
                    chunk = decompressor.feed(chunk, limit - size)
                except zlib.error:
                    raise UpstreamGarbled("The server's compressed response is damaged. Try again later.") from None
            size += len(chunk)
            if max(packed, size) > limit:
                raise make_too_large_error(limit)
            if chunk:
                yield chunk
    if decompressor is not None and packed and not decompressor.zlib_object.eof:
        raise UpstreamGarbled("The server's answer ended in the middle. Try again later.")


def make_too_large_error(limit: int) -> UpstreamTooLarge:
    return UpstreamTooLarge(f"The server's answer is larger than {limit} bytes. Ask for less of it.")


Lookup = Callable[[str, int], Awaitable[list[str]]]
CONNECT_SECONDS = 10
# Methods that may be sent again, where the server closed a kept connection as the request was sent.
IDEMPOTENT = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE")
WITHOUT_BODY = ("GET", "HEAD", "OPTIONS", "TRACE")


async def resolve_by_system(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    address_infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in address_infos]


class FetchSession:
    """Clients whose connections go to addresses that `rules` allow."""

    def __init__(self, rules: AddressRules, lookup: Lookup) -> None:
        self.rules = rules
        self.lookup = lookup
        self.clients = HttpClients(connect_timeout=CONNECT_SECONDS, resolve=self.resolve)

    async def resolve(self, host: str, port: int) -> list[AddrInfoType]:
        """Return the checked addresses of a host. They are the ones connected to: DNS rebinding has no effect."""
        # Not looked up: on a machine without IPv4 a lookup finds not even 127.0.0.1.
        addresses = [host] if parse_address(host) else await self.lookup(host, port)
        # One blocked address refuses all: the client chooses which one it connects to.
        for address in addresses:
            self.rules.check_address(host, address)
        if not addresses:
            raise OSError("no address")
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 0, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port))
            for address in addresses
        ]

    async def send(
        self, target: Target, method: str, headers: Mapping[str, str], body: bytes | None, limit: int
    ) -> FetchResult:
        record_request(method, str(target.url), headers, body)
        try:
            return await self.exchange(target, method, headers, body, limit)
        except IncompleteResponse:
            raise UpstreamGarbled("The server's answer cannot be read. Try again later.") from None
        except ssl.SSLError:
            raise UpstreamRefused(
                f"Host {target.host[:100]!r} has no certificate that can be trusted. Check the address."
            ) from None
        except OSError:
            raise UpstreamRefused(
                f"Host {target.name!r} cannot be reached. Check the address, or try again later."
            ) from None

    async def exchange(
        self, target: Target, method: str, headers: Mapping[str, str], body: bytes | None, limit: int
    ) -> FetchResult:
        if body is None and method not in WITHOUT_BODY:
            body = b""
        elif body and "content-type" not in map(str.lower, headers):
            headers = {**headers, "Content-Type": "application/octet-stream"}
        head = format_request_head(method, target.url, headers)
        response = await self.clients.get(target.url).send(head, body, math.inf)
        try:
            await response.wait_for_head()
            return await read_result(response, str(target.url), limit)
        except IncompleteResponse:
            if response.head_received or not response.reused or method not in IDEMPOTENT:
                raise
        finally:
            response.close()
        return await self.exchange(target, method, headers, body, limit)

    def close(self) -> None:
        self.clients.close()


async def read_result(response: Response, url: str, limit: int) -> FetchResult:
    # Bytes beyond ASCII are UTF-8 in practice: file names, redirects.
    headers = {n: v.encode("latin-1").decode("utf-8", "surrogateescape") for n, v in response.headers.items()}
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise make_too_large_error(limit)
    data = await read_body(response.iter_body(), headers.get("content-encoding", ""), limit)
    return FetchResult(url, response.status, headers.get("content-type", ""), data, headers)
