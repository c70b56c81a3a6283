"""Reads images: a `data:` URL for models that take images, and a line with the size. Nothing is decoded."""

from __future__ import annotations

import base64
import struct

from rightseat.documents.document import Document, Reading, Unreadable
from rightseat.types.messages import Image

# JPEG start-of-frame markers; three values in the range have other meanings.
FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def read_image(data: bytes, reading: Reading) -> Document:
    try:
        width, height = size_of(data, reading.kind)
    except (struct.error, IndexError):
        raise Unreadable("is a broken image. Send it again.") from None
    title = f"image {reading.name}".strip()
    words = f"[{title}: {reading.kind.upper()}, {width} × {height} pixels]"
    if not reading.images:
        return reading.made(words, "The model does not take images, so only its size is said.", cut=True)
    limits = reading.limits
    if len(data) > limits.image_bytes or width * height > limits.pixels:
        largest = f"{limits.image_bytes >> 20} MB or {limits.pixels // 1_000_000} million pixels"
        return reading.made(words, f"The image is larger than {largest}. Send a smaller one.", cut=True)
    url = f"data:image/{reading.kind};base64,{base64.b64encode(data).decode()}"
    return reading.made(words, images=(Image(url),))


def size_of(data: bytes, kind: str) -> tuple[int, int]:
    match kind:
        case "png":
            width, height = struct.unpack_from(">II", data, 16)
        case "gif":
            width, height = struct.unpack_from("<HH", data, 6)
        case "webp":
            width, height = webp_size(data)
        case _:
            width, height = jpeg_size(data)
    if not (width and height):
        raise Unreadable("is an image without a size. Send it again.")
    return width, height


def jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        marker, length = struct.unpack_from(">xBH", data, at)
        if data[at] != 0xFF:
            raise struct.error
        if marker in FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + max(length, 2)


def webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
