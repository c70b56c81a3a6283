"""An HTTP/1.1 client with keep-alive for one server; responses stream."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from typing import cast

from aiohappyeyeballs import start_connection
from yarl import URL

from rightseat.http.response import Cut, Response

# Servers close idle connections after 5 s or more: one kept longer would often be gone.
KEPT_SECONDS = 15.0
# Delay before the next address of a host is tried in parallel (RFC 8305).
_NEXT_ADDRESS = 0.25


class ConnectTimeout(TimeoutError):
    """No connection within `connect_timeout`."""


def request_head(method: str, url: URL, headers: Mapping[str, str]) -> bytes:
    """Format a request head up to the value of Content-Length, which `HttpClient.send` appends."""
    lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Content-Length: "]).encode("ascii")


class Client:
    """A connection pool for one server; of `url` only scheme, host and port are used."""

    def __init__(self, url: URL, *, connect_timeout: float) -> None:
        self._url = url
        self._connect_timeout = connect_timeout
        self._tls: ssl.SSLContext | None = None
        self._all: set[Connection] = set()
        self._idle: list[Connection] = []
        self._sweeper: asyncio.TimerHandle | None = None

    async def send(self, head: bytes, body: bytes, deadline: float) -> Response:
        """Send a request and return its Response. Raises ConnectTimeout, or TimeoutError at `deadline`."""
        connection = self._kept() or await self._dialled(deadline)
        return connection.ask(b"%b%d\r\n\r\n%b" % (head, len(body), body))

    def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        for connection in tuple(self._all):
            connection.abort()

    def _kept(self) -> Connection | None:
        while self._idle:
            # The newest one: older ones time out and are closed.
            connection = self._idle.pop()
            if connection.usable:
                return connection
            connection.abort()
        return None

    def keep(self, connection: Connection) -> None:
        connection.kept_at = connection.loop.time()
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = connection.loop.call_later(KEPT_SECONDS, self._sweep, connection.loop)

    def forget(self, connection: Connection) -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        oldest = loop.time() - KEPT_SECONDS
        for connection in [one for one in self._idle if one.kept_at <= oldest]:
            connection.abort()
        self._sweeper = loop.call_later(KEPT_SECONDS, self._sweep, loop) if self._idle else None

    async def _dialled(self, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        latest = loop.time() + self._connect_timeout
        try:
            async with asyncio.timeout_at(min(latest, deadline)):
                connection = await self._dial(loop)
        except TimeoutError as error:
            if latest <= deadline:
                raise ConnectTimeout from error
            raise
        self._all.add(connection)
        return connection

    async def _dial(self, loop: asyncio.AbstractEventLoop) -> Connection:
        host, port = self._url.raw_host, self._url.port
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise OSError("no name that DNS could have") from error
        plain = await start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS)
        tls = self._context() if self._url.scheme == "https" else None
        _, connection = await loop.create_connection(
            lambda: Connection(self, loop), sock=plain, ssl=tls, server_hostname=host if tls else None
        )
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class Connection(asyncio.Protocol):
    """One connection. During an exchange the Response is the transport's protocol instead."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.kept_at = 0.0
        self._client = client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio.Transport: isinstance does not work.
        self._transport = cast(asyncio.Transport, transport)

    @property
    def usable(self) -> bool:
        return not self._transport.is_closing()

    def ask(self, request: bytes) -> Response:
        if not self.usable:
            raise Cut("the connection was closed before it was used")
        response = Response(self._transport, self._released)
        self._transport.set_protocol(response)
        self._transport.write(request)
        return response

    def _released(self, reusable: bool) -> None:
        self._transport.set_protocol(self)
        # A server that answered before reading the whole request would take the rest for the next one.
        if reusable and self.usable and not self._transport.get_write_buffer_size():
            self._client.keep(self)
        else:
            self.abort()

    def abort(self) -> None:
        self._client.forget(self)
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        # Unsolicited bytes would become the start of the next response.
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.forget(self)
