"""An HTTP/1.1 client with keep-alive; responses stream. Checks of a server's URL and headers as configured."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache, partial
from typing import cast
from weakref import WeakValueDictionary

import httptools
from aiohappyeyeballs import AddrInfoType, start_connection
from yarl import URL

from rightseat.errors import CallerError, ConfigError
from rightseat.http.idle import NEVER
from rightseat.types.streams import closing

MAX_HEAD = 64 << 10
# What a header costs beside its text, as HTTP/2 counts it: many short ones are joined in quadratic time.
HEADER_COST = 32
# Repeated, the first one counts; other headers are joined.
SINGLE_HEADERS = frozenset(("content-encoding", "content-type", "location", "retry-after"))
LINE_BREAK = re.compile(r"[\r\n\0]")

# Untaken body bytes at which reading from the server pauses.
MAX_BUFFERED = 128 << 10


class IncompleteResponse(OSError):
    """The connection ended before the response did."""


class InvalidHttpResponse(IncompleteResponse):
    """The server sent invalid HTTP."""


class Response(asyncio.Protocol):
    """A response being received; also the transport's protocol and the parser's callbacks.

    `ready`: there is body to take, or the response has ended. `ended`: nothing more comes. `complete`: the
    response arrived whole. `waiting_since`: when the reader began to wait, else NEVER.
    Names in `headers` are lower case, repeated headers are joined. `reused`: the connection had carried a request
    before. The reader calls `close` when done; `release` then receives whether the connection can be reused.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        release: Callable[[bool], None],
        *,
        reused: bool = False,
        has_body: bool = True,
    ) -> None:
        self.reused = reused
        self.status = 0
        self.headers: dict[str, str] = {}
        self.head_received = False
        self.ready = False
        self.ended = False
        self.complete = False
        self.waiting_since = NEVER
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._release: Callable[[bool], None] | None = release
        self._has_body = has_body
        self._invalid = False
        self._head_size = 0
        self._header_size = 0
        self._keep_alive = False
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        # The parser calls this for every chunk: bound to list.append for speed.
        self.on_body = self._chunks.append
        parser = httptools.HttpResponseParser(self)
        # Lenient as browsers are: a connection serves one origin, which can confuse only itself.
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._parser: httptools.HttpResponseParser | None = parser

    # The reader's side

    async def wait_for_head(self) -> None:
        """Wait for status and headers; raises IncompleteResponse or InvalidHttpResponse."""
        while not (self.head_received or self.ended):
            await self.next_arrival()
        if not self.head_received:
            raise self._make_error()

    def next_arrival(self) -> asyncio.Future[None]:
        """Return a future that is done at the next change of state, `ready` or not. One reader at a time."""
        loop = self._loop
        if self.waiting_since == NEVER:
            self.waiting_since = loop.time()
        self._waiter = waiter = loop.create_future()
        return waiter

    def take_body(self) -> bytes:
        """Return the body received since the last call."""
        pieces = self._chunks
        self.ready = self.ended
        self.waiting_since = NEVER
        if len(pieces) == 1 and not self._buffered:
            return pieces.pop()
        data = b"".join(pieces)
        pieces.clear()
        self._buffered = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def iter_body(self) -> AsyncIterator[bytes]:
        """Yield the rest of the body as it arrives; raises IncompleteResponse."""
        ended = False
        while not ended:
            if not self.ready:
                await self.next_arrival()
            ended = self.ended
            if data := self.take_body():
                yield data
        if not self.complete:
            raise self._make_error()

    async def read_body(self, limit: int) -> bytes:
        """Read the rest of the body, or until `limit` bytes are reached; raises IncompleteResponse."""
        data = bytearray()
        async with closing(self.iter_body()) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) >= limit:
                    break
        return bytes(data)

    def abort(self) -> None:
        """Abort the connection and wake the reader."""
        self._transport.abort()
        self._end()

    def close(self) -> None:
        """Release the connection: reusable if the response is complete, else aborted."""
        release, self._release = self._release, None
        if release is not None:
            self._end()
            release(self.complete and self._keep_alive)

    # The transport's side

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if parser is None:
            return
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # After a complete response this spoils the connection only.
            self._keep_alive = False
            self._end_invalid()
        if not self.head_received:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD:
                self._end_invalid()
        if self._chunks:
            self.ready = True
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)
        elif self.head_received:
            # No reader is waiting: count it as buffered.
            self._buffered += len(data)
            if self._buffered > MAX_BUFFERED and not self._paused:
                self._paused = True
                self._transport.pause_reading()

    def eof_received(self) -> None:
        """End the response; EOF completes a body that has no declared length."""
        coding = self.headers.get("transfer-encoding")
        sized = "content-length" in self.headers if coding is None else coding.lower().endswith("chunked")
        self.complete |= self.head_received and not sized
        self._keep_alive = False
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._keep_alive = False
        self._end()

    def _end(self) -> None:
        """Mark the response as ended; one that is not `complete` by now is broken."""
        self.ended = self.ready = True
        self._parser = None
        self._wake()

    def _end_invalid(self) -> None:
        self._invalid = not self.complete
        self._end()

    def _make_error(self) -> IncompleteResponse:
        if self._invalid:
            return InvalidHttpResponse("what came is not HTTP")
        return IncompleteResponse("the connection was closed")

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # The parser's callbacks

    def on_message_begin(self) -> None:
        if self.complete:
            raise InvalidHttpResponse("a second answer to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come by the same callback, after the head.
        if self.head_received:
            return
        self._header_size += len(name) + len(value) + HEADER_COST
        if self._header_size > MAX_HEAD:
            raise InvalidHttpResponse("too many headers")
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key not in self.headers:
            self.headers[key] = text
        elif key not in SINGLE_HEADERS:
            self.headers[key] += f", {text}"

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:
            # An interim (1xx) response: the final one follows.
            self.headers.clear()
            return
        self.status = status
        self.head_received = True
        self._keep_alive = self._has_body and self._parser.should_keep_alive()
        if not self._has_body:
            # The parser would take the length of the body that GET would have got for that of this one.
            self.complete = self.ended = self.ready = True

    def on_message_complete(self) -> None:
        if self.head_received:
            self.complete = self.ended = self.ready = True


# Servers close idle connections after 5 s or more: one kept longer would often be gone.
IDLE_SECONDS = 15.0

# Delay before the next address of a host is tried in parallel (RFC 8305).
_HAPPY_EYEBALLS_DELAY = 0.25


class ConnectTimeout(TimeoutError):
    """No connection within `connect_timeout`."""


def format_request_head(method: str, url: URL, headers: Mapping[str, str]) -> bytes:
    """Format a request head without Content-Length, which `HttpClient.send` appends. Raises CallerError for a header
    that would add lines: values of a model or a client may be among them."""
    lines = [f"{method} {url.raw_path_qs} HTTP/1.1", f"Host: {url.host_port_subcomponent}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if url.user is not None and "authorization" not in map(str.lower, headers):
        credentials = base64.b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
        lines.append(f"Authorization: Basic {credentials}")
    if LINE_BREAK.search("".join(lines)):
        raise CallerError("A header of this request has a line break. Remove it.")
    return "\r\n".join([*lines, ""]).encode()


async def resolve_host(host: str, port: int) -> list[AddrInfoType]:
    loop = asyncio.get_running_loop()
    try:
        return [*await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "no name that DNS could have") from error


@cache
def make_tls_context() -> ssl.SSLContext:
    """Make the context of all clients. It reads the certificates of this machine, which takes long: not on the loop."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


Resolve = Callable[[str, int], Awaitable[list[AddrInfoType]]]


class HttpClient:
    """A connection pool for one server; of `url` only scheme, host and port are used. Connections are made to the
    addresses that `resolve` returns and to no other."""

    def __init__(self, url: URL, *, connect_timeout: float, resolve: Resolve = resolve_host) -> None:
        self._url = url
        self._resolve = resolve
        self.connect_timeout = connect_timeout
        self._connections: set[Connection] = set()
        self._idle: list[Connection] = []
        self._stale_timer: asyncio.TimerHandle | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port of the server, without credentials."""
        return str(self._url.origin())

    async def send(self, head: bytes, body: bytes | None, deadline: float) -> Response:
        """Send a request and return its Response. Raises ConnectTimeout, or TimeoutError at `deadline`.

        Without a body (None) there is no Content-Length: some servers refuse a GET that has one.
        """
        connection = self._take_idle() or await self._connect_before(deadline)
        rest = b"\r\n" if body is None else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        return connection.send_request(head + rest)

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
            if connection.loop is not asyncio.get_running_loop():
                # Of a loop that has ended, as after `asyncio.run`: nothing can be done with it any more.
                self._connections.discard(connection)
                self._stale_timer = None
            elif connection.is_usable:
                return connection
            else:
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
        for connection in [connection for connection in self._idle if connection.idle_since <= oldest]:
            connection.abort()
        self._stale_timer = loop.call_later(IDLE_SECONDS, self._close_stale, loop) if self._idle else None

    async def _connect_before(self, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        latest = loop.time() + self.connect_timeout
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
        host = self._url.raw_host or ""
        address_infos = await self._resolve(host, self._url.port or 0)
        sock = await start_connection(address_infos, happy_eyeballs_delay=_HAPPY_EYEBALLS_DELAY)
        tls = await asyncio.to_thread(make_tls_context) if self._url.scheme == "https" else None
        _, connection = await loop.create_connection(
            lambda: Connection(self, loop, sock), sock=sock, ssl=tls, server_hostname=host if tls else None
        )
        return connection


class HttpClients:
    """An HttpClient for each server of any URL. Its connections keep a client alive, so that servers which are no
    longer called are forgotten."""

    def __init__(self, *, connect_timeout: float, resolve: Resolve = resolve_host) -> None:
        self._clients: WeakValueDictionary[URL, HttpClient] = WeakValueDictionary()
        self._make_client = partial(HttpClient, connect_timeout=connect_timeout, resolve=resolve)

    def get(self, url: URL) -> HttpClient:
        """Return the client of the URL's server; raises ValueError for other than http and https."""
        origin = url.origin()
        if origin.scheme not in ("http", "https"):
            raise ValueError("an HTTP client takes http and https only")
        client = self._clients.get(origin)
        if client is None:
            client = self._clients[origin] = self._make_client(origin)
        return client

    def close(self) -> None:
        for client in list(self._clients.values()):
            client.close()


class Connection(asyncio.Protocol):
    """One connection. During an exchange the Response is the transport's protocol instead."""

    def __init__(self, client: HttpClient, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        self.loop = loop
        self._sock = sock
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
        has_body = not request.startswith(b"HEAD ")
        response = Response(self._transport, self._on_released, reused=self.idle_since > 0, has_body=has_body)
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
        # The transport closes the socket in a later turn of the loop, after all that waits in this one: the server
        # must not go on for so long when many clients leave at once.
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        # Unsolicited bytes would become the start of the next response.
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.remove(self)


def parse_base_url(text: str, label: str) -> URL:
    """Parse an http(s) URL; ConfigError names `label`. Credentials in it are refused: they reach logs."""
    try:
        url = URL(text)
        port = url.port
    except ValueError as error:
        raise ConfigError(f"{label} is not an address: it looks like http://127.0.0.1:8080") from error
    if url.scheme not in ("http", "https") or not url.host or not port:
        raise ConfigError(f"{label} must begin with http:// or https:// and name a host.")
    if url.user or url.password:
        raise ConfigError(f"{label} must not contain a user or a password: give the key as api_key.")
    return url.with_fragment(None)


def parse_host(text: str) -> str:
    """Return the host of a URL, or "" where the URL is invalid (`parse_base_url` raises for that)."""
    try:
        return URL(text).host or ""
    except ValueError:
        return ""


def check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise ConfigError(
                f"The header {name!r} (api_key, headers) has a character that HTTP headers cannot contain. Remove it."
            )
