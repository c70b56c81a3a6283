"""User attachments for operation fields that take a file."""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, TextMessagePart

DATA_URL = re.compile(r"data:([^,;]{0,100})((?:;[^,;]{0,100}){0,5}),", re.IGNORECASE)
DEFAULT_MEDIA = "application/octet-stream"


class Attachment(Struct, frozen=True):
    """Attached file. `payload` is as the client sent it and is decoded only for the request."""

    name: str
    media: str
    payload: str
    is_base64: bool = True

    def decode(self, limit: int) -> bytes:
        if len(self.payload) > limit * 4 // 3 + 1000:
            raise file_too_large_error(self.name, limit)
        raw = self.decode_base64() if self.is_base64 else unquote_to_bytes(self.payload)
        if len(raw) > limit:
            raise file_too_large_error(self.name, limit)
        return raw

    def decode_base64(self) -> bytes:
        text = "".join(self.payload.split()).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise CallerError(f"The file {self.name!r} did not arrive whole. Attach it again.") from None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.payload.encode("utf-8", "replace")).hexdigest()


def file_too_large_error(name: str, limit: int) -> CallerError:
    return CallerError(f"The file {name!r} is larger than {limit / (1 << 20):g} MB. Attach a smaller one.")


def list_attachments(messages: Iterable[Message]) -> list[Attachment]:
    """List files and images of the user's messages, newest first, each name once."""
    by_name: dict[str, Attachment] = {}
    for message in reversed(list(messages)):
        for part in reversed(message.parts if message.role == "user" else ()):
            if isinstance(part, TextMessagePart) or (file := to_attachment(part)) is None:
                continue
            name, number = file.name, 2
            # A repeated name is a newer version; different unnamed files get numbers.
            while not part.name and name in by_name and by_name[name].digest != file.digest:
                name, number = number_name(file.name, number), number + 1
            by_name.setdefault(name, Attachment(name, file.media, file.payload, file.is_base64))
    return list(by_name.values())


DEFAULT_NAME = "file"


def to_attachment(part: FileMessagePart | ImageMessagePart) -> Attachment | None:
    data = part.url if isinstance(part, ImageMessagePart) else part.data
    name = sanitize_filename(part.name or "")
    media = "" if isinstance(part, ImageMessagePart) else part.media_type or ""
    if not data:
        return None
    encoded = True
    if match := DATA_URL.match(data):
        media = media or match[1].lower()
        encoded = match[2].lower().endswith(";base64")
        data = data[match.end() :]
    elif isinstance(part, ImageMessagePart):
        # A URL chosen by the client is never fetched for a plugin.
        return None
    media = normalize_media_type(media) or mimetypes.guess_type(name)[0] or DEFAULT_MEDIA
    if not name and isinstance(part, ImageMessagePart):
        name = f"image{mimetypes.guess_extension(media) or ''}"
    return Attachment(name or DEFAULT_NAME, media, data, encoded)


def number_name(name: str, number: int) -> str:
    stem, dot, suffix = name.partition(".")
    return f"{stem}-{number}{dot}{suffix}"


def sanitize_filename(name: str) -> str:
    """Strip directories and control characters from a file name: it goes into a header."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable())[:200].strip()


def normalize_media_type(media: str) -> str:
    match = re.fullmatch(r"\s*([\w!#$&^.+-]{1,60}/[\w!#$&^.+-]{1,80})\s*(?:;.*)?", media, re.ASCII)
    return match[1].lower() if match else ""


def find_attachment(files: list[Attachment], wanted: str) -> Attachment | None:
    """Find the attachment by name, loosely; the only attachment matches any name."""
    name = sanitize_filename(wanted)
    for normalize in (str, str.casefold, file_stem):
        for file in files:
            if name and normalize(file.name) == normalize(name):
                return file
    return files[0] if len(files) == 1 else None


def file_stem(name: str) -> str:
    return (name.rpartition(".")[0] or name).casefold()
