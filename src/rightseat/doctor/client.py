"""HTTP client of the checks. Connection errors become Unreachable with a sentence for the report."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import aiohttp
from msgspec import Struct
from yarl import URL

PROBE_SECONDS = 120.0
REACH_SECONDS = 5.0


class Unreachable(Exception):
    """No reply; the message says why, in words for the report."""


class ProbeReply(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    first_byte_seconds: float
    """Seconds until the first byte of the body."""
    last_byte_seconds: float


class ProbeClient:
    """Sends requests to one server, with `key` as bearer token unless a request is anonymous."""

    def __init__(self, base: str, key: str | None = None) -> None:
        self.base = base.rstrip("/")
        self.key = key
        self.reused_connections = 0

    async def __aenter__(self) -> Self:
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(self._count_reuse)
        self._session = aiohttp.ClientSession(trace_configs=[trace], cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def _count_reuse(self, *_: object) -> None:
        self.reused_connections += 1

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        anonymous: bool = False,
        seconds: float = PROBE_SECONDS,
    ) -> ProbeReply:
        sent_headers = dict(headers or {})
        if self.key and not anonymous:
            sent_headers["Authorization"] = f"Bearer {self.key}"
        if body:
            sent_headers["Content-Type"] = "application/json"
        try:
            async with asyncio.timeout(seconds):
                return await self._send_once(method, path, body, sent_headers)
        except TimeoutError:
            raise Unreachable(f"no whole answer within {seconds:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(describe_error(error)) from None

    async def _send_once(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> ProbeReply:
        started = time.monotonic()
        first = None
        pieces = []
        url = URL(self.base + path)
        async with self._session.request(
            method, url, data=body or None, headers=headers, allow_redirects=False
        ) as response:
            async for piece in response.content.iter_any():
                first = first or time.monotonic()
                pieces.append(piece)
        last = time.monotonic()
        # Join repeated headers, as browsers do.
        joined_headers = {name.lower(): ", ".join(response.headers.getall(name)) for name in response.headers}
        return ProbeReply(response.status, joined_headers, b"".join(pieces), (first or last) - started, last - started)


def describe_error(error: Exception) -> str:
    """Describe a connection error without the URL, whose query may hold a secret."""
    match error:
        case aiohttp.InvalidURL():
            return "this is not an address that HTTP knows"
        case aiohttp.ClientConnectorDNSError():
            return "its name is not known to the DNS"
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLError():
            return "its certificate is not trusted here"
        case aiohttp.ClientSSLError():
            return "TLS failed: it may speak plain http"
        case aiohttp.ClientConnectorError():
            return "nothing listens there"
        case aiohttp.ClientResponseError():
            return "what answers there does not speak HTTP"
        case _:
            return "the connection was cut"
