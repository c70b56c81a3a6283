"""HTTP framing of GraphQL answers: Accept negotiation, and multipart and SSE frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from rightseat.http.reply import Head

PLAIN = "application/json"
GRAPHQL = "application/graphql-response+json"
STREAM: tuple[tuple[bytes, bytes], ...] = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))
Form = Literal["multipart", "sse", "json"]


class Accepted:
    """The media types of an Accept header, in its order, without those with `q=0`."""

    def __init__(self, header: str | None) -> None:
        found: list[str] = []
        for item in (header or "*/*").lower()[:2000].split(","):
            name, *parameters = (part.strip() for part in item.split(";"))
            if name and not any(p.replace(" ", "") in ("q=0", "q=0.0", "q=0.00") for p in parameters):
                found.append(name)
        self.types = found

    def takes(self, kind: str) -> bool:
        family = kind.partition("/")[0]
        return any(name in (kind, f"{family}/*", "*/*") for name in self.types)

    @property
    def plain(self) -> str | None:
        """The first accepted JSON type, or None."""
        for name in self.types:
            if name in (GRAPHQL, PLAIN):
                return name
            if name in ("*/*", "application/*"):
                return PLAIN
        return None

    @property
    def streamed(self) -> Form | None:
        """The stream format: multipart before SSE, because the clients accept both and read multipart."""
        if self.takes("multipart/mixed"):
            return "multipart"
        return "sse" if self.takes("text/event-stream") else None


PART = b"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b\r\n---"
EVENT = b"event: next\ndata: %b\n\n"


def part(payload: bytes) -> bytes:
    return PART % (len(payload), payload)


def event(payload: bytes) -> bytes:
    return EVENT % payload


class Series:
    """Frames that differ only in one item and its number. `payload` is the template, with `%b` for the item
    and `%d` for the number after it."""

    __slots__ = ("count", "form", "size", "sized", "wider")

    def __init__(self, payload: bytes, *, sized: bool) -> None:
        self.form = (PART if sized else EVENT).replace(b"%b", payload)
        self.sized = sized
        self.count = 0
        # Length of a payload without its item, for numbers below `wider`.
        self.size = len(payload) - len(b"%b%d") + 1
        self.wider = 10

    def frame(self, item: bytes) -> bytes:
        count = self.count
        self.count = count + 1
        while count >= self.wider:
            self.wider *= 10
            self.size += 1
        if self.sized:
            return self.form % (self.size + len(item), item, count)
        return self.form % (item, count)


class Framing:
    """Framing of one stream. Each frame is complete, so that a keep-alive may follow any of them."""

    def __init__(self, form: Form) -> None:
        multipart = self.multipart = form == "multipart"
        self.frame: Callable[[bytes], bytes] = part if multipart else event
        self.begin = b"\r\n---" if multipart else b":\n\n"
        self.end = b"--\r\n" if multipart else b"event: complete\ndata:\n\n"
        kind = b'multipart/mixed; boundary="-"' if multipart else b"text/event-stream"
        alive = part(b'{"hasNext":true}') if multipart else b":\n\n"
        self.head = Head(200, ((b"content-type", kind), *STREAM), alive)
