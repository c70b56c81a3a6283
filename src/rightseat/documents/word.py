"""Reads Word documents (docx): paragraphs, headings, lists and tables as text."""

from __future__ import annotations

import zipfile
import zlib
from xml.parsers import expat

from rightseat.documents.archive import open_archive
from rightseat.documents.document import Document, DocumentUnreadable, ReadRequest
from rightseat.documents.text import cut_text

MAIN_PART = "word/document.xml"
NAMESPACE = "wordprocessingml"
CHUNK = 64 << 10


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
        raise DocumentUnreadable("declares types of its own, as only attacks do, so it is not read.")

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
                self.pieces.append(heading_prefix(get_val(attributes)))
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


def get_val(attributes: dict[str, str]) -> str:
    return next((text for name, text in attributes.items() if name.rpartition(" ")[2] == "val"), "")


def heading_prefix(style: str) -> str:
    level = style.lower().removeprefix("heading")
    if style.lower() == "title":
        return "# "
    return "#" * int(level) + " " if level != style.lower() and level in "123456" and level else ""


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
