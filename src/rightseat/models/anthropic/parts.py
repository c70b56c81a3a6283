"""Texts, images and files of a message → content blocks."""

from __future__ import annotations

import base64
import binascii
from typing import Any, assert_never

from rightseat.errors import CallerError
from rightseat.types.messages import FileMessagePart, ImageMessagePart, MessagePart, TextMessagePart

ContentBlock = dict[str, Any]

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF_TYPE = "application/pdf"
# "%PDF" in base64.
_PDF_BASE64_PREFIX = "JVBERi"


def format_parts(parts: tuple[MessagePart, ...]) -> list[ContentBlock]:
    """Return the content blocks of `parts`, without blank texts, which the API refuses."""
    formatted = (_format_part(part) for part in parts)
    return [block for block in formatted if block is not None]


def make_text_block(text: str) -> ContentBlock | None:
    return {"type": "text", "text": text} if text.strip() else None


def _format_part(part: MessagePart) -> ContentBlock | None:
    match part:
        case TextMessagePart():
            return make_text_block(part.text)
        case ImageMessagePart():
            return {"type": "image", "source": _format_image(part.url)}
        case FileMessagePart():
            return _format_file(part)
        case _:
            assert_never(part)


def _format_image(url: str) -> dict[str, str]:
    if url.startswith("data:"):
        kind, data = _split_data_url(url)
        return _format_image_data(kind, data)
    if url.startswith("https://"):
        return {"type": "url", "url": url}
    raise CallerError(
        "This model takes a picture as a data: URL or by an https:// address: send it as one of them.",
        param="messages",
    )


def _format_image_data(media_type: str, data: str) -> dict[str, str]:
    # A common misspelling of image/jpeg.
    media_type = "image/jpeg" if media_type == "image/jpg" else media_type
    if media_type not in IMAGE_TYPES:
        raise CallerError(
            "This model takes pictures as JPEG, PNG, GIF or WebP: convert it first.", param="messages"
        )
    return {"type": "base64", "media_type": media_type, "data": data}


def _split_data_url(url: str) -> tuple[str, str]:
    head, comma, data = url.removeprefix("data:").partition(",")
    kind, *flags = head.lower().split(";")
    if not comma or "base64" not in flags:
        raise CallerError("A data: URL must be base64, as in data:image/png;base64,…", param="messages")
    return kind.strip(), data


def _format_file(part: FileMessagePart) -> ContentBlock | None:
    if part.file_id is not None:
        return _make_document({"type": "file", "file_id": part.file_id}, part.name)
    kind, data = part.media_type or "", part.data or ""
    if data.startswith("data:"):
        named, data = _split_data_url(data)
        kind = kind or named
    kind = kind.partition(";")[0].strip().lower()
    if kind in IMAGE_TYPES:
        return {"type": "image", "source": _format_image_data(kind, data)}
    if kind == PDF_TYPE or data.startswith(_PDF_BASE64_PREFIX):
        return _make_document({"type": "base64", "media_type": PDF_TYPE, "data": data}, part.name)
    text = (
        _decode_text(data) if kind in ("", "application/octet-stream") or kind.startswith("text/") else None
    )
    if text is None:
        named = repr(part.name) if part.name else "a file"
        raise CallerError(
            f"This model reads PDF, plain text and pictures, and {named} is none of them.", param="messages"
        )
    if not text.strip():
        return None
    return _make_document({"type": "text", "media_type": "text/plain", "data": text}, part.name)


def _make_document(source: dict[str, str], name: str | None) -> ContentBlock:
    return {"type": "document", "source": source, **({"title": name[:255]} if name else {})}


def _decode_text(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
