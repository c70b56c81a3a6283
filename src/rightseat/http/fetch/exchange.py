"""One request through aiohttp, over connections that can only go to checked addresses.

Reads a response body within a limit, measured before and after decompression (gzip bombs).
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict

from rightseat.errors import AddressRefused, UpstreamGarbled, UpstreamRefused, UpstreamTooLarge
from rightseat.http.fetch.fetch import record_request
from rightseat.http.fetch.rules import AddressNotPublic, AddressRules
from rightseat.http.fetch.target import Target

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
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UpstreamGarbled("The server uses an unsupported compression. Use another URL.")
    decompressor = None if encoding in ("", "identity") else Decompressor()
    parts: list[bytes] = []
    packed = size = 0
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
        parts.append(chunk)
    if decompressor is not None and packed and not decompressor.zlib_object.eof:
        raise UpstreamGarbled("The server's answer ended in the middle. Try again later.")
    return b"".join(parts)


def make_too_large_error(limit: int) -> UpstreamTooLarge:
    return UpstreamTooLarge(f"The server's answer is larger than {limit} bytes. Ask for less of it.")


Resolve = Callable[[str, int], Awaitable[list[str]]]
CONNECT_SECONDS = 10
CHUNK = 64 << 10


class AddressBlocked(PermissionError):
    """An OSError, because aiohttp passes only these through unchanged."""


class FetchReply:
    """Status, headers and the whole body of one exchange."""

    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.status = status
        self.headers = headers
        self.data = data


async def resolve_by_system(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    address_infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(info[4][0]) for info in address_infos]


class CheckedResolver(AbstractResolver):
    """Resolves once and returns only checked addresses, so that DNS rebinding has no effect."""

    def __init__(self, rules: AddressRules, resolve: Resolve) -> None:
        self.rules = rules
        self.lookup = resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        addresses = await self.lookup(host, port)
        # One blocked address refuses all: aiohttp chooses which one it connects to.
        for address in addresses:
            self.rules.check_address(host, address)
        if not addresses:
            raise OSError("no address")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Nothing to release."""


class FetchSession:
    """An aiohttp session without proxies, cookies and redirects."""

    def __init__(self, rules: AddressRules, resolve: Resolve) -> None:
        self.rules = rules
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=CheckedResolver(rules, resolve), use_dns_cache=False, socket_factory=self.make_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            trust_env=False,
            # `read_body` decompresses within a limit.
            auto_decompress=False,
        )

    def make_socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        """Make a socket for a connection; raises AddressBlocked for an address that no rule allows."""
        family, kind, protocol, _, address = info
        if not self.rules.is_reachable(str(address[0])):
            raise AddressBlocked
        return socket.socket(family, kind, protocol)

    async def send(
        self, target: Target, method: str, headers: Mapping[str, str], body: bytes | None, limit: int
    ) -> FetchReply:
        record_request(method, str(target.url), headers, body)
        try:
            async with self.session.request(
                method,
                target.url,
                headers=CIMultiDict(headers),
                data=body,
                allow_redirects=False,
                skip_auto_headers=("Content-Type",) if body is None else (),
            ) as response:
                if (response.content_length or 0) > limit:
                    raise make_too_large_error(limit)
                encoding = response.headers.get("Content-Encoding", "")
                data = await read_body(response.content.iter_chunked(CHUNK), encoding, limit)
                return FetchReply(response.status, response.headers, data)
        except (aiohttp.ClientConnectorError, aiohttp.ClientConnectionResetError, OSError) as error:
            raise make_unreachable_error(target.host, error) from None
        except aiohttp.ClientError:
            raise UpstreamGarbled("The server's answer cannot be read. Try again later.") from None

    async def close(self) -> None:
        await self.session.close()


def make_unreachable_error(host: str, error: Exception) -> UpstreamRefused | AddressRefused:
    if isinstance(getattr(error, "os_error", error), AddressBlocked):
        return AddressNotPublic(host)
    if isinstance(error, aiohttp.ClientSSLError):
        return UpstreamRefused(f"Host {host[:100]!r} has no certificate that can be trusted. Check the address.")
    return UpstreamRefused(f"Host {host[:100]!r} cannot be reached. Check the address, or try again later.")
