"""Reads Word documents (docx) as text and spreadsheets (xlsx, xls, xlsb, ods) as CSV tables. Archives of strangers are
checked before anything is unpacked."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from typing import Any
from xml.parsers import expat

from rightseat.documents.document import Document, DocumentUnreadable, ReadLimits, ReadRequest, share_budget, take_head
from rightseat.documents.table import add_rows, fit_csv
from rightseat.documents.text import cut_text
from rightseat.types.text import estimate_tokens

MAX_ENTRIES = 10_000
# The compression ratio is checked only for larger entries.
SMALL_ENTRY = 1 << 20
MAX_SHEETS = 50
MAIN_PART = "word/document.xml"
NAMESPACE = "wordprocessingml"
CHUNK = 64 << 10


def open_archive(data: bytes, limits: ReadLimits) -> zipfile.ZipFile:
    """Open an archive; raises DocumentUnreadable for bombs, broken and encrypted ones."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DocumentUnreadable("is damaged: the archive is incomplete. Send it again.") from None
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES or total > limits.unpacked:
        raise DocumentUnreadable(
            f"unpacks to more than {limits.unpacked >> 20} MB, so it was not read. Send a smaller file."
        )
    for entry in entries:
        if entry.file_size > SMALL_ENTRY and entry.file_size > limits.ratio * max(entry.compress_size, 1):
            raise DocumentUnreadable("has a compression ratio that may be an attack, so it was not read.")
        if entry.flag_bits & 0x1:
            raise DocumentUnreadable("is protected by a password. Send it without a password.")
    return archive


class WordParser:
    """Collects text from the document's XML. A DOCTYPE (entity bombs) raises DocumentUnreadable."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.path: list[str] = []
        self.cells = 0
        self.skipping = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start_element
        self.parser.EndElementHandler = self.end_element
        self.parser.CharacterDataHandler = self.add_text
        self.parser.StartDoctypeDeclHandler = self.reject_doctype

    def reject_doctype(self, *_: object) -> None:
        raise DocumentUnreadable("contains a document type declaration, which may be an attack, so it was not read.")

    def start_element(self, name: str, attributes: dict[str, str]) -> None:
        space, _, tag = name.rpartition(" ")
        self.path.append(tag)
        # Repeats the same text for older programs.
        self.skipping += tag == "Fallback"
        if NAMESPACE not in space or self.skipping:
            return
        match tag:
            case "tab":
                self.pieces.append("\t")
            case "br" | "cr":
                self.pieces.append("\n")
            case "pStyle":
                style = next((text for name, text in attributes.items() if name.rpartition(" ")[2] == "val"), "")
                self.pieces.append(heading_prefix(style.lower()))
            case "numPr":
                self.pieces.append("- ")
            case "tr":
                self.cells = 0
            case "tc":
                self.pieces.append(" | " if self.cells else "")
                self.cells += 1

    def end_element(self, name: str) -> None:
        tag = self.path.pop()
        self.skipping -= tag == "Fallback"
        if self.skipping or NAMESPACE not in name:
            return
        if tag == "tr" or (tag == "p" and "tc" not in self.path):
            self.pieces.append("\n")
        elif tag == "p":
            self.pieces.append(" ")

    def add_text(self, text: str) -> None:
        # Deleted text and field codes have other tags.
        if not self.skipping and self.path and self.path[-1] == "t":
            self.pieces.append(text)

    @property
    def text(self) -> str:
        lines = [line.rstrip(" ") for line in "".join(self.pieces).split("\n")]
        return "\n".join(line for line in lines if line.strip(" -#"))


def heading_prefix(style: str) -> str:
    if style == "title":
        return "# "
    return "#" * int(style[-1]) + " " if re.fullmatch("heading[1-6]", style) else ""


def read_word(data: bytes, request: ReadRequest) -> Document:
    archive = open_archive(data, request.limits)
    parser = WordParser()
    try:
        with archive.open(MAIN_PART) as part:
            while chunk := part.read(CHUNK):
                parser.parser.Parse(chunk, False)
            parser.parser.Parse(b"", True)
    except KeyError:
        raise DocumentUnreadable("is not a Word document: its text is missing.") from None
    except (expat.ExpatError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        if not parser.text:
            raise DocumentUnreadable("is broken. Save it again, as docx.") from None
        return cut_text(parser.text, request, "The file is broken; this is the part before the break.")
    if not parser.text:
        return request.make_document("", "The document has no text.")
    return cut_text(parser.text, request)


def read_sheets(data: bytes, request: ReadRequest) -> Document:
    import python_calamine as calamine

    if data.startswith(b"PK"):
        open_archive(data, request.limits).close()
    try:
        book = calamine.load_workbook(io.BytesIO(data))
        names = book.sheet_names
        sheets = [(name, read_rows(book.get_sheet_by_name(name), request.limits)) for name in names[:MAX_SHEETS]]
    except calamine.PasswordError:
        raise DocumentUnreadable("is protected by a password. Send it without a password.") from None
    except (calamine.CalamineError, OSError, ValueError):
        raise DocumentUnreadable("is broken, or not a spreadsheet. Save it again, as xlsx (a text as docx).") from None
    notes = [f"Only the first {MAX_SHEETS} of {len(names)} sheets are read."] if len(names) > MAX_SHEETS else []
    filled = [(name, rows) for name, rows in sheets if rows]
    if not filled:
        return request.make_document("", "The workbook has no cells with values.", *notes)
    return format_sheets(filled, request, notes)


def format_sheets(sheets: list[tuple[str, list[list[str]]]], request: ReadRequest, notes: list[str]) -> Document:
    titles = [f"## {take_head(name, 20)}" if len(sheets) > 1 else "" for name, _ in sheets]
    sizes = [sum(estimate_tokens(",".join(row)) + 2 for row in rows) + 8 for _, rows in sheets]
    room = request.budget - sum(estimate_tokens(title) + 2 for title in titles)
    texts: list[str] = []
    cut = bool(notes)
    shown_rows: tuple[int, int] | None = None
    for title, (name, rows), part in zip(titles, sheets, share_budget(sizes, room), strict=True):
        table = fit_csv(rows[0], rows[1:], part)
        texts += [title, table.text] if title else [table.text]
        notes += [f"Sheet {take_head(name, 20)}: {note}" if title else note for note in table.notes]
        cut, shown_rows = cut or table.cut, add_rows(shown_rows, table.rows)
    return request.make_document(take_head("\n".join(texts), request.budget), *notes, cut=cut, rows=shown_rows)


def read_rows(sheet: Any, limits: ReadLimits) -> list[list[str]]:
    if sheet.height * sheet.width > limits.cells:
        raise DocumentUnreadable(f"has a sheet of more than {limits.cells} cells. Send a part of it.")
    rows = [[format_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
    return [row for row in rows if any(row)]


def format_cell(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        # Spreadsheet numbers are floats: show 2024.0 as 2024.
        return str(int(cell))
    return "" if cell is None else str(cell).strip()
