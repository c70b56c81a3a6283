"""Reads a response body within a limit, measured before and after decompression (gzip bombs)."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from rightseat.errors import UpstreamGarbled, UpstreamTooLarge

# Servers may send several gzip members; the limit stops endless empty ones.
MEMBERS = 64
EITHER, RAW = 47, -15


class Inflate:
    """Decompresses gzip, and deflate with or without the zlib header: servers differ."""

    def __init__(self) -> None:
        self.machine = zlib.decompressobj(EITHER)
        self.begun = False
        self.members = 1

    def feed(self, data: bytes, room: int) -> bytes:
        """Decompress `data`; returns at most `max_bytes` + 1 bytes."""
        made: list[bytes] = []
        while data and room >= 0:
            if self.machine.eof:
                if self.members >= MEMBERS:
                    break
                self.members += 1
                self.machine = zlib.decompressobj(EITHER)
            piece = self.unpack(data, room + 1)
            made.append(piece)
            room -= len(piece)
            data = self.machine.unused_data if self.machine.eof else self.machine.unconsumed_tail
        return b"".join(made)

    def unpack(self, data: bytes, most: int) -> bytes:
        try:
            piece = self.machine.decompress(data, most)
        except zlib.error:
            if self.begun:
                raise
            self.machine = zlib.decompressobj(RAW)
            piece = self.machine.decompress(data, most)
        self.begun = True
        return piece


async def collect(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """Read and decompress all chunks; raises when either size exceeds `limit`."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UpstreamGarbled(
            "The server compressed its answer in a way that is not read here. Use another URL."
        )
    inflate = None if encoding in ("", "identity") else Inflate()
    kept: list[bytes] = []
    packed = size = 0
    async for chunk in chunks:
        packed += len(chunk)
        if inflate is not None:
            try:
                chunk = inflate.feed(chunk, limit - size)
            except zlib.error:
                raise UpstreamGarbled(
                    "The server's answer is compressed, and broken. Try again later."
                ) from None
        size += len(chunk)
        if max(packed, size) > limit:
            raise too_large(limit)
        kept.append(chunk)
    if inflate is not None and packed and not inflate.machine.eof:
        raise UpstreamGarbled("The server's answer ended in the middle. Try again later.")
    return b"".join(kept)


def too_large(limit: int) -> UpstreamTooLarge:
    return UpstreamTooLarge(f"The server's answer is larger than {limit} bytes. Ask for less of it.")
