"""Splitter of JSON lines, independent of the content type."""

from __future__ import annotations

from rightseat.agents._peer.faults import Faults

# One line may hold the whole state of an agent with all its messages.
LIMIT = 32 << 20


class Lines:
    """Splits a byte stream into non-blank lines, independent of how the bytes are chunked."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LIMIT:
            raise self._faults.too_large(LIMIT)
        return [line for line in lines if line.strip()]

    def close(self) -> list[bytes]:
        rest, self._rest = self._rest, b""
        return [rest] if rest.strip() else []
