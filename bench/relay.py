"""A bare relay on uvicorn, a process of its own: each answer of the upstream is copied as it comes, and nothing more.

It is what a leaving client is compared with: the same server, loop and parser as ours, without doors, runs or stores.
"""

import asyncio
import socket
import sys
from urllib.parse import urlsplit

import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

from bench.ready import write_address


class BareRelay:
    def __init__(self, upstream: str) -> None:
        to = urlsplit(upstream)
        self._host, self._port = to.hostname, to.port

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http"
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body, more = body + message["body"], message["more_body"]
        request = f"POST {scope['path']} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        copy = asyncio.create_task(self.copy_answer(request, send))
        leave = asyncio.create_task(_wait_for_disconnect(receive))
        await asyncio.wait([copy, leave], return_when=asyncio.FIRST_COMPLETED)
        for task in (copy, leave):
            task.cancel()

    async def copy_answer(self, request: bytes, send: ASGISendCallable) -> None:
        """Send the head of the upstream's answer and its body piece by piece; close the upstream at any end."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            chunked = b"transfer-encoding: chunked" in head
            fields = [line.partition(b": ") for line in head.splitlines()[1:-1] if b"transfer" not in line]
            headers = [(name, value) for name, _, value in fields]
            status = int(head.split()[1])
            await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
            while data := await (_read_chunk(reader) if chunked else reader.read(65536)):
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            writer.transport.abort()


async def _read_chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await reader.readuntil(b"\r\n"), 16)
    return (await reader.readexactly(size + 2))[:-2]


async def _wait_for_disconnect(receive: ASGIReceiveCallable) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def main() -> None:
    bound = socket.create_server(("127.0.0.1", 0), backlog=2048)
    # The socket listens already: whoever comes now is served in a moment.
    write_address(f"http://127.0.0.1:{bound.getsockname()[1]}")
    config = uvicorn.Config(
        BareRelay(sys.argv[1]), loop="uvloop", http="httptools", lifespan="off", log_level="error", access_log=False
    )
    uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
