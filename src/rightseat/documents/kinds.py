"""Detects the kind of a document: as declared, unless its first bytes show another."""

from __future__ import annotations

import re

from msgspec import Struct

TEXT_KINDS = ("json", "csv", "html", "text")
IMAGE_KINDS = ("png", "jpeg", "gif", "webp")
SHEET_KINDS = ("xlsx", "xls", "xlsb", "ods")
BINARY_KINDS = ("pdf", "docx", *SHEET_KINDS, *IMAGE_KINDS)

# Extensions, OpenBB's data types and the last part of media types, besides the kinds themselves.
NAMES_BY_KIND: dict[str, tuple[str, ...]] = {
    "json": ("object", "jsonl", "ndjson", "geojson"),
    "csv": ("tsv", "tab-separated-values", "comma-separated-values"),
    "html": ("htm", "xhtml", "xhtml+xml"),
    "text": (
        "txt", "md", "markdown", "x-markdown", "plain", "log", "xml", "yaml", "yml", "x-yaml", "toml", "rst", "sql",
        "py", "svg", "svg+xml",
    ),
    "pdf": ("x-pdf",),
    "jpeg": ("jpg", "pjpeg"),
    "png": ("x-png",),
    "docx": ("docm", "vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "xls": ("ms-excel", "vnd.ms-excel"),
    "xlsx": (
        "xlsm",
        "vnd.ms-excel.sheet.macroenabled.12",
        "vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    "xlsb": ("vnd.ms-excel.sheet.binary.macroenabled.12",),
    "ods": ("vnd.oasis.opendocument.spreadsheet",),
}  # fmt: skip
KIND_BY_NAME = {kind: kind for kind in (*TEXT_KINDS, *BINARY_KINDS)} | {
    name: kind for kind, names in NAMES_BY_KIND.items() for name in names
}
KIND_BY_MAGIC = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xls"),
)
# Entry names are uncompressed in a zip archive: nothing needs to be unpacked.
KIND_BY_PART = (
    (b"word/", "docx"),
    (b"xl/workbook.bin", "xlsb"),
    (b"xl/", "xlsx"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"),
)
SNIFFED_BYTES = 1024


class DeclaredKind(Struct, frozen=True):
    kind: str
    charset: str


def parse_declared_kind(kind: str | None) -> DeclaredKind:
    """Parse a declared media type, extension or kind; an unknown one gives an empty kind."""
    text, _, parameters = (kind or "").strip().lower().partition(";")
    charset = re.search(r"charset=\"?([\w.:-]+)", parameters)
    text = text.strip().lstrip(".")
    last = text.rpartition("/")[2]
    known = KIND_BY_NAME.get(last, "")
    if not known:
        known = "json" if last.endswith("+json") else "text" if text.startswith("text/") else ""
    return DeclaredKind(known, charset[1] if charset else "")


def kind_from_name(name: str) -> str:
    _, dot, extension = name.rpartition(".")
    return KIND_BY_NAME.get(extension.lower(), "") if dot and extension.lower() != "object" else ""


def kind_from_bytes(data: bytes) -> str:
    """Return the kind that magic bytes show, else ""."""
    start = data[:SNIFFED_BYTES]
    for magic, kind in KIND_BY_MAGIC:
        if start.startswith(magic):
            return kind
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    if start.startswith(b"PK\x03\x04"):
        return next((kind for part, kind in KIND_BY_PART if part in data), "zip")
    # Some writers put a few bytes before the PDF header, and readers accept that.
    return "pdf" if b"%PDF-" in start and b"\0" in data[:65536] else ""


def kind_from_text(data: bytes) -> str:
    """Return the kind that a text seems to be; "" for binary data."""
    start = data[:SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "text"
    if b"\0" in data[:65536]:
        return ""
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "html"
    return "json" if start[:1] in (b"{", b"[") else "text"


def detect_kind(data: bytes, declared: str, name: str) -> str:
    """Return the kind: magic bytes win, then the declared kind, then name and text; "" if unknown."""
    detected = kind_from_bytes(data)
    if detected and detected != "zip":
        return declared if declared in SHEET_KINDS and detected == "xls" else detected
    text_kind, name_kind = kind_from_text(data), kind_from_name(name)
    if (declared or name_kind) in BINARY_KINDS:
        # An error page in place of a file is common; a broken file is left to its reader.
        return text_kind if text_kind in ("html", "json") else declared or name_kind
    return declared or (text_kind and (name_kind or text_kind))
