"""Reads images: a `data:` URL for models that take images, and a line with the size. Nothing is decoded."""

from __future__ import annotations

import base64
import struct

from rightseat.documents.document import Document, DocumentUnreadable, ReadRequest
from rightseat.types.messages import ImageMessagePart

# JPEG start-of-frame markers; three values in the range have other meanings.
JPEG_SIZE_MARKERS = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def read_image(data: bytes, request: ReadRequest) -> Document:
    try:
        width, height = read_size(data, request.kind)
    except (struct.error, IndexError):
        raise DocumentUnreadable("is a broken image. Send it again.") from None
    title = f"image {request.name}".strip()
    words = f"[{title}: {request.kind.upper()}, {width} × {height} pixels]"
    if not request.images:
        return request.make_document(words, "The model does not take images, so only its size is said.", cut=True)
    limits = request.limits
    if len(data) > limits.image_bytes or width * height > limits.pixels:
        largest = f"{limits.image_bytes >> 20} MB or {limits.pixels // 1_000_000} million pixels"
        return request.make_document(words, f"The image is larger than {largest}. Send a smaller one.", cut=True)
    url = f"data:image/{request.kind};base64,{base64.b64encode(data).decode()}"
    return request.make_document(words, images=(ImageMessagePart(url),))


def read_size(data: bytes, kind: str) -> tuple[int, int]:
    if kind in ("png", "gif"):
        width, height = struct.unpack_from(">II", data, 16) if kind == "png" else struct.unpack_from("<HH", data, 6)
    else:
        width, height = read_webp_size(data) if kind == "webp" else read_jpeg_size(data)
    if not (width and height):
        raise DocumentUnreadable("is an image whose size cannot be read. Send it again.")
    return width, height


def read_jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        marker, length = struct.unpack_from(">xBH", data, at)
        if data[at] != 0xFF:
            raise struct.error
        if marker in JPEG_SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + max(length, 2)


def read_webp_size(data: bytes) -> tuple[int, int]:
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF
