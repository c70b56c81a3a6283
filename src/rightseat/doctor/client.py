"""HTTP client of the checks. Connection errors become Unreachable with a sentence for the report."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
import time
from collections.abc import Mapping

from msgspec import Struct
from yarl import URL

from rightseat.errors import RightseatError
from rightseat.http.client import HttpClients, IncompleteResponse, InvalidHttpResponse, Response, format_request_head
from rightseat.http.fetch.exchange import decode_body
from rightseat.types.streams import closing

PROBE_SECONDS = 120.0
REACH_SECONDS = 5.0
MAX_BODY = 1 << 30
# Compression as a browser takes it: a proxy that compresses may buffer a stream.
DEFAULT_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "rightseat"}


class ProbeReply(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    first_byte_seconds: float
    """Seconds until the first byte of the body."""
    last_byte_seconds: float


class Unreachable(Exception):
    """No whole reply; the message says why, in words for the report. `partial` is what came of it."""

    def __init__(self, why: str, partial: ProbeReply | None = None) -> None:
        super().__init__(why)
        self.partial = partial


class ReplyBuffer:
    """Collects a reply, so that what came before a cut is there too."""

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.first_byte_at = 0.0
        self.response: Response | None = None
        self.pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self.first_byte_at = self.first_byte_at or time.monotonic()
        self.pieces.append(piece)

    def make_reply(self) -> ProbeReply | None:
        """Return the reply so far; None before its head."""
        if self.response is None:
            return None
        end = time.monotonic()
        first, last = (self.first_byte_at or end) - self.started_at, end - self.started_at
        return ProbeReply(self.response.status, self.response.headers, b"".join(self.pieces), first, last)


class ProbeClient:
    """Sends requests to one server, with `key` as bearer token unless a request is anonymous. Holds connections: close
    it."""

    def __init__(self, base: str, key: str | None = None) -> None:
        self.base = base.rstrip("/")
        self.key = key
        self.reused_connections = 0
        self._clients = HttpClients(connect_timeout=PROBE_SECONDS)

    def close(self) -> None:
        self._clients.close()

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
        sent_headers = {**DEFAULT_HEADERS, **(headers or {})}
        if self.key and not anonymous:
            sent_headers["Authorization"] = f"Bearer {self.key}"
        if body:
            sent_headers["Content-Type"] = "application/json"
        buffer = ReplyBuffer()
        try:
            async with asyncio.timeout(seconds):
                return await self._send_once(method, path, body, sent_headers, buffer)
        except TimeoutError:
            raise Unreachable(f"no whole answer within {seconds:g} s", buffer.make_reply()) from None
        except (OSError, ValueError, RightseatError) as error:
            raise Unreachable(describe_error(error), buffer.make_reply()) from None

    async def _send_once(
        self, method: str, path: str, body: bytes, headers: dict[str, str], buffer: ReplyBuffer
    ) -> ProbeReply:
        url = URL(self.base + path)
        head = format_request_head(method, url, headers)
        response = await self._clients.get(url).send(head, body or None, math.inf)
        try:
            await response.wait_for_head()
            buffer.response = response
            self.reused_connections += response.reused
            encoding = response.headers.get("content-encoding", "")
            # After decompression: a compressor that holds back the text may send its header at once.
            async with closing(decode_body(response.iter_body(), encoding, MAX_BODY)) as pieces:
                async for piece in pieces:
                    buffer.add(piece)
        finally:
            response.close()
        reply = buffer.make_reply()
        assert reply is not None
        return reply


def describe_error(error: Exception) -> str:
    """Describe a connection error without the URL, whose query may hold a secret."""
    match error:
        case ssl.SSLCertVerificationError():
            return "its certificate is not trusted here"
        case ssl.SSLError():
            return "TLS failed: it may speak plain http"
        case socket.gaierror():
            return "its name is not known to the DNS"
        case InvalidHttpResponse():
            return "what answers there does not speak HTTP"
        case IncompleteResponse():
            return "the connection was cut"
        case RightseatError():
            return error.message
        case OSError():
            return "nothing listens there"
        case _:
            return "this is not an address that HTTP knows"
