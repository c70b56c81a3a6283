"""Splitter of JSON lines, independent of the content type."""

from __future__ import annotations

from rightseat.agents._peer.faults import PeerErrors

# One line may hold the whole state of an agent with all its messages.
LINE_LIMIT = 32 << 20


class JSONLineSplitter:
    """Splits a byte stream into non-blank lines, independent of how the bytes are chunked."""

    def __init__(self, errors: PeerErrors) -> None:
        self._errors = errors
        self._buffer = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        if len(self._buffer) > LINE_LIMIT:
            raise self._errors.response_too_large(LINE_LIMIT)
        return [line for line in lines if line.strip()]

    def close(self) -> list[bytes]:
        rest, self._buffer = self._buffer, b""
        return [rest] if rest.strip() else []
