"""A relay between a client and the server that knows when a comment has gone to the client."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

from rightseat.http.sse import KEEP_ALIVE_COMMENT
from tests.kit.timeouts import HANG_TIMEOUT

STREAM_FIELD = re.compile(rb'"stream":\s*true')


class CommentRelay:
    """Relayed bytes of all connections. `comments` is the number of comments that clients were sent so far."""

    def __init__(self) -> None:
        self.url = ""
        self.comments = 0
        self.passed = asyncio.Event()
        self.request = b""
        self.is_answering = False

    def add_request(self, data: bytes) -> None:
        if self.is_answering:
            self.request = b""
            self.is_answering = False
            self.passed.clear()
        self.request += data

    def add_response(self, data: bytes) -> None:
        self.is_answering = True
        # The server writes a comment in one piece.
        if KEEP_ALIVE_COMMENT in data:
            self.comments += 1
            self.passed.set()

    async def wait_for_comment(self) -> None:
        """Wait until a comment of the last request was sent; no wait for a request of a whole answer."""
        if STREAM_FIELD.search(self.request):
            await asyncio.wait_for(self.passed.wait(), HANG_TIMEOUT)


async def copy_bytes(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_data: Callable[[bytes], None]
) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            on_data(data)
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def start_relay(server_url: str) -> AsyncIterator[CommentRelay]:
    relay = CommentRelay()
    target = urlsplit(server_url)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(target.hostname, target.port)
        await asyncio.gather(
            copy_bytes(reader, server_writer, relay.add_request), copy_bytes(server_reader, writer, relay.add_response)
        )

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as listener:
        relay.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        yield relay
