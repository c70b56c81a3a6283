"""Server-sent events with names and ids: LangGraph needs the name for the kind of an event and the id to
resume a stream. (`rightseat.http.sse` parses only data.)"""

from __future__ import annotations

from typing import NamedTuple

from rightseat.agents._peer.faults import PeerErrors

# One event may hold the whole state of a graph with all its messages.
EVENT_SIZE_LIMIT = 32 << 20


class ServerSentEvent(NamedTuple):
    event: str
    data: bytes
    id: str = ""


class ServerSentEventParser:
    """Parses a byte stream into events, independent of how the bytes are chunked."""

    def __init__(self, errors: PeerErrors) -> None:
        self._errors = errors
        self._buffer = bytearray()
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._after_cr = False
        if b"\r" in chunk:
            # A line ends at LF, CRLF or CR; JSON has neither inside a string.
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer = self._buffer
        start, search_from = 0, max(len(buffer) - 1, 0)
        buffer += chunk
        events: list[ServerSentEvent] = []
        while (end := buffer.find(b"\n\n", search_from)) >= 0:
            if frame := parse_event_block(bytes(buffer[start:end])):
                events.append(frame)
            start = search_from = end + 2
        del buffer[:start]
        if len(buffer) > EVENT_SIZE_LIMIT:
            raise self._errors.response_too_large(EVENT_SIZE_LIMIT)
        return events


def parse_event_block(block: bytes) -> ServerSentEvent | None:
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
    return ServerSentEvent(event, b"\n".join(data), id) if data or event else None
