"""User attachments for operation fields that take a file."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from rightseat.documents.document import DocumentUnreadable
from rightseat.documents.reading import clean_name, decode_base64
from rightseat.errors import CallerError
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, TextMessagePart

DATA_URL = re.compile(r"data:([^,;]{0,100})((?:;[^,;]{0,100}){0,5}),", re.IGNORECASE)
MAX_NAME = 200
DEFAULT_MEDIA = "application/octet-stream"


class Attachment(Struct, frozen=True):
    """Attached file. `payload` is as the client sent it and is decoded only for the request."""

    name: str
    media: str
    payload: str
    is_base64: bool = True

    def decode(self, limit: int) -> bytes:
        error = CallerError(f"The file {self.name!r} is larger than {limit / (1 << 20):g} MB. Attach a smaller one.")
        if len(self.payload) > limit * 4 // 3 + 1000:
            raise error
        try:
            data = decode_base64(self.payload) if self.is_base64 else unquote_to_bytes(self.payload)
        except DocumentUnreadable:
            raise CallerError(f"The file {self.name!r} did not arrive whole. Attach it again.") from None
        if len(data) > limit:
            raise error
        return data

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.payload.encode("utf-8", "replace")).hexdigest()


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
                stem, dot, suffix = file.name.partition(".")
                name, number = f"{stem}-{number}{dot}{suffix}", number + 1
            by_name.setdefault(name, replace(file, name=name))
    return list(by_name.values())


def to_attachment(part: FileMessagePart | ImageMessagePart) -> Attachment | None:
    data = part.url if isinstance(part, ImageMessagePart) else part.data
    if not data:
        return None
    name = clean_name(part.name or "", MAX_NAME)
    media = "" if isinstance(part, ImageMessagePart) else part.media_type or ""
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
    return Attachment(name or "file", media, data, encoded)


def normalize_media_type(media: str) -> str:
    match = re.fullmatch(r"\s*([\w!#$&^.+-]{1,60}/[\w!#$&^.+-]{1,80})\s*(?:;.*)?", media, re.ASCII)
    return match[1].lower() if match else ""


def find_attachment(files: list[Attachment], requested: str) -> Attachment | None:
    """Find the attachment by name, loosely; the only attachment matches any name."""
    name = clean_name(requested, MAX_NAME)
    for normalize in (str, str.casefold, file_stem):
        for file in files:
            if name and normalize(file.name) == normalize(name):
                return file
    return files[0] if len(files) == 1 else None


def file_stem(name: str) -> str:
    return (name.rpartition(".")[0] or name).casefold()
