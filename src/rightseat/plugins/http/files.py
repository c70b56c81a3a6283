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
from rightseat.types.messages import File, Image, Message, Text

DATA_URL = re.compile(r"data:([^,;]{0,100})((?:;[^,;]{0,100}){0,5}),", re.IGNORECASE)
UNKNOWN = "application/octet-stream"


class Attached(Struct, frozen=True):
    """Attached file. `payload` is as the client sent it and is decoded only for the request."""

    name: str
    media: str
    packed: str
    encoded: bool = True

    def data(self, limit: int) -> bytes:
        if len(self.packed) > limit * 4 // 3 + 1000:
            raise too_large(self.name, limit)
        raw = self.unpacked() if self.encoded else unquote_to_bytes(self.packed)
        if len(raw) > limit:
            raise too_large(self.name, limit)
        return raw

    def unpacked(self) -> bytes:
        text = "".join(self.packed.split()).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise CallerError(f"The file {self.name!r} did not arrive whole. Attach it again.") from None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.packed.encode("utf-8", "replace")).hexdigest()


def too_large(name: str, limit: int) -> CallerError:
    return CallerError(f"The file {name!r} is larger than {limit / (1 << 20):g} MB. Attach a smaller one.")


def attached(messages: Iterable[Message]) -> list[Attached]:
    """List files and images of the user's messages, newest first, each name once."""
    found: dict[str, Attached] = {}
    for message in reversed(list(messages)):
        for part in reversed(message.parts if message.role == "user" else ()):
            if isinstance(part, Text) or (file := as_file(part)) is None:
                continue
            name, number = file.name, 2
            # A repeated name is a newer version; different unnamed files get numbers.
            while not part.name and name in found and found[name].digest != file.digest:
                name, number = numbered(file.name, number), number + 1
            found.setdefault(name, Attached(name, file.media, file.packed, file.encoded))
    return list(found.values())


UNNAMED = "file"


def as_file(part: File | Image) -> Attached | None:
    data = part.url if isinstance(part, Image) else part.data
    name = plain_name(part.name or "")
    media = "" if isinstance(part, Image) else part.media_type or ""
    if not data:
        return None
    encoded = True
    if carried := DATA_URL.match(data):
        media = media or carried[1].lower()
        encoded = carried[2].lower().endswith(";base64")
        data = data[carried.end() :]
    elif isinstance(part, Image):
        # A URL chosen by the client is never fetched for a plugin.
        return None
    media = plain_media(media) or mimetypes.guess_type(name)[0] or UNKNOWN
    if not name and isinstance(part, Image):
        name = f"image{mimetypes.guess_extension(media) or ''}"
    return Attached(name or UNNAMED, media, data, encoded)


def numbered(name: str, number: int) -> str:
    stem, dot, suffix = name.partition(".")
    return f"{stem}-{number}{dot}{suffix}"


def plain_name(name: str) -> str:
    """Strip directories and control characters from a file name: it goes into a header."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable())[:200].strip()


def plain_media(media: str) -> str:
    found = re.fullmatch(r"\s*([\w!#$&^.+-]{1,60}/[\w!#$&^.+-]{1,80})\s*(?:;.*)?", media, re.ASCII)
    return found[1].lower() if found else ""


def chosen(files: list[Attached], wanted: str) -> Attached | None:
    """Find the attachment by name, loosely; the only attachment matches any name."""
    name = plain_name(wanted)
    for same in (str, str.casefold, stem):
        for file in files:
            if name and same(file.name) == same(name):
                return file
    return files[0] if len(files) == 1 else None


def stem(name: str) -> str:
    return (name.rpartition(".")[0] or name).casefold()
