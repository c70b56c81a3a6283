"""An HTTP/1.1 client with keep-alive for one server; responses stream."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import cast

from aiohappyeyeballs import start_connection
from yarl import URL

from rightseat.http.response import IncompleteResponse, Response

# Servers close idle connections after 5 s or more: one kept longer would often be gone.
IDLE_SECONDS = 15.0
# Delay before the next address of a host is tried in parallel (RFC 8305).
_HAPPY_EYEBALLS_DELAY = 0.25


class ConnectTimeout(TimeoutError):
    """No connection within `connect_timeout`."""


def format_request_head(method: str, url: URL, headers: Mapping[str, str]) -> bytes:
    """Format a request head up to the value of Content-Length, which `HttpClient.send` appends."""
    lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Content-Length: "]).encode("ascii")


class HttpClient:
    """A connection pool for one server; of `url` only scheme, host and port are used."""

    def __init__(self, url: URL, *, connect_timeout: float) -> None:
        self._url = url
        self._connect_timeout = connect_timeout
        self._tls: ssl.SSLContext | None = None
        self._connections: set[Connection] = set()
        self._idle: list[Connection] = []
        self._stale_timer: asyncio.TimerHandle | None = None

    async def send(self, head: bytes, body: bytes, deadline: float) -> Response:
        """Send a request and return its Response. Raises ConnectTimeout, or TimeoutError at `deadline`."""
        connection = self._take_idle() or await self._connect_before(deadline)
        return connection.send_request(b"%b%d\r\n\r\n%b" % (head, len(body), body))

    def close(self) -> None:
        if self._stale_timer is not None:
            self._stale_timer.cancel()
            self._stale_timer = None
        for connection in tuple(self._connections):
            connection.abort()

    def _take_idle(self) -> Connection | None:
        while self._idle:
            # The newest one: older ones time out and are closed.
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.abort()
        return None

    def add_idle(self, connection: Connection) -> None:
        connection.idle_since = connection.loop.time()
        self._idle.append(connection)
        if self._stale_timer is None:
            self._stale_timer = connection.loop.call_later(IDLE_SECONDS, self._close_stale, connection.loop)

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _close_stale(self, loop: asyncio.AbstractEventLoop) -> None:
        oldest = loop.time() - IDLE_SECONDS
        for connection in [one for one in self._idle if one.idle_since <= oldest]:
            connection.abort()
        self._stale_timer = loop.call_later(IDLE_SECONDS, self._close_stale, loop) if self._idle else None

    async def _connect_before(self, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        latest = loop.time() + self._connect_timeout
        try:
            async with asyncio.timeout_at(min(latest, deadline)):
                connection = await self._connect(loop)
        except TimeoutError as error:
            if latest <= deadline:
                raise ConnectTimeout from error
            raise
        self._connections.add(connection)
        return connection

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> Connection:
        host, port = self._url.raw_host, self._url.port
        try:
            address_infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError("no name that DNS could have") from error
        sock = await start_connection(address_infos, happy_eyeballs_delay=_HAPPY_EYEBALLS_DELAY)
        tls = self._tls_context() if self._url.scheme == "https" else None
        _, connection = await loop.create_connection(
            lambda: Connection(self, loop), sock=sock, ssl=tls, server_hostname=host if tls else None
        )
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class Connection(asyncio.Protocol):
    """One connection. During an exchange the Response is the transport's protocol instead."""

    def __init__(self, client: HttpClient, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.idle_since = 0.0
        self._client = client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio.Transport: isinstance does not work.
        self._transport = cast(asyncio.Transport, transport)

    @property
    def is_usable(self) -> bool:
        return not self._transport.is_closing()

    def send_request(self, request: bytes) -> Response:
        if not self.is_usable:
            raise IncompleteResponse("the connection was closed before it was used")
        response = Response(self._transport, self._on_released)
        self._transport.set_protocol(response)
        self._transport.write(request)
        return response

    def _on_released(self, reusable: bool) -> None:
        self._transport.set_protocol(self)
        # A server that answered before reading the whole request would take the rest for the next one.
        if reusable and self.is_usable and not self._transport.get_write_buffer_size():
            self._client.add_idle(self)
        else:
            self.abort()

    def abort(self) -> None:
        self._client.remove(self)
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        # Unsolicited bytes would become the start of the next response.
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.remove(self)
