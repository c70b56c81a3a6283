"""Reads a response body within a limit, measured before and after decompression (gzip bombs)."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from rightseat.errors import UpstreamGarbled, UpstreamTooLarge

# Servers may send several gzip members; the limit stops endless empty ones.
MAX_MEMBERS = 64
WBITS_AUTO, WBITS_RAW = 47, -15


class Decompressor:
    """Decompresses gzip, and deflate with or without the zlib header: servers differ."""

    def __init__(self) -> None:
        self.zlib_object = zlib.decompressobj(WBITS_AUTO)
        self.started = False
        self.members = 1

    def feed(self, data: bytes, max_bytes: int) -> bytes:
        """Decompress `data`; returns at most `max_bytes` + 1 bytes."""
        chunks: list[bytes] = []
        while data and max_bytes >= 0:
            if self.zlib_object.eof:
                if self.members >= MAX_MEMBERS:
                    break
                self.members += 1
                self.zlib_object = zlib.decompressobj(WBITS_AUTO)
            piece = self.decompress(data, max_bytes + 1)
            chunks.append(piece)
            max_bytes -= len(piece)
            data = self.zlib_object.unused_data if self.zlib_object.eof else self.zlib_object.unconsumed_tail
        return b"".join(chunks)

    def decompress(self, data: bytes, max_bytes: int) -> bytes:
        try:
            piece = self.zlib_object.decompress(data, max_bytes)
        except zlib.error:
            if self.started:
                raise
            self.zlib_object = zlib.decompressobj(WBITS_RAW)
            piece = self.zlib_object.decompress(data, max_bytes)
        self.started = True
        return piece


async def read_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """Read and decompress all chunks; raises when either size exceeds `limit`."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UpstreamGarbled(
            "The server compressed its answer in a way that is not read here. Use another URL."
        )
    decompressor = None if encoding in ("", "identity") else Decompressor()
    parts: list[bytes] = []
    packed = size = 0
    async for chunk in chunks:
        packed += len(chunk)
        if decompressor is not None:
            try:
                chunk = decompressor.feed(chunk, limit - size)
            except zlib.error:
                raise UpstreamGarbled(
                    "The server's answer is compressed, and broken. Try again later."
                ) from None
        size += len(chunk)
        if max(packed, size) > limit:
            raise make_too_large_error(limit)
        parts.append(chunk)
    if decompressor is not None and packed and not decompressor.zlib_object.eof:
        raise UpstreamGarbled("The server's answer ended in the middle. Try again later.")
    return b"".join(parts)


def make_too_large_error(limit: int) -> UpstreamTooLarge:
    return UpstreamTooLarge(f"The server's answer is larger than {limit} bytes. Ask for less of it.")
