"""Dispatches to the reader of a kind; readers are imported on first use."""

from __future__ import annotations

from msgspec.structs import replace

from rightseat.documents import kinds
from rightseat.documents.cut import fits, head
from rightseat.documents.document import Document, Reading, Unreadable, joined


def read_as(data: bytes, reading: Reading) -> Document:
    """Read bytes as the request's kind. Always returns a Document, with its text within the budget."""
    try:
        document = dispatched(data, reading)
    except Unreadable as why:
        return reading.failed(str(why))
    if fits(document.text, reading.budget):
        return document
    note = joined([document.note, "The end is cut off."])
    return replace(document, text=head(document.text, reading.budget), note=note, cut=True)


def dispatched(data: bytes, reading: Reading) -> Document:
    match reading.kind:
        case "json":
            from rightseat.documents.json import read_json

            return read_json(data, reading)
        case "csv":
            from rightseat.documents.csv import read_csv

            return read_csv(data, reading)
        case "html":
            from rightseat.documents.html import read_html

            return read_html(data, reading)
        case "pdf":
            from rightseat.documents.pdf import read_pdf

            return read_pdf(data, reading)
        case "docx":
            from rightseat.documents.word import read_word

            return read_word(data, reading)
        case kind if kind in kinds.SHEETS:
            from rightseat.documents.sheets import read_sheets

            return read_sheets(data, reading)
        case kind if kind in kinds.IMAGES:
            from rightseat.documents.image import read_image

            return read_image(data, reading)
        case _:
            from rightseat.documents.text import read_text

            return read_text(data, reading)
