"""Server-sent events with names and ids: LangGraph needs the name for the kind of an event and the id to
resume a stream. (`rightseat.http.sse` parses only data.)"""

from __future__ import annotations

from typing import NamedTuple

from rightseat.agents._peer.faults import Faults

# One event may hold the whole state of a graph with all its messages.
LIMIT = 32 << 20


class Frame(NamedTuple):
    event: str
    data: bytes
    id: str = ""


class Frames:
    """Parses a byte stream into events, independent of how the bytes are chunked."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._buffer = bytearray()
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[Frame]:
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._after_cr = False
        if b"\r" in chunk:
            # A line ends at LF, CRLF or CR; JSON has neither inside a string.
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer = self._buffer
        begin, look = 0, max(len(buffer) - 1, 0)
        buffer += chunk
        found: list[Frame] = []
        while (end := buffer.find(b"\n\n", look)) >= 0:
            if frame := parsed(bytes(buffer[begin:end])):
                found.append(frame)
            begin = look = end + 2
        del buffer[:begin]
        if len(buffer) > LIMIT:
            raise self._faults.too_large(LIMIT)
        return found


def parsed(block: bytes) -> Frame | None:
    """Parse one block; None if it is only a keep-alive comment."""
    event = id = ""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value.decode(errors="replace")
        elif name == b"id":
            id = value.decode(errors="replace")
    return Frame(event, b"\n".join(data), id) if data or event else None
