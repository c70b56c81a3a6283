"""Detects the kind of a document: as declared, unless its first bytes show another."""

from __future__ import annotations

import re

from msgspec import Struct

TEXTS = ("json", "csv", "html", "text")
IMAGES = ("png", "jpeg", "gif", "webp")
SHEETS = ("xlsx", "xls", "xlsb", "ods")
ZIPPED = ("docx", "xlsx", "xlsb", "ods")
BINARY = ("pdf", "docx", *SHEETS, *IMAGES)

# Extensions, OpenBB's data types and the last part of media types.
NAMES = {
    **{kind: kind for kind in (*TEXTS, *BINARY)},
    "object": "json",
    "jsonl": "json",
    "ndjson": "json",
    "geojson": "json",
    "tsv": "csv",
    "tab-separated-values": "csv",
    "comma-separated-values": "csv",
    "htm": "html",
    "xhtml": "html",
    "xhtml+xml": "html",
    "txt": "text",
    "md": "text",
    "markdown": "text",
    "x-markdown": "text",
    "plain": "text",
    "log": "text",
    "xml": "text",
    "yaml": "text",
    "yml": "text",
    "x-yaml": "text",
    "toml": "text",
    "rst": "text",
    "sql": "text",
    "py": "text",
    "svg": "text",
    "svg+xml": "text",
    "x-pdf": "pdf",
    "jpg": "jpeg",
    "pjpeg": "jpeg",
    "x-png": "png",
    "xlsm": "xlsx",
    "docm": "docx",
    "ms-excel": "xls",
    "vnd.ms-excel": "xls",
    "vnd.ms-excel.sheet.macroenabled.12": "xlsx",
    "vnd.ms-excel.sheet.binary.macroenabled.12": "xlsb",
    "vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "vnd.oasis.opendocument.spreadsheet": "ods",
}
MAGIC = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xls"),
)
# Entry names are uncompressed in a zip archive: nothing needs to be unpacked.
PARTS = (
    (b"word/", "docx"),
    (b"xl/workbook.bin", "xlsb"),
    (b"xl/", "xlsx"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"),
)
LOOKED_AT = 1024


class Declared(Struct, frozen=True):
    kind: str
    charset: str


def declared(kind: str | None) -> Declared:
    """Parse a declared media type, extension or kind; an unknown one gives an empty kind."""
    text, _, parameters = (kind or "").strip().lower().partition(";")
    charset = re.search(r"charset=\"?([\w.:-]+)", parameters)
    text = text.strip().lstrip(".")
    last = text.rpartition("/")[2]
    found = NAMES.get(last, "")
    if not found:
        found = "json" if last.endswith("+json") else "text" if text.startswith("text/") else ""
    return Declared(found, charset[1] if charset else "")


def by_name(name: str) -> str:
    _, dot, extension = name.rpartition(".")
    return NAMES.get(extension.lower(), "") if dot and extension.lower() != "object" else ""


def by_bytes(data: bytes) -> str:
    """Return the kind that magic bytes show, else ""."""
    start = data[:LOOKED_AT]
    for magic, kind in MAGIC:
        if start.startswith(magic):
            return kind
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    if start.startswith(b"PK\x03\x04"):
        return next((kind for part, kind in PARTS if part in data), "zip")
    # Some writers put a few bytes before the PDF header, and readers accept that.
    return "pdf" if b"%PDF-" in start and b"\0" in data[:65536] else ""


def by_text(data: bytes) -> str:
    """Return the kind that a text seems to be; "" for binary data."""
    start = data[:LOOKED_AT].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "text"
    if b"\0" in data[:65536]:
        return ""
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "html"
    return "json" if start[:1] in (b"{", b"[") else "text"


def kind_of(data: bytes, said: str, name: str) -> str:
    """Return the kind: magic bytes win, then the declared kind, then name and text; "" if unknown."""
    shown = by_bytes(data)
    if shown and shown != "zip":
        return said if said in SHEETS and shown == "xls" else shown
    if said in BINARY or (not said and by_name(name) in BINARY):
        # An error page in place of a file is common; a broken file is left to its reader.
        return by_text(data) if by_text(data) in ("html", "json") else (said or by_name(name))
    return said or (by_text(data) and (by_name(name) or by_text(data)))
