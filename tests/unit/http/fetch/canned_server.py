"""`Served`: a server on a loopback address of choice that answers with given bytes and records requests."""

import asyncio
import ssl
from types import TracebackType
from typing import Self


def format_response(body: bytes = b"ok", *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body


def format_redirect(location: str, status: str = "302 Found") -> bytes:
    return format_response(b"", f"Location: {location}", status=status)


class CannedServer:
    """Gives `answers[path]`, else `ok`. `requests` holds each head and what came after it."""

    def __init__(
        self, host: str = "127.0.0.1", responses: dict[str, bytes] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.host = host
        self.responses = responses or {}
        self.tls = tls
        self.requests: list[str] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._on_connect, self.host, 0, ssl=self.tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}"

    def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._handle_connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(
                (line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")), "0"
            )
            body = (await reader.readexactly(int(length))).decode()
            self.requests.append(head + body)
            path = head.split(" ")[1]
            response = self.responses.get(path, format_response())
            writer.write(response)
            await writer.drain()
            if path == "/hangs":
                await asyncio.Event().wait()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
