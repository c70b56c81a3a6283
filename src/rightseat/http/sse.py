"""Server-sent events, parsed and formatted as bytes.

A line ends at LF, CRLF or CR only: U+2028 and U+0085 are text, so `str.splitlines` must not be used. The
parser returns `data` only; event names, ids and comments of an upstream are dropped.
"""

from __future__ import annotations

import re

from rightseat.errors import UpstreamGarbled

KEEP_ALIVE_COMMENT = b": keep-alive\n\n"

_LINE_END = re.compile(rb"\r\n|\n|\r")
_ID = re.compile(r"[A-Za-z0-9_.:\-]{1,200}")
_EVENT_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Incremental parser: bytes in any chunking to the `data` of each event.

    An event longer than `limit` bytes raises UpstreamGarbled, after the events before it were returned.
    """

    __slots__ = ("_after_cr", "_bom_prefix", "_data", "_limit", "_partial", "_too_long", "pending_bytes")

    def __init__(self, limit: int = 1 << 20) -> None:
        self._limit = limit
        # The first bytes of the stream, until they are known not to be a byte order mark.
        self._bom_prefix: bytes | None = b""
        self._partial: list[bytes] = []
        self._data: list[bytes] = []
        self.pending_bytes = 0
        """Bytes of the incomplete event; 0 when there is none."""
        self._after_cr = False
        self._too_long = False

    def feed(self, chunk: bytes) -> list[bytes]:
        # The hot path: nothing pending, and the chunk is one whole single-line event. (`find`, because `in`
        # tries bytes as a number first and is slower.)
        length = len(chunk)
        if (
            not self.pending_bytes
            and chunk[:6] == b"data: "
            and chunk[-2:] == b"\n\n"
            and chunk.find(b"\n") == length - 2
            and chunk.find(b"\r") < 0
            and length <= self._limit
        ):
            self._bom_prefix = None
            self._after_cr = False
            return [chunk[6:-2]]
        return self._parse_chunk(chunk)

    def close(self) -> list[bytes]:
        """End the stream; returns the last event even if its blank line is missing."""
        self._check_size()
        prefix = self._bom_prefix or b""
        self._bom_prefix = None
        events = self._parse_lines([prefix, b"", b""])
        self._check_size()
        return events

    def _parse_chunk(self, chunk: bytes) -> list[bytes]:
        self._check_size()
        if self._bom_prefix is not None:
            chunk = self._bom_prefix + chunk
            self.pending_bytes = 0
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._bom_prefix = chunk
                self.pending_bytes = len(chunk)
                return []
            self._bom_prefix = None
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        events = self._parse_lines(_LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n"))
        if not events:
            self._check_size()
        return events

    def _parse_lines(self, lines: list[bytes]) -> list[bytes]:
        """Parse lines, the last of which is incomplete; return the finished events."""
        events: list[bytes] = []
        last = len(lines) - 1
        for number, line in enumerate(lines):
            self.pending_bytes += len(line)
            if self.pending_bytes > self._limit:
                self._too_long = True
                break
            if number == last:
                if line:
                    self._partial.append(line)
                break
            if self._partial:
                self._partial.append(line)
                line = b"".join(self._partial)
                self._partial.clear()
            if line:
                self._parse_field(line)
            else:
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data.clear()
                self.pending_bytes = 0
        return events

    def _parse_field(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line == b"data":
            self._data.append(b"")

    def _check_size(self) -> None:
        if self._too_long:
            raise UpstreamGarbled(f"The model's server sent an event of more than {self._limit} bytes.")


def format_event(data: bytes, id: str | None = None, event: str | None = None) -> bytes:
    """Format one event. `id` and `event` must match a fixed pattern: a foreign value could end a line."""
    head = b""
    if id is not None:
        if not _ID.fullmatch(id):
            raise ValueError("an event's id takes letters, digits and _ . : - only")
        head = b"id: " + id.encode() + b"\n"
    if event is not None:
        if not _EVENT_NAME.fullmatch(event):
            raise ValueError("an event's name takes letters, digits and _ . - only")
        head += b"event: " + event.encode() + b"\n"
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(_LINE_END.split(data))
    return head + b"data: " + data + b"\n\n"
