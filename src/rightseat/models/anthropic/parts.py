"""Texts, images and files of a message → content blocks."""

from __future__ import annotations

import base64
import binascii
from typing import Any, assert_never

from rightseat.errors import CallerError
from rightseat.types.messages import File, Image, Part, Text

Block = dict[str, Any]

PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"
# "%PDF" in base64.
_PDF_MARK = "JVBERi"


def blocks(parts: tuple[Part, ...]) -> list[Block]:
    """Return the content blocks of `parts`, without blank texts, which the API refuses."""
    found = (_block(part) for part in parts)
    return [block for block in found if block is not None]


def text(words: str) -> Block | None:
    return {"type": "text", "text": words} if words.strip() else None


def _block(part: Part) -> Block | None:
    match part:
        case Text():
            return text(part.text)
        case Image():
            return {"type": "image", "source": _picture(part.url)}
        case File():
            return _file(part)
        case _:
            assert_never(part)


def _picture(url: str) -> dict[str, str]:
    if url.startswith("data:"):
        kind, data = _unpacked(url)
        return _picture_data(kind, data)
    if url.startswith("https://"):
        return {"type": "url", "url": url}
    raise CallerError(
        "This model takes a picture as a data: URL or by an https:// address: send it as one of them.",
        param="messages",
    )


def _picture_data(kind: str, data: str) -> dict[str, str]:
    # A common misspelling of image/jpeg.
    kind = "image/jpeg" if kind == "image/jpg" else kind
    if kind not in PICTURES:
        raise CallerError(
            "This model takes pictures as JPEG, PNG, GIF or WebP: convert it first.", param="messages"
        )
    return {"type": "base64", "media_type": kind, "data": data}


def _unpacked(url: str) -> tuple[str, str]:
    head, comma, data = url.removeprefix("data:").partition(",")
    kind, *flags = head.lower().split(";")
    if not comma or "base64" not in flags:
        raise CallerError("A data: URL must be base64, as in data:image/png;base64,…", param="messages")
    return kind.strip(), data


def _file(part: File) -> Block | None:
    if part.file_id is not None:
        return _document({"type": "file", "file_id": part.file_id}, part.name)
    kind, data = part.media_type or "", part.data or ""
    if data.startswith("data:"):
        named, data = _unpacked(data)
        kind = kind or named
    kind = kind.partition(";")[0].strip().lower()
    if kind in PICTURES:
        return {"type": "image", "source": _picture_data(kind, data)}
    if kind == PDF or data.startswith(_PDF_MARK):
        return _document({"type": "base64", "media_type": PDF, "data": data}, part.name)
    words = _words(data) if kind in ("", "application/octet-stream") or kind.startswith("text/") else None
    if words is None:
        named = repr(part.name) if part.name else "a file"
        raise CallerError(
            f"This model reads PDF, plain text and pictures, and {named} is none of them.", param="messages"
        )
    if not words.strip():
        return None
    return _document({"type": "text", "media_type": "text/plain", "data": words}, part.name)


def _document(source: dict[str, str], name: str | None) -> Block:
    return {"type": "document", "source": source, **({"title": name[:255]} if name else {})}


def _words(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
