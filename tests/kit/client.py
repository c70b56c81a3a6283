"""A raw-socket HTTP client: exact bytes out, pieces as they come in, and two ways to leave."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar
from urllib.parse import urlsplit

from tests.kit.timeouts import HANG_TIMEOUT

Part = TypeVar("Part")


class TruncatedResponse(ConnectionError):
    """The server closed before the answer was whole."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    status: int
    headers: dict[str, str]
    """Lower-case names; a repeated header is joined with a comma."""


@dataclass(frozen=True, slots=True)
class SseFrame:
    """One SSE frame; a comment alone is a frame with no data."""

    data: str | None
    event: str | None = None
    id: str | None = None
    comment: str | None = None

    @property
    def json(self) -> Any:
        assert self.data is not None
        return json.loads(self.data)


def build_raw_request(
    method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None, host: str = "127.0.0.1"
) -> bytes:
    """A plain request; a test that wants a crooked one writes its bytes itself."""
    fields = {"Host": host, "Content-Length": str(len(body)), **(headers or {})}
    lines = [f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in fields.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


@dataclass(frozen=True, slots=True)
class ReadIterator(Generic[Part]):
    """Not a generator: a test may leave the loop at any time, and there is nothing to close."""

    read_next: Callable[[], Awaitable[Part | None]]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Part:
        if (part := await self.read_next()) is None or part == b"":
            raise StopAsyncIteration
        return part


class RawHttpClient:
    """One connection. Every read waits at most `timeout` seconds, then raises TimeoutError."""

    def __init__(self, url: str, *, rcvbuf: int | None = None, timeout: float = HANG_TIMEOUT) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._rcvbuf = rcvbuf
        self.timeout = timeout
        self._buffer = b""
        self._socket: socket.socket | None = None
        self._chunked = False
        self._remaining: int | None = None
        self._sse_buffer = b""

    async def __aenter__(self) -> Self:
        connection = socket.socket()
        connection.setblocking(False)
        if self._rcvbuf is not None:
            # Before connect: the window is agreed in the handshake.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._rcvbuf)
        self._socket = connection
        with contextlib.ExitStack() as unless_connected:
            unless_connected.callback(self.close)
            await asyncio.get_running_loop().sock_connect(connection, self._address)
            unless_connected.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(self.timeout):
            await asyncio.get_running_loop().sock_sendall(self._connected_socket(), data)

    async def post_json(self, target: str, value: object, headers: Mapping[str, str] | None = None) -> None:
        fields = {"Content-Type": "application/json", **(headers or {})}
        await self.send(build_raw_request("POST", target, json.dumps(value).encode(), fields))

    async def get(self, target: str, headers: Mapping[str, str] | None = None) -> None:
        await self.send(build_raw_request("GET", target, headers=headers))

    async def read_head(self) -> ResponseHead:
        while b"\r\n\r\n" not in self._buffer:
            await self._receive()
        block, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = block.decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for name, _, value in (line.partition(":") for line in lines):
            key = name.strip().lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self._remaining = int(headers["content-length"]) if "content-length" in headers else None
        self._sse_buffer = b""
        return ResponseHead(int(first.split(" ")[1]), headers)

    async def read_piece(self) -> bytes:
        """What comes next of the body, without transfer chunks; b"" at its end, Closed when cut short."""
        if self._chunked:
            return await self._read_chunk()
        if self._remaining is None:
            return await self.read()
        if self._remaining and not self._buffer:
            await self._receive()
        piece, self._buffer = self._buffer[: self._remaining], self._buffer[self._remaining :]
        self._remaining -= len(piece)
        return piece

    async def read_frame(self) -> SseFrame | None:
        """The next SSE frame or comment; None at the end, Closed when half a frame stands there."""
        while True:
            self._sse_buffer = self._sse_buffer.replace(b"\r\n", b"\n")
            block, mark, rest = self._sse_buffer.partition(b"\n\n")
            if mark:
                self._sse_buffer = rest
                return parse_frame(block.decode())
            if not (piece := await self.read_piece()):
                break
            self._sse_buffer += piece
        if self._sse_buffer:
            raise TruncatedResponse(f"half a frame at the end: {self._sse_buffer!r}")
        return None

    def iterate_pieces(self) -> "ReadIterator[bytes]":
        return ReadIterator(self.read_piece)

    def iterate_frames(self) -> "ReadIterator[SseFrame]":
        return ReadIterator(self.read_frame)

    async def read_body(self) -> bytes:
        return b"".join([piece async for piece in self.iterate_pieces()])

    async def read_json(self) -> Any:
        return json.loads(await self.read_body())

    async def read(self) -> bytes:
        """What has come, or b"" at the end of the connection."""
        if self._buffer:
            data, self._buffer = self._buffer, b""
            return data
        async with asyncio.timeout(self.timeout):
            return await asyncio.get_running_loop().sock_recv(self._connected_socket(), 65536)

    async def read_or_reset(self) -> bytes:
        """As `read`, but a reset counts as the end."""
        try:
            return await self.read()
        except ConnectionResetError:
            return b""

    def close(self) -> None:
        """FIN, as a browser that closes the tab."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def reset(self) -> None:
        """RST, as a machine that loses its process."""
        self._connected_socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    async def _read_chunk(self) -> bytes:
        size = int((await self._read_until(b"\r\n")).split(b";")[0], 16)
        while len(self._buffer) < size + 2:
            await self._receive()
        piece, self._buffer = self._buffer[:size], self._buffer[size + 2 :]
        return piece

    async def _read_until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            await self._receive()
        data, _, self._buffer = self._buffer.partition(mark)
        return data

    async def _receive(self) -> None:
        async with asyncio.timeout(self.timeout):
            data = await asyncio.get_running_loop().sock_recv(self._connected_socket(), 65536)
        if not data:
            raise TruncatedResponse(f"the server closed; {len(self._buffer)} bytes of an unfinished answer are left")
        self._buffer += data

    def _connected_socket(self) -> socket.socket:
        assert self._socket is not None, "the client is closed"
        return self._socket


def parse_frame(block: str) -> SseFrame:
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        key = name or "comment"
        fields[key] = f"{fields[key]}\n{value}" if key in fields else value
    return SseFrame(fields.get("data"), fields.get("event"), fields.get("id"), fields.get("comment"))
