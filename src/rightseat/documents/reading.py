"""`read`: any document of a door or tool to text within a budget. Failures are returned, not raised."""

from __future__ import annotations

import base64
import binascii
import re

from rightseat.documents import kinds
from rightseat.documents.document import LIMITS, Document, Limits, Reading, Unreadable, joined
from rightseat.documents.reader import read_as

# Larger text is read in the child process too, off the event loop.
INLINE = 32 << 10
INLINE_KINDS = ("json", "csv", "text")
ALPHABET = re.compile(r"[A-Za-z0-9+/]+={0,2}")
CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
DATA_URL = re.compile(r"data:([^,]{0,200}),", re.IGNORECASE)
# A shorter word can be base64 by chance.
SHORTEST = 24


async def read(
    data: bytes | str,
    *,
    kind: str | None = None,
    name: str = "",
    budget: int,
    images: bool = False,
    limits: Limits = LIMITS,
) -> Document:
    """Read `data` within `budget` tokens. A string is text, or base64 where the kind is binary.

    `kind`: the declared media type, extension or data type. `images`: the model takes images.
    """
    if budget < 1:
        raise ValueError("a document needs a budget of at least one token")
    said = kinds.declared(kind)
    title = plain(name)
    reading = Reading(said.kind, budget, title, said.charset, images, limits)
    try:
        raw, reading = unwrapped(data, reading)
    except Unreadable as why:
        return reading.failed(str(why))
    found = kinds.kind_of(raw, reading.kind, name)
    if not found:
        return reading.failed("is of a kind that is not read here. Send it as text, PDF, docx, xlsx or csv.")
    whole = Reading(found, budget, title, reading.charset, images, limits)
    document = await placed(raw, whole)
    if said.kind and found != said.kind and not document.failed:
        note = joined([f"It was declared as {said.kind} and is {found}.", document.note])
        return Document(document.text, note, document.cut, document.images, found)
    return document


async def placed(raw: bytes, reading: Reading) -> Document:
    """Read small text and images in this process, everything else in a child process."""
    if reading.kind in kinds.IMAGES or (reading.kind in INLINE_KINDS and len(raw) <= INLINE):
        return read_as(raw, reading)
    # Lazy: the child process imports this module too and does not need asyncio.
    from rightseat.documents.apart import read_apart

    return await read_apart(raw, reading)


def unwrapped(data: bytes | str, reading: Reading) -> tuple[bytes, Reading]:
    """Return the document's bytes, decoded from base64 or a `data:` URL; raises DocumentUnreadable."""
    most = reading.limits.bytes
    if isinstance(data, str):
        if len(data) > most * 4 // 3 + 1000:
            raise too_large(most)
        data, reading = from_string(data, reading)
    if len(data) > most:
        raise too_large(most)
    if not data.strip():
        raise Unreadable("is empty.")
    return data, reading


def from_string(text: str, reading: Reading) -> tuple[bytes, Reading]:
    if found := DATA_URL.match(text):
        media, _, _ = found[1].partition(";base64")
        said = kinds.declared(media)
        reading = Reading(
            reading.kind or said.kind,
            reading.budget,
            reading.name,
            reading.charset or said.charset,
            reading.images,
            reading.limits,
        )
        if found[1].lower().endswith(";base64"):
            return strict(text[found.end() :]), reading
        text = text[found.end() :]
    elif reading.kind in kinds.BINARY:
        return strict(text), reading
    elif reading.kind != "json" and (raw := loose(text) or rows(text, reading.kind)):
        return raw, reading
    return text.encode("utf-8", "replace"), reading


def strict(text: str) -> bytes:
    packed = "".join(text.split()).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable("is not valid base64. Send it again.") from None


def loose(text: str) -> bytes | None:
    """Return the bytes of text that is base64 although not declared as such, else None."""
    packed = "".join(text.split()) if len(text) < 200 or " " not in text[:200] else text
    if len(packed) < SHORTEST or len(packed) % 4 or not ALPHABET.fullmatch(packed):
        return None
    raw = strict(packed)
    if kinds.by_bytes(raw):
        return raw
    try:
        return raw if all(line.isprintable() for line in raw.decode().split()) else None
    except UnicodeDecodeError:
        return None


def rows(text: str, kind: str) -> bytes | None:
    """Return the bytes of a CSV table in base64, of any length and charset, else None."""
    if kind != "csv" or len(text) % 4 or not ALPHABET.fullmatch(text):
        return None
    raw = strict(text)
    parted = any(mark in raw for mark in b",;\t\n")
    return raw if parted and not CONTROLS.search(raw) else None


def too_large(most: int) -> Unreadable:
    return Unreadable(f"is larger than {most / (1 << 20):g} MB. Send a smaller one, or a part of it.")


def plain(name: str) -> str:
    """Return a file name for use in a sentence: printable, short, without its path."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable())[:80].strip()
