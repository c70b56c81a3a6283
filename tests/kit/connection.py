"""One connection of the fault upstream: reads requests, writes what it is told, sees the peer leave."""

import asyncio
import fcntl
import json
import socket
import struct
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tests.kit.chunks import Json

REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 404: "Not Found"}


@dataclass(slots=True)
class ReceivedRequest:
    """A request as it came, and what became of its answer."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    received_at: float
    bytes_sent: int = 0
    abandoned_at: float | None = None
    """When the peer closed while the answer was still under way."""
    answered: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def stream(self) -> bool:
        """Whether it asks for a stream: in its body, or in its address as Google has it."""
        return self.target.endswith("alt=sse") or (bool(self.body) and self.json.get("stream") is True)

    @property
    def messages(self) -> list[Json]:
        messages: list[Json] = self.json.get("messages", []) if self.body else []
        return messages

    def last_user_text(self) -> str:
        for message in reversed(self.messages):
            if message.get("role") == "user":
                content = message.get("content") or ""
                return content if isinstance(content, str) else json.dumps(content)
        return ""


def parse_request(buffer: bytes, received_at: float) -> tuple[ReceivedRequest, int] | None:
    """The first whole request in the buffer and its length, or None when more bytes are needed."""
    head, mark, _ = buffer.partition(b"\r\n\r\n")
    if not mark:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ", 2)
    headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    start = len(head) + 4
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = decode_chunked(buffer[start:])
        if body is None:
            return None
        return ReceivedRequest(method, target, headers, body[0], received_at), start + body[1]
    end = start + int(headers.get("content-length", "0"))
    if len(buffer) < end:
        return None
    return ReceivedRequest(method, target, headers, buffer[start:end], received_at), end


def decode_chunked(data: bytes) -> tuple[bytes, int] | None:
    out, at = b"", 0
    while (line := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:line].split(b";")[0], 16)
        at = line + 2 + size + 2
        if len(data) < at:
            return None
        if size == 0:
            return out, at
        out += data[line + 2 : line + 2 + size]
    return None


@dataclass(eq=False)
class Connection(asyncio.Protocol):
    """A protocol rather than streams: the moment of the peer's FIN or RST is itself a result."""

    on_request: Callable[["Connection", ReceivedRequest], None]
    on_lost: Callable[["Connection"], None]
    current_request: ReceivedRequest | None = None
    closed_by_peer: bool = False
    closed_at: float | None = None
    _buffer: bytes = b""
    _closed_locally: bool = False
    _writable: asyncio.Event = field(default_factory=asyncio.Event)
    _transport: asyncio.Transport = field(init=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses, so this cannot be asked.
        self._transport = cast(asyncio.Transport, transport)
        self._writable.set()
        self._socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self.current_request is None:
            self.read_next_request()

    def read_next_request(self) -> None:
        self.current_request = None
        parsed = parse_request(self._buffer, asyncio.get_running_loop().time())
        if parsed is not None:
            self.current_request, length = parsed
            self._buffer = self._buffer[length:]
            self.on_request(self, self.current_request)

    def eof_received(self) -> bool:
        self._record_peer_close()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._record_peer_close()
        self._writable.set()
        self.on_lost(self)

    def _record_peer_close(self) -> None:
        if self._closed_locally or self.closed_by_peer:
            return
        self.closed_by_peer = True
        self.closed_at = asyncio.get_running_loop().time()
        if self.current_request is not None and not self.current_request.answered:
            self.current_request.abandoned_at = self.closed_at

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def write(self, data: bytes) -> None:
        """Waits while the peer does not read, so `sent` stops growing behind a slow reader."""
        await self._writable.wait()
        if self._transport.is_closing():
            # Whoever writes for ever must let the loop hear that the peer has gone.
            await asyncio.sleep(0)
            return
        self._transport.write(data)
        if self.current_request is not None:
            self.current_request.bytes_sent += len(data)

    async def write_head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", *(f"{k}: {v}" for k, v in headers.items())]
        await self.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")

    async def write_chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def wait_delivered(self) -> None:
        """Until the peer has acknowledged every byte: a reset must not overtake the tokens before it."""
        while not self._transport.is_closing():
            queued = struct.unpack("i", fcntl.ioctl(self._socket().fileno(), termios.TIOCOUTQ, b"\0" * 4))[0]
            if queued == 0 and self._transport.get_write_buffer_size() == 0:
                return
            await asyncio.sleep(0.001)

    async def fin(self) -> None:
        self._closed_locally = True
        self._transport.close()

    async def reset(self) -> None:
        await self.wait_delivered()
        self.abort()

    def abort(self) -> None:
        self._closed_locally = True
        if not self._transport.is_closing():
            self._socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _socket(self) -> socket.socket:
        found: socket.socket = self._transport.get_extra_info("socket")
        return found
