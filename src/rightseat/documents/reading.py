"""`read`: any document of a door or tool to text within a budget. Failures are returned, not raised."""

from __future__ import annotations

import base64
import binascii
import importlib
import re

from msgspec.structs import replace

from rightseat.documents import kinds
from rightseat.documents.document import (
    DEFAULT_LIMITS,
    Document,
    DocumentUnreadable,
    ReadLimits,
    ReadRequest,
    fits_budget,
    join_notes,
    take_head,
)

# Module and function of each kind's reader, imported on first use: the child process starts sooner.
READERS = {
    "json": ("json", "read_json"),
    "csv": ("table", "read_csv"),
    "html": ("text", "read_html"),
    "text": ("text", "read_text"),
    "pdf": ("pdf", "read_pdf"),
    "docx": ("office", "read_word"),
    **dict.fromkeys(kinds.SHEET_KINDS, ("office", "read_sheets")),
    **dict.fromkeys(kinds.IMAGE_KINDS, ("image", "read_image")),
}
# Larger text is read in the child process too, off the event loop.
MAX_INLINE_BYTES = 32 << 10
INLINE_KINDS = ("json", "csv", "text")
BASE64_TEXT = re.compile(r"[A-Za-z0-9+/]+={0,2}")
CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
DATA_URL = re.compile(r"data:([^,]{0,200}),", re.IGNORECASE)

# A shorter word can be base64 by chance.
MIN_BASE64 = 24


def read_as(data: bytes, request: ReadRequest) -> Document:
    """Read bytes as the request's kind. Always returns a Document, with its text within the budget."""
    try:
        module, function = READERS[request.kind]
        reader = getattr(importlib.import_module(f"rightseat.documents.{module}"), function)
        document: Document = reader(data, request)
    except DocumentUnreadable as error:
        return request.make_failure(str(error))
    if fits_budget(document.text, request.budget):
        return document
    note = join_notes([document.note, "The end is cut off."])
    return replace(document, text=take_head(document.text, request.budget), note=note, cut=True)


async def read(
    data: bytes | str,
    *,
    kind: str | None = None,
    name: str = "",
    budget: int,
    images: bool = False,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> Document:
    """Read `data` within `budget` tokens. A string is text, or base64 where the kind is binary.

    `kind`: the declared media type, extension or data type. `images`: the model takes images.
    """
    if budget < 1:
        raise ValueError("a document needs a budget of at least one token")
    declared = kinds.parse_declared_kind(kind)
    request = ReadRequest(declared.kind, budget, clean_name(name), declared.charset, images, limits)
    try:
        raw, request = unwrap(data, request)
    except DocumentUnreadable as error:
        return request.make_failure(str(error))
    detected = kinds.detect_kind(raw, request.kind, name)
    if not detected:
        return request.make_failure("is of a kind that is not read here. Send it as text, PDF, docx, xlsx or csv.")
    request = replace(request, kind=detected)
    if detected in kinds.IMAGE_KINDS or (detected in INLINE_KINDS and len(raw) <= MAX_INLINE_BYTES):
        document = read_as(raw, request)
    else:
        # Lazy: the child process imports this module too and does not need asyncio.
        from rightseat.documents.isolation import read_isolated

        document = await read_isolated(raw, request)
    if declared.kind and detected != declared.kind and not document.failed:
        note = join_notes([f"It was declared as {declared.kind} and is {detected}.", document.note])
        return replace(document, note=note, kind=detected)
    return document


def unwrap(data: bytes | str, request: ReadRequest) -> tuple[bytes, ReadRequest]:
    """Return the document's bytes, decoded from base64 or a `data:` URL; raises DocumentUnreadable."""
    most = request.limits.bytes
    too_large = DocumentUnreadable(f"is larger than {most / (1 << 20):g} MB. Send a smaller one, or a part of it.")
    if isinstance(data, str):
        if len(data) > most * 4 // 3 + 1000:
            raise too_large
        data, request = decode_string(data, request)
    if len(data) > most:
        raise too_large
    if not data.strip():
        raise DocumentUnreadable("is empty. Send a file with content.")
    return data, request


def decode_string(text: str, request: ReadRequest) -> tuple[bytes, ReadRequest]:
    if match := DATA_URL.match(text):
        media, _, _ = match[1].partition(";base64")
        declared = kinds.parse_declared_kind(media)
        kind, charset = request.kind or declared.kind, request.charset or declared.charset
        request = replace(request, kind=kind, charset=charset)
        if match[1].lower().endswith(";base64"):
            return decode_base64(text[match.end() :]), request
        text = text[match.end() :]
    elif request.kind in kinds.BINARY_KINDS:
        return decode_base64(text), request
    elif request.kind != "json" and (raw := guess_base64(text) or guess_base64_table(text, request.kind)):
        return raw, request
    return text.encode("utf-8", "replace"), request


def decode_base64(text: str) -> bytes:
    packed = "".join(text.split()).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise DocumentUnreadable("is not valid base64. Send it again.") from None


def guess_base64(text: str) -> bytes | None:
    """Return the bytes of text that is base64 although not declared as such, else None."""
    packed = "".join(text.split()) if len(text) < 200 or " " not in text[:200] else text
    if len(packed) < MIN_BASE64 or len(packed) % 4 or not BASE64_TEXT.fullmatch(packed):
        return None
    raw = decode_base64(packed)
    if kinds.kind_from_bytes(raw):
        return raw
    try:
        return raw if all(line.isprintable() for line in raw.decode().split()) else None
    except UnicodeDecodeError:
        return None


def guess_base64_table(text: str, kind: str) -> bytes | None:
    """Return the bytes of a CSV table in base64, of any length and charset, else None."""
    if kind != "csv" or len(text) % 4 or not BASE64_TEXT.fullmatch(text):
        return None
    raw = decode_base64(text)
    parted = any(mark in raw for mark in b",;\t\n")
    return raw if parted and not CONTROLS.search(raw) else None


def clean_name(name: str, most: int = 80) -> str:
    """Return a file name for use in a sentence or a header: printable, short, without its path."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(char for char in last if char.isprintable())[:most].strip()
