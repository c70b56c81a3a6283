"""A server that writes exactly the bytes it is told to, and a client for it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import SSLContext

from yarl import URL

from rightseat.http.client import HttpClient, Response, format_request_head
from tests.kit.timeouts import HANG_TIMEOUT

WriteReply = Callable[[asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """`reply` answers each request; `requests` holds what came, by connection."""

    def __init__(self) -> None:
        self.requests: list[list[bytes]] = []
        self.reply: WriteReply = make_reply(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.disconnects = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received: list[bytes] = []
        self.requests.append(received)
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                received.append(head + await reader.readexactly(size))
                await self.reply(writer)
        except (asyncio.IncompleteReadError, OSError):
            self.disconnects += 1
        finally:
            writer.close()

    def close_connections(self) -> None:
        for writer in self._writers:
            writer.close()


def make_reply(*pieces: bytes, end: bool = False) -> WriteReply:
    """Each piece by itself; with `end` the connection is closed after them."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            # So that the client reads it before the next.
            await asyncio.sleep(0)
        if end:
            writer.close()

    return reply


@asynccontextmanager
async def serve_raw(
    *, tls: SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[tuple[RawServer, HttpClient, URL]]:
    server = RawServer()
    listener = await asyncio.start_server(server.handle_connection, host, 0, ssl=tls)
    scheme = "https" if tls else "http"
    url = URL.build(scheme=scheme, host=host, port=listener.sockets[0].getsockname()[1], path="/v1/x")
    client = HttpClient(url, connect_timeout=HANG_TIMEOUT)
    try:
        yield server, client, url
    finally:
        client.close()
        server.close_connections()
        listener.close()


async def send_request(client: HttpClient, url: URL, body: bytes = b"{}") -> Response:
    """An answer whose head is there."""
    deadline = asyncio.get_running_loop().time() + HANG_TIMEOUT
    response = await client.send(format_request_head("POST", url, {"X-A": "b"}), body, deadline)
    try:
        await response.wait_for_head()
    except BaseException:
        response.close()
        raise
    return response


async def fetch_body(client: HttpClient, url: URL) -> bytes:
    response = await send_request(client, url)
    try:
        return await response.read_body(1 << 20)
    finally:
        response.close()
