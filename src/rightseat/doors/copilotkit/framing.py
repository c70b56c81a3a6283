"""HTTP framing of GraphQL answers: Accept negotiation, and multipart and SSE frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from rightseat.doors.copilotkit.failures import encode, format_error
from rightseat.errors import INTERNAL_ERROR
from rightseat.http.reply import ResponseStart

JSON_TYPE = "application/json"
EVENT_STREAM = "text/event-stream"
GRAPHQL_JSON_TYPE = "application/graphql-response+json"
STREAM_HEADERS: tuple[tuple[bytes, bytes], ...] = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))
StreamFormat = Literal["multipart", "sse"]
FAILURE_PAYLOAD = encode({"errors": [format_error(INTERNAL_ERROR)], "hasNext": False})


class AcceptedTypes:
    """The media types of an Accept header, in its order, without those with `q=0`."""

    def __init__(self, header: str | None) -> None:
        names: list[str] = []
        for item in (header or "*/*").lower()[:2000].split(","):
            name, *parameters = (part.strip() for part in item.split(";"))
            if name and not any(p.replace(" ", "") in ("q=0", "q=0.0", "q=0.00") for p in parameters):
                names.append(name)
        self.types = names

    def accepts(self, kind: str) -> bool:
        family = kind.partition("/")[0]
        return any(name in (kind, f"{family}/*", "*/*") for name in self.types)

    @property
    def json_type(self) -> str | None:
        """The first accepted JSON type, or None."""
        for name in self.types:
            if name in (GRAPHQL_JSON_TYPE, JSON_TYPE):
                return name
            if name in ("*/*", "application/*"):
                return JSON_TYPE
        return None

    @property
    def is_stream_only(self) -> bool:
        """Whether only server-sent events are accepted, as graphql-sse's client does."""
        return self.types == [EVENT_STREAM]

    @property
    def stream_format(self) -> StreamFormat | None:
        """The stream format: multipart before SSE, because the clients accept both and read multipart."""
        if self.accepts("multipart/mixed"):
            return "multipart"
        return "sse" if self.accepts(EVENT_STREAM) else None


PART_TEMPLATE = b"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b\r\n---"
EVENT_TEMPLATE = b"event: next\ndata: %b\n\n"


def encode_part(payload: bytes) -> bytes:
    return PART_TEMPLATE % (len(payload), payload)


def encode_event(payload: bytes) -> bytes:
    return EVENT_TEMPLATE % payload


class ChunkFrames:
    """Frames of a message's chunks, which differ only in the chunk and its number; `path` leads to the number."""

    __slots__ = ("count", "form", "path", "size", "sized", "wider")

    def __init__(self, path: bytes, *, sized: bool) -> None:
        payload = b'{"incremental":[{"items":[%%b%b%%d]}],"hasNext":true}' % path
        self.path = path
        self.form = (PART_TEMPLATE if sized else EVENT_TEMPLATE).replace(b"%b", payload)
        self.sized = sized
        self.count = 0
        # Length of a payload without its item, for numbers below `wider`.
        self.size = len(payload) - len(b"%b%d") + 1
        self.wider = 10

    def encode_next(self, item: bytes) -> bytes:
        count = self.count
        self.count = count + 1
        while count >= self.wider:
            self.wider *= 10
            self.size += 1
        if self.sized:
            return self.form % (self.size + len(item), item, count)
        return self.form % (item, count)


class StreamFraming:
    """Framing of one stream. Each frame is complete, so that a keep-alive may follow any of them."""

    def __init__(self, stream_format: StreamFormat) -> None:
        multipart = self.multipart = stream_format == "multipart"
        self.encode_frame: Callable[[bytes], bytes] = encode_part if multipart else encode_event
        self.opening = b"\r\n---" if multipart else b":\n\n"
        self.closing = b"--\r\n" if multipart else b"event: complete\ndata:\n\n"
        kind = b'multipart/mixed; boundary="-"' if multipart else b"text/event-stream"
        alive = encode_part(b'{"hasNext":true}') if multipart else b":\n\n"
        self.head = ResponseStart(
            200,
            ((b"content-type", kind), *STREAM_HEADERS),
            alive,
            failure=self.encode_frame(FAILURE_PAYLOAD) + self.closing,
        )
